use proctor_core::canonical::Digest;
use proctor_images::{Import, RunConfig};
use serde_json::json;

use crate::support::{
    INDEX, Layer, MANIFEST, Sample, Shelf, descriptor, eventful, gzip, listing, put_blob,
    tree_digest, tree_tar, write_index,
};

#[test]
fn the_same_image_has_the_same_tree_whatever_it_came_in() {
    let shelf = Shelf::open();
    let sample = eventful();
    let mut trees = Vec::new();
    let mut import = |path: &std::path::Path, import: &Import| {
        let imported = shelf.images.import(path, import).unwrap();
        trees.push((path.to_owned(), tree_digest(&imported.image.root)));
        imported
    };
    sample.layout(&shelf.path("gzip"), "python:3.12-slim");
    let first = import(&shelf.path("gzip"), &Import::default());
    assert_eq!(first.name.to_string(), "python:3.12-slim");
    let zstd = |layer: &[u8]| zstd::stream::encode_all(layer, 3).unwrap();
    sample.layout_packed(&shelf.path("zstd"), "python:3.12-slim", &zstd);
    import(&shelf.path("zstd"), &Import::default());
    for (name, bytes) in [
        ("old.tar", sample.saved_old("python:3.12-slim")),
        (
            "new.tar",
            sample.saved_new("docker.io/library/python:3.12-slim"),
        ),
        (
            "new.tar.gz",
            gzip(&sample.saved_new("docker.io/library/python:3.12-slim")),
        ),
    ] {
        fs_err::write(shelf.path(name), bytes).unwrap();
        let imported = import(&shelf.path(name), &Import::default());
        assert_eq!(imported.name.to_string(), "python:3.12-slim", "{name}");
        assert_eq!(
            imported.image.config.config, first.image.config.config,
            "{name}"
        );
    }
    fs_err::write(shelf.path("root.tar"), tree_tar(&first.image.root)).unwrap();
    let root = Import {
        name: Some("python:3.12-slim".parse().unwrap()),
        run: RunConfig {
            env: vec!["A=1".to_owned()],
            working_dir: "/w".to_owned(),
            user: "app".to_owned(),
            ..RunConfig::default()
        },
    };
    let imported = import(&shelf.path("root.tar"), &root);
    assert_eq!(imported.image.config.config, root.run);
    let expected = trees[0].1;
    for (path, digest) in &trees {
        assert_eq!(*digest, expected, "{}", path.display());
    }
}

#[test]
fn layers_are_applied_one_over_the_other() {
    let shelf = Shelf::open();
    eventful().layout(&shelf.path("layout"), "a:1");
    let image = shelf
        .images
        .import(&shelf.path("layout"), &Import::default())
        .unwrap()
        .image;
    assert_eq!(
        listing(&image.root),
        [
            "5 ./",
            "0 again",
            "2 bin -> usr/bin",
            "2 elsewhere -> /",
            "5 etc/",
            "0 etc/passwd",
            "0 inside",
            "5 kept/",
            "0 kept/mine",
            "5 old/",
            "0 old/new",
            "6 pipe",
            "5 replaced/",
            "0 replaced/by",
            "1 shared -> again",
            "5 usr/",
            "5 usr/bin/",
            "0 usr/bin/su",
            "0 usr/bin/tool",
        ]
    );
    use std::os::unix::fs::MetadataExt as _;
    let seen = |path: &str| fs_err::symlink_metadata(image.root.join(path)).unwrap();
    assert_eq!(seen("usr/bin/su").mode() & 0o7777, 0o4755);
    assert_eq!(seen("kept").mode() & 0o7777, 0o2775);
    assert_eq!(seen("kept/mine").mtime(), 1_700_000_000);
    assert_eq!(
        seen("etc").mtime(),
        1_700_000_000,
        "also of directories that were written to"
    );
    assert_eq!(seen("shared").ino(), seen("again").ino());
    if rustix_is_root() {
        assert_eq!(
            (seen("kept/mine").uid(), seen("kept/mine").gid()),
            (1000, 1001)
        );
    }
    assert_eq!(image.config.variables()["GREETING"], "hello");
}

fn rustix_is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs_err::metadata("/proc/self").unwrap().uid() == 0
}

