//! What the failures of trials are called.

use proctor_core::{
    cause::Reason,
    job::{Failure, Try, TryOutcome},
    task_run::Fault,
};
use proctor_harbor::exceptions::ExceptionType;

/// What a failure is called of which nothing more is known.
const UNKNOWN: ExceptionType = ExceptionType::InfrastructureError;

/// A fault that says what it is called: its name is the first word of its reason.
pub(crate) fn fault(exception: ExceptionType, message: &str, happens_to_oracle: bool) -> Fault {
    let cause = exception.cause(happens_to_oracle);
    Fault::new(cause, format!("{exception}: {message}"))
}

/// What became of a trial, with names for its failures: an agent that failed was verified all the same, and its failure goes before what its
/// verifier made of it, unless that was void.
pub(crate) fn named_outcome(outcome: TryOutcome, this_try: &Try) -> TryOutcome {
    let of_agent = this_try.agent_failure.as_ref();
    match (outcome, of_agent) {
        (completed @ TryOutcome::Completed { .. }, Some(failure)) => {
            completed.after_agent_failure(failure)
        }
        (TryOutcome::Failed(found) | TryOutcome::TimedOut(found), of_agent) => match of_agent {
            Some(failure) if found.fault().cause.is_agent_fault() => failure.clone().outcome(),
            _ => named(found).outcome(),
        },
        (other, _) => other,
    }
}

/// A failure with its name, by what its fault says.
fn named(found: Failure) -> Failure {
    if found.exception.is_some() {
        return found;
    }
    let reason = found.fault().reason;
    let words = reason.as_ref().map_or("", Reason::as_str);
    let told = words.split_once(": ").and_then(|(name, message)| {
        let exception = ExceptionType::named(name)?;
        Some((exception, message.to_owned()))
    });
    match told {
        Some((exception, message)) => Failure { message, ..found }.called(exception.as_str()),
        None => found.called(UNKNOWN.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use proctor_core::{
        id::kinds::{RunId, TaskId},
        job::FailureKind,
        scoring::Score,
        time::Timestamp,
    };
    use uuid::Uuid;

    use super::*;

    fn tried(agent_failure: Option<Failure>) -> Try {
        Try {
            run: RunId::from_uuid(Uuid::nil()),
            task: TaskId::from_uuid(Uuid::nil()),
            number: 1,
            task_run: None,
            began_at: Timestamp::from_millis(0),
            agent_began_at: None,
            agent_failure,
            end: None,
        }
    }

    fn timed_out() -> Failure {
        Failure::of_agent(FailureKind::AgentTimeout, "slow").called("AgentTimeoutError")
    }

    fn of_verifier(exception: ExceptionType) -> TryOutcome {
        TryOutcome::Failed(Failure {
            kind: FailureKind::AgentCrash,
            message: "told".to_owned(),
            fault: Some(fault(exception, "nothing was written", false)),
            exception: None,
            verified: None,
            critical_misses: Vec::new(),
        })
    }

    #[test]
    fn an_agent_that_failed_keeps_its_failure_beside_its_score() {
        let done = TryOutcome::Completed {
            score: Some(Score::ONE),
            critical_misses: Vec::new(),
            fault: None,
        };
        let TryOutcome::TimedOut(failure) = named_outcome(done.clone(), &tried(Some(timed_out())))
        else {
            panic!("its time was over");
        };
        assert_eq!(failure.verified, Some(Score::ONE));
        assert_eq!(named_outcome(done.clone(), &tried(None)), done);
        let missing = of_verifier(ExceptionType::RewardFileNotFoundError);
        let TryOutcome::TimedOut(failure) = named_outcome(missing, &tried(Some(timed_out())))
        else {
            panic!("the agent's failure goes before");
        };
        assert_eq!(failure.exception.as_deref(), Some("AgentTimeoutError"));
        let broken = of_verifier(ExceptionType::DownloadVerifierDirError);
        let TryOutcome::Failed(failure) = named_outcome(broken, &tried(Some(timed_out()))) else {
            panic!("what the platform broke is void");
        };
        assert_eq!(
            failure.exception.as_deref(),
            Some("DownloadVerifierDirError")
        );
    }

    #[test]
    fn a_failure_of_the_verifier_has_its_name_and_its_clock() {
        let slow = of_verifier(ExceptionType::VerifierTimeoutError);
        let TryOutcome::TimedOut(failure) = named_outcome(slow, &tried(None)) else {
            panic!("a clock ran out");
        };
        assert_eq!(failure.exception.as_deref(), Some("VerifierTimeoutError"));
        assert_eq!(failure.message, "nothing was written");
        let unknown = TryOutcome::Failed(Failure::infrastructure("broken"));
        let TryOutcome::Failed(failure) = named_outcome(unknown, &tried(None)) else {
            panic!("nothing ran out");
        };
        assert_eq!(failure.exception.as_deref(), Some("InfrastructureError"));
    }
}
