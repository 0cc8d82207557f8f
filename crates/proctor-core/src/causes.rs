//! How an error is told with everything that caused it: in logs, and where people are told why something failed.

use std::{error::Error, fmt};

/// Tells an error and its causes, from the outermost in: `error = %with_causes(&error)` in a log.
pub fn with_causes(error: &dyn Error) -> WithCauses<'_> {
    WithCauses(error)
}

/// An error that tells its causes as well. A cause whose words were told already is not told again.
#[derive(Clone, Copy, Debug)]
pub struct WithCauses<'e>(&'e dyn Error);

impl fmt::Display for WithCauses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        let mut next = self.0.source();
        while let Some(cause) = next {
            let words = cause.to_string();
            if !text.contains(&words) {
                text.push_str(": ");
                text.push_str(&words);
            }
            next = cause.source();
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn every_cause_is_told_once() {
        let disk = Layer("disk full", None);
        let write = Layer("cannot write: disk full", Some(Box::new(disk)));
        let save = Layer("the run is not saved", Some(Box::new(write)));
        assert_eq!(
            with_causes(&save).to_string(),
            "the run is not saved: cannot write: disk full"
        );
    }
}
