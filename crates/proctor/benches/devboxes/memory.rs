//! What devboxes cost that do nothing.

use futures::future::join_all;
use proctor_testkit::{
    figures::{Report, kilobytes, resident_memory, shared_memory},
    server::Server,
};

use crate::boxes::Devbox;

const BOXES: usize = 100;
const AT_ONCE: usize = 4;

pub(crate) async fn measure(report: &mut Report, server: &Server) {
    // What was warmed up by others is nobody's.
    let warm = Devbox::running(server.caller()).await;
    let before = (supervisors(), resident_memory(server.pid()));
    let mut idle = Vec::new();
    for _ in 0..BOXES / AT_ONCE {
        let some = (0..AT_ONCE).map(|_| Devbox::running(server.caller()));
        idle.extend(join_all(some).await);
    }
    let per_box = |after: u64, before: u64| after.saturating_sub(before) / BOXES as u64;
    let supervisor = per_box(supervisors(), before.0);
    let of_server = per_box(resident_memory(server.pid()), before.1);
    report.at_most(
        "memory per idle devbox",
        supervisor as f64 / f64::from(1 << 20),
        1.0,
        "MB",
    );
    report.note(
        "the same, and what the server itself needs for it",
        format!("{} and {}", kilobytes(supervisor), kilobytes(of_server)),
    );
    idle.push(warm);
    join_all(idle.iter().map(Devbox::shut_down)).await;
}

/// The processes that look after boxes, what they share counted once.
fn supervisors() -> u64 {
    shared_memory(|name| matches!(name, "proctor-box" | "box"))
}