#[test]
fn capabilities_of_programs_are_kept() {
    if !rustix_is_root() {
        return;
    }
    let shelf = Shelf::open();
    // cap_net_raw, permitted and effective.
    let value = [1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let layer = Layer::new()
        .pax("SCHILY.xattr.security.capability", &value)
        .file_with("ping", "x", 0o755, (0, 0))
        .done();
    Sample::of(vec![layer]).layout(&shelf.path("l"), "a:1");
    let image = shelf
        .images
        .import(&shelf.path("l"), &Import::default())
        .unwrap()
        .image;
    let tar = tree_tar(&image.root);
    let text = String::from_utf8_lossy(&tar);
    assert!(text.contains("SCHILY.xattr.security.capability"));
}

#[test]
fn whiteouts_hide_what_is_below_and_nothing_of_their_own_layer() {
    let shelf = Shelf::open();
    let below = Layer::new()
        .file("a/x", "below")
        .file("a/y", "below")
        .file("b/c/z", "below")
        .done();
    // In whatever order a layer's members come.
    let above = Layer::new()
        .file("a/new", "above")
        .file("a/.wh..wh..opq", "")
        .file("b/c/own", "above")
        .file("b/.wh.c", "")
        .hard_link("moved", "a/new")
        .file("a/.wh.new", "")
        .done();
    Sample::of(vec![below, above]).layout(&shelf.path("l"), "a:1");
    let image = shelf
        .images
        .import(&shelf.path("l"), &Import::default())
        .unwrap()
        .image;
    assert_eq!(
        listing(&image.root),
        [
            "5 ./",
            "5 a/",
            "0 a/new",
            "5 b/",
            "5 b/c/",
            "0 b/c/own",
            "1 moved -> a/new"
        ]
    );
    // All of it.
    let below = Layer::new().file("a/b/c", "x").file("d", "y").done();
    let above = Layer::new().file(".wh..wh..opq", "").done();
    Sample::of(vec![below, above]).layout(&shelf.path("m"), "a:2");
    let image = shelf
        .images
        .import(&shelf.path("m"), &Import::default())
        .unwrap()
        .image;
    assert_eq!(listing(&image.root), ["5 ./"]);
}

#[test]
fn a_file_with_two_names_is_not_written_through() {
    let shelf = Shelf::open();
    let below = Layer::new().file("a", "old").hard_link("b", "a").done();
    let above = Layer::new().file("a", "new").done();
    Sample::of(vec![below, above]).layout(&shelf.path("l"), "a:1");
    let root = shelf
        .images
        .import(&shelf.path("l"), &Import::default())
        .unwrap()
        .image
        .root;
    assert_eq!(fs_err::read_to_string(root.join("a")).unwrap(), "new");
    assert_eq!(fs_err::read_to_string(root.join("b")).unwrap(), "old");
}

#[test]
fn the_image_for_this_machine_is_chosen_and_known_by_its_index_too() {
    let shelf = Shelf::open();
    let ours = Sample::of(vec![Layer::new().file("ours", "x").done()]);
    let mut theirs = Sample::of(vec![Layer::new().file("theirs", "x").done()]);
    theirs.config["architecture"] = json!("s390x");
    let directory = shelf.path("l");
    let mut entries = Vec::new();
    for (sample, architecture) in [
        (&theirs, "s390x"),
        (
            &ours,
            proctor_images::Platform::host().architecture.as_str(),
        ),
    ] {
        let (blobs, manifest) = sample.blobs(&gzip);
        for blob in blobs {
            put_blob(&directory, &blob);
        }
        let mut entry = descriptor(MANIFEST, &manifest);
        entry["platform"] = json!({"os": "linux", "architecture": architecture});
        entries.push(entry);
    }
    let inner = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).to_string();
    put_blob(&directory, inner.as_bytes());
    let mut entry = descriptor(INDEX, inner.as_bytes());
    entry["annotations"] = json!({"org.opencontainers.image.ref.name": "multi:1"});
    write_index(&directory, &[entry]);
    let image = shelf
        .images
        .import(&directory, &Import::default())
        .unwrap()
        .image;
    assert_eq!(listing(&image.root), ["5 ./", "0 ours"]);
    let by_index = format!("multi@{}", Digest::of_bytes(inner.as_bytes()));
    assert_eq!(
        shelf.images.find(&by_index).unwrap().unwrap().digest,
        image.digest
    );
    assert!(
        shelf
            .images
            .find(&format!("other@{}", image.digest))
            .unwrap()
            .is_some()
    );
    // Only theirs is there.
    let directory = shelf.path("m");
    theirs.layout(&directory, "theirs:1");
    let refused = shelf
        .images
        .import(&directory, &Import::default())
        .unwrap_err();
    assert!(refused.to_string().contains("s390x"), "{refused}");
}

#[test]
fn what_does_not_say_its_name_needs_one() {
    let shelf = Shelf::open();
    let sample = Sample::of(vec![Layer::new().file("a", "b").done()]);
    sample.layout(&shelf.path("l"), "latest");
    let refused = shelf
        .images
        .import(&shelf.path("l"), &Import::default())
        .unwrap_err();
    assert!(refused.to_string().contains("--name"), "{refused}");
    fs_err::write(
        shelf.path("root.tar"),
        Layer::new().file("bin/sh", "x").done(),
    )
    .unwrap();
    let refused = shelf
        .images
        .import(&shelf.path("root.tar"), &Import::default())
        .unwrap_err();
    assert!(refused.to_string().contains("--name"), "{refused}");
    let named = Import {
        name: Some("mine".parse().unwrap()),
        ..Import::default()
    };
    shelf.images.import(&shelf.path("l"), &named).unwrap();
    assert!(shelf.images.find("mine:latest").unwrap().is_some());
    // What an image says itself is not overruled.
    let overruled = Import {
        run: RunConfig {
            user: "me".to_owned(),
            ..RunConfig::default()
        },
        ..named
    };
    assert!(shelf.images.import(&shelf.path("l"), &overruled).is_err());
}
