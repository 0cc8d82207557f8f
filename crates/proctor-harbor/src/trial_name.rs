//! The names of trials: the task's name, shortened, and something that tells trials apart.

/// How many characters of a task's name are kept.
const KEPT: usize = 32;
/// The letters of the part that tells trials apart: none that people mistake for another.
const ALPHABET: &[u8] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// How many of them there are.
const LETTERS: usize = 7;

/// The name of the trial that `number` identifies. The same number gives the same name.
pub fn trial_name(task: &str, number: u128) -> String {
    let short = task.rsplit('/').next().unwrap_or(task);
    let short: String = short.chars().take(KEPT).collect();
    let short = short.trim_end_matches(['_', '-']);
    let base = ALPHABET.len() as u128;
    // The low bits of an id are its random ones.
    let mut rest = number;
    let mut letters = String::with_capacity(LETTERS);
    for _ in 0..LETTERS {
        let at = usize::try_from(rest % base).unwrap_or_default();
        letters.push(char::from(ALPHABET[at]));
        rest /= base;
    }
    format!("{short}__{letters}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_repeatable() {
        let name = trial_name("org/a-task-with-a-name-of-32-letters--and-more", 12345);
        assert_eq!(name, trial_name("a-task-with-a-name-of-32-letters", 12345));
        assert!(name.starts_with("a-task-with-a-name-of-32-letters__"));
        assert_eq!(name.len(), 32 + 2 + 7);
        assert!(trial_name("ends-with-_-", 1).starts_with("ends-with__"));
    }
}
