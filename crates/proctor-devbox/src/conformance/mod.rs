//! What every backend must do, as cases that can be run against any of them.
//!
//! A backend's tests implement [`Subject`] and run every case of [`CASES`]; [`for_every_conformance_case`](crate::for_every_conformance_case) makes
//! one test of each. A case passes, fails with a reason, or is skipped because the box's own statement says that the host cannot
//! give what the case is about; skipping says so. Cases use only `/bin/sh` and the usual tools of a small system.

mod disk;
mod exec;
mod files;
mod input;
mod life;
mod limits;
mod network;
mod probe;
mod shared;
mod surroundings;

use std::{future::Future, path::PathBuf, pin::Pin, sync::Arc};

use async_trait::async_trait;

pub use probe::{Failed, Probe};

use crate::{backend::Backend, spec::Base};

/// A backend under examination.
#[async_trait]
pub trait Subject: Send + Sync {
    /// The backend.
    fn backend(&self) -> Arc<dyn Backend>;

    /// What boxes are to be based on.
    fn base(&self) -> Base;

    /// A directory of the host that cases may write to, and that goes away with the subject.
    fn scratch(&self) -> PathBuf;

    /// Lets go of the backend as if its process had ended, and opens it anew.
    async fn restart(&mut self) -> Result<(), Failed>;
}

/// How a case went, if it did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The behaviour holds.
    Passed,
    /// The host cannot give it, for this reason.
    Skipped(String),
}

/// How a case went.
pub type Verdict = Result<Outcome, Failed>;

/// A case at work.
pub type Running<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// One behaviour.
#[derive(Clone, Copy)]
pub struct Case {
    /// What holds, as a sentence with underscores.
    pub name: &'static str,
    /// Tries it. Everything that it makes is destroyed afterwards.
    pub run: for<'a> fn(&'a mut Probe) -> Running<'a>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Calls the macro `$then` with `group::name` of every case.
#[macro_export]
macro_rules! for_every_conformance_case {
    ($then:ident) => {
        $then! {
            exec::a_program_runs_and_its_output_is_exact,
            exec::standard_output_and_error_are_kept_apart,
            exec::exit_codes_and_signals_are_told_apart,
            exec::a_program_that_is_not_there_is_an_error_and_no_execution,
            exec::output_can_be_read_from_any_offset_and_again,
            exec::output_arrives_while_the_program_runs,
            exec::output_beyond_the_limit_is_dropped_and_counted,
            exec::bytes_that_are_no_text_are_kept_as_they_are,
            exec::a_hundred_megabytes_without_a_newline_are_bounded,
            exec::a_timeout_ends_everything_the_program_started,
            exec::killing_ends_daemons_too,
            exec::a_daemon_that_keeps_the_streams_does_not_hold_the_end_back,
            exec::the_same_id_is_the_same_execution,
            exec::environment_and_directory_are_as_asked,
            exec::a_directory_that_is_not_there_is_an_error,
            exec::a_signal_reaches_the_program,
            exec::ended_executions_are_listed_until_they_are_forgotten,
            exec::many_programs_run_at_once,
            input::input_is_streamed_and_its_end_is_seen,
            input::much_input_comes_back_whole,
            input::input_that_nobody_takes_is_refused,
            files::what_goes_in_comes_out,
            files::a_written_file_can_be_run_and_keeps_its_mode,
            files::what_cannot_be_read_is_told_apart,
            files::links_resolve_inside_the_box,
            files::an_interrupted_upload_leaves_the_old_file,
            files::the_users_rights_decide,
            disk::boxes_do_not_see_each_others_files,
            disk::a_snapshot_keeps_additions_and_removals,
            disk::a_snapshot_leaves_what_is_in_memory,
            disk::a_box_goes_on_after_its_snapshot,
            disk::a_snapshot_of_a_busy_box_leaves_its_programs_running,
            disk::snapshots_stand_on_snapshots,
            disk::what_changed_nothing_is_a_layer_like_any_other,
            disk::a_layer_that_is_needed_is_not_removed,
            disk::the_disk_outlives_a_stop,
            life::a_box_is_made_started_stopped_and_destroyed,
            life::a_name_is_given_once_and_can_be_given_again,
            life::what_does_not_exist_is_said_so,
            life::suspended_programs_stand_still_and_go_on,
            life::a_suspended_box_can_be_destroyed,
            life::everything_is_found_again_after_a_restart,
            life::a_sweep_destroys_what_nobody_owns,
            life::waiting_ends_when_the_box_is_destroyed,
            limits::memory_beyond_the_limit_ends_the_program,
            limits::a_fork_bomb_stays_in_its_box,
            limits::disk_beyond_the_limit_ends_the_program,
            limits::many_small_files_count_too,
            limits::a_file_of_holes_is_bounded,
            limits::an_exact_disk_is_full_when_it_is_full,
            limits::open_files_are_limited,
            limits::processor_time_is_limited,
            limits::a_limit_that_cannot_be_is_refused,
            limits::what_is_required_and_not_there_is_refused,
            network::what_a_policy_lists_is_reached,
            network::what_a_policy_does_not_list_is_refused,
            network::a_policy_is_changed_while_the_box_runs,
            network::a_box_in_the_network_of_another_is_found_there_and_goes_with_it,
            shared::a_shared_directory_is_seen,
            shared::a_shared_directory_cannot_be_changed,
            shared::a_shared_directory_cannot_be_replaced,
            shared::a_shared_directory_that_is_not_there_is_refused,
            shared::a_link_in_a_layer_does_not_lead_a_shared_directory_astray,
            surroundings::a_box_has_its_own_processes_and_host_name,
            surroundings::there_is_no_network_but_loopback,
            surroundings::a_named_user_is_that_user_without_privileges,
            surroundings::privileges_cannot_be_gained,
        }
    };
}

macro_rules! table {
    ($($group:ident :: $name:ident,)*) => {
        /// Every behaviour that a backend must have.
        pub const CASES: &[Case] = &[$(Case {
            name: stringify!($name),
            run: |probe| Box::pin($group::$name(probe)),
        }),*];
    };
}
for_every_conformance_case!(table);

/// Runs one case by name. Everything that it made is destroyed, whatever came of it.
pub async fn run(subject: Box<dyn Subject>, name: &str) -> Verdict {
    let case = CASES
        .iter()
        .find(|case| case.name == name)
        .ok_or_else(|| Failed(format!("there is no case {name}")))?;
    let mut probe = Probe::new(subject);
    let verdict = (case.run)(&mut probe).await;
    let cleaned = probe.clean_up().await;
    verdict.and_then(|outcome| cleaned.map(|()| outcome))
}
