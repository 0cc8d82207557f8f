//! Importing an image beside `tar x` of the same files: `cargo bench -p proctor-images [plain] [gzip]`.
//!
//! The image has 500 MB in 20,000 files. An import also computes two digests and is on disk when it is done; `tar` is measured with and without waiting for the
//! disk. Both are run in turn, and the goal is at most twice the time of `tar` with that wait.
#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on has failed"
)]

use std::{
    io::Write as _,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};
use proctor_core::time::{ManualClock, Timestamp};
use proctor_images::{ImageOptions, Images, Import};
use proctor_testkit::figures::{Parts, Report};

const FILES: usize = 20_000;
const BYTES: usize = 500_000_000;
const ROUNDS: usize = 3;
/// How much longer than `tar` an import may take.
const GOAL: f64 = 2.0;

fn main() {
    let parts = Parts::wanted();
    let place = tempfile::Builder::new()
        .prefix("proctor-bench")
        .tempdir_in("/var/tmp")
        .unwrap();
    let tar = place.path().join("root.tar");
    write_tar(&tar);
    let mut report = Report::default();
    if parts.include("plain") {
        measure("plain", &tar, place.path(), &mut report);
    }
    if parts.include("gzip") {
        let packed = place.path().join("root.tar.gz");
        let mut encoder =
            GzEncoder::new(fs_err::File::create(&packed).unwrap(), Compression::fast());
        let mut plain = fs_err::File::open(&tar).unwrap();
        std::io::copy(&mut plain, &mut encoder).unwrap();
        encoder.finish().unwrap().flush().unwrap();
        measure("gzip", &packed, place.path(), &mut report);
    }
    report.print();
}

/// Files of different sizes, half of each compressible.
fn write_tar(path: &Path) {
    let mut builder =
        tar::Builder::new(std::io::BufWriter::new(fs_err::File::create(path).unwrap()));
    let mut state: u64 = 1;
    for number in 0..FILES {
        // Most are small, as in real images; a twentieth has most of the bytes.
        let size = match number % 20 {
            0 => BYTES * 3 / 4 / (FILES / 20),
            _ => BYTES / 4 / (FILES - FILES / 20),
        };
        let mut content = Vec::with_capacity(size);
        while content.len() < size {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            content.extend_from_slice(&state.to_le_bytes());
            content.extend_from_slice(b"the same");
        }
        content.truncate(size);
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(size as u64);
        header.set_mtime(1_700_000_000);
        let name = format!(
            "usr/lib/part{}/sub{}/file{number}",
            number / 500,
            number / 50 % 10
        );
        builder
            .append_data(&mut header, name, content.as_slice())
            .unwrap();
    }
    builder.into_inner().unwrap().flush().unwrap();
}

fn measure(kind: &str, tar: &Path, place: &Path, report: &mut Report) {
    let (mut unpacking, mut waiting, mut importing) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let target = place.join(format!("tar-{kind}-{round}"));
        fs_err::create_dir(&target).unwrap();
        sync(place);
        let begun = Instant::now();
        let done = Command::new("tar")
            .arg("-xf")
            .arg(tar)
            .arg("-C")
            .arg(&target)
            .status();
        assert!(done.unwrap().success());
        unpacking.push(begun.elapsed());
        sync(place);
        waiting.push(begun.elapsed());
        fs_err::remove_dir_all(&target).unwrap();

        let options = ImageOptions::new(place.join(format!("images-{kind}-{round}")));
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(0)));
        let images = Images::open(options, clock).unwrap();
        let import = Import {
            name: Some("bench:1".parse().unwrap()),
            ..Import::default()
        };
        sync(place);
        let begun = Instant::now();
        images.import(tar, &import).unwrap();
        importing.push(begun.elapsed());
        images.remove("bench:1", &|_| None).unwrap();
    }
    let best = |times: &[Duration]| {
        times
            .iter()
            .min()
            .copied()
            .unwrap_or_default()
            .as_secs_f64()
    };
    let (tar, tar_on_disk, import) = (best(&unpacking), best(&waiting), best(&importing));
    report.note(
        &format!("{kind}: tar, tar on disk, import"),
        format!("{tar:.2} s, {tar_on_disk:.2} s, {import:.2} s"),
    );
    let what = format!("{kind}: import beside tar on disk");
    report.at_most(&what, import / tar_on_disk, GOAL, "×");
    let what = format!("{kind}: import beside tar that waits for no disk");
    report.note(&what, format!("{:.1} ×", import / tar));
}

fn sync(place: &Path) {
    let done = Command::new("sync").arg("-f").arg(place).status();
    assert!(done.unwrap().success());
}
