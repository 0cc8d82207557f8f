//! What servers and boxes leave behind, and waiting until it is gone.

use std::{
    path::Path,
    time::{Duration, Instant},
};

/// How long it may take until nothing is left.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until nothing is left.
pub(crate) async fn becomes_empty(left: impl Fn() -> Vec<String>) {
    let began = Instant::now();
    loop {
        let left = left();
        if left.is_empty() {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "still there: {left:#?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The names in a directory, in order; none if there is no such directory.
pub(crate) fn entries(directory: &Path) -> Vec<String> {
    let entries = fs_err::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Waits until a server that keeps everything in `data` has no box.
pub(crate) async fn no_box_is_left(data: &Path) {
    let boxes = data.join("devboxes/local/boxes");
    becomes_empty(|| entries(&boxes)).await;
}
