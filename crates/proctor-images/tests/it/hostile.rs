use proctor_images::{Import, Limits};
use serde_json::json;

use crate::support::{Layer, Sample, Shelf, gzip, listing};

fn told(shelf: &Shelf, sample: &Sample) -> String {
    let directory = shelf.path("hostile");
    let _ = fs_err::remove_dir_all(&directory);
    sample.layout(&directory, "a:1");
    let refused = shelf
        .images
        .import(&directory, &Import::default())
        .unwrap_err();
    // Nothing stays of what was refused.
    assert_eq!(shelf.images.images().unwrap(), []);
    let left: Vec<_> = fs_err::read_dir(shelf.path("images/roots"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!shelf.path("escaped").exists() && !shelf.path("images/escaped").exists());
    proctor_core::causes::with_causes(&refused).to_string()
}

#[test]
fn members_that_lead_out_are_refused_and_nothing_is_written_outside() {
    let shelf = Shelf::open();
    for (layer, part) in [
        (Layer::new().file("../escaped", "x"), "'..'"),
        (Layer::new().file("a/../../escaped", "x"), "'..'"),
        (
            Layer::new()
                .symlink("up", "../..")
                .hard_link("x", "../../escaped"),
            "'..'",
        ),
        (Layer::new().hard_link("x", "/etc/passwd"), "not there"),
        (Layer::new().hard_link("x", "nowhere"), "not there"),
        (
            Layer::new().directory("d", 0o755).hard_link("x", "d"),
            "directory",
        ),
        (
            Layer::new().file("f", "x").file("f/below", "x"),
            "not a directory",
        ),
        (
            Layer::new()
                .symlink("nowhere", "missing")
                .file("nowhere/x", "x"),
            "not a directory",
        ),
        (
            Layer::new().symlink("loop", "loop").file("loop/x", "x"),
            "not a directory",
        ),
        (Layer::new().file("a/.wh..", ""), "removes nothing"),
        (Layer::new().file("a/.wh...", ""), "removes nothing"),
        (Layer::new().file(".wh.", ""), "removes nothing"),
        (Layer::new().file("./", "x").file("", "x"), "root"),
        (
            Layer::new().of_kind("odd", tar::EntryType::new(b'V')),
            "kind",
        ),
        (
            Layer::new().of_kind("sparse", tar::EntryType::GNUSparse),
            "kind",
        ),
        (
            Layer::new().pax("size", b"1").file("x", "xx"),
            "second size",
        ),
        (
            Layer::new().pax("path", b"../escaped").file("x", "x"),
            "'..'",
        ),
        (
            Layer::new().pax("path", &[b'a'; 5000]).file("x", "x"),
            "longer",
        ),
        (Layer::new().symlink("empty", ""), "target"),
    ] {
        let told = told(&shelf, &Sample::of(vec![layer.done()]));
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn links_out_of_the_tree_lead_back_into_it() {
    let shelf = Shelf::open();
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().display().to_string();
    let layer = Layer::new()
        .symlink("etc", "/")
        .file("etc/passwd", "inside")
        .symlink("out", &target)
        .symlink("proc", "/proc/self/root")
        .symlink("up", "../../../../../..")
        .file("up/top", "inside")
        .done();
    // The directory that the link names is made inside, not outside.
    let second = Layer::new()
        .directory(target.trim_start_matches('/'), 0o755)
        .file("out/x", "inside")
        .done();
    Sample::of(vec![layer, second]).layout(&shelf.path("l"), "a:1");
    let image = shelf
        .images
        .import(&shelf.path("l"), &Import::default())
        .unwrap()
        .image;
    let listing = listing(&image.root);
    assert!(
        listing.contains(&"0 passwd".to_owned()) && listing.contains(&"0 top".to_owned()),
        "{listing:?}"
    );
    assert_eq!(fs_err::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn wrong_digests_and_sizes_are_found_out() {
    let shelf = Shelf::open();
    let layer = || Layer::new().file("a", "b").done();
    let mut wrong = Sample::of(vec![layer()]);
    wrong.config["rootfs"]["diff_ids"][0] = json!(format!("sha256:{}", "0".repeat(64)));
    assert!(told(&shelf, &wrong).contains("the files of a layer has the digest"));
    let mut more = Sample::of(vec![layer()]);
    more.config["rootfs"]["diff_ids"] = json!([]);
    assert!(told(&shelf, &more).contains("speaks of 0"));

    let sample = Sample::of(vec![layer()]);
    let (blobs, _) = sample.blobs(&gzip);
    for (place, part) in [(0, "a layer"), (1, "blobs/sha256"), (2, "blobs/sha256")] {
        let directory = shelf.path("changed");
        let _ = fs_err::remove_dir_all(&directory);
        sample.layout(&directory, "a:1");
        let name = proctor_core::canonical::Digest::of_bytes(&blobs[place]).hex();
        let path = directory.join("blobs/sha256").join(name);
        let mut bytes = fs_err::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs_err::write(&path, bytes).unwrap();
        let refused = shelf
            .images
            .import(&directory, &Import::default())
            .unwrap_err()
            .to_string();
        assert!(refused.contains(part), "{part}: {refused}");
        fs_err::remove_file(&path).unwrap();
        let refused = shelf
            .images
            .import(&directory, &Import::default())
            .unwrap_err()
            .to_string();
        assert!(refused.contains("missing"), "{refused}");
    }
}

#[test]
fn images_larger_than_they_may_be_are_refused() {
    let limits = Limits {
        layer_bytes: 1 << 20,
        image_bytes: 1 << 20,
        members: 10,
    };
    let shelf = Shelf::with(|options| options.limits = limits);
    // A few kilobytes, as they are sent.
    let bomb = Layer::new().file("zeros", &"0".repeat(3 << 20)).done();
    assert!(told(&shelf, &Sample::of(vec![bomb])).contains("more than 1048576 bytes"));
    let half = || Layer::new().file("half", &"0".repeat(600 << 10)).done();
    assert!(told(&shelf, &Sample::of(vec![half(), half()])).contains("larger than it may be"));
    let many = (0..12).fold(Layer::new(), |layer, number| {
        layer.file(&format!("f{number}"), "")
    });
    assert!(told(&shelf, &Sample::of(vec![many.done()])).contains("more than 10 files"));
}

#[test]
fn what_is_no_image_is_refused_in_words() {
    let shelf = Shelf::open();
    let named = Import {
        name: Some("a:1".parse().unwrap()),
        ..Import::default()
    };
    for (bytes, part) in [
        (
            b"no tar at all, but long enough to be one perhaps".repeat(30),
            "not a readable tar",
        ),
        (Vec::new(), "empty"),
        (gzip(b"short"), "tar"),
        (Layer::new().file("manifest.json", "[]").done(), "no image"),
        (
            Layer::new().file("manifest.json", "{").done(),
            "manifest.json is not readable",
        ),
        (
            Layer::new()
                .file(
                    "manifest.json",
                    r#"[{"Config":"c","RepoTags":null,"Layers":[]}]"#,
                )
                .done(),
            "c is missing",
        ),
        (
            Layer::new()
                .file("oci-layout", "{}")
                .file("index.json", r#"{"schemaVersion":2,"manifests":[]}"#)
                .done(),
            "no image",
        ),
    ] {
        let path = shelf.path("file.tar");
        fs_err::write(&path, bytes).unwrap();
        let refused = shelf.images.import(&path, &named).unwrap_err().to_string();
        assert!(refused.contains(part), "{part}: {refused}");
    }
    fs_err::create_dir(shelf.path("empty")).unwrap();
    let refused = shelf
        .images
        .import(&shelf.path("empty"), &named)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("not an OCI layout"), "{refused}");
    assert!(shelf.images.import(&shelf.path("missing"), &named).is_err());
}

#[test]
fn a_layout_whose_blobs_are_links_out_is_not_followed() {
    let shelf = Shelf::open();
    let directory = shelf.path("l");
    Sample::of(vec![Layer::new().file("a", "b").done()]).layout(&directory, "a:1");
    let index = directory.join("index.json");
    let moved = shelf.path("index.json");
    fs_err::rename(&index, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &index).unwrap();
    assert!(shelf.images.import(&directory, &Import::default()).is_err());
}
