use std::path::Path;

use proctor_images::{Import, Removed};

use crate::support::{Layer, Sample, Shelf, eventful, gzip, put_blob, tree_digest};

fn nothing(_: &Path) -> Option<String> {
    None
}

fn import(shelf: &Shelf, name: &str, content: &str) {
    let directory = shelf.path(&format!("layout-{content}"));
    Sample::of(vec![Layer::new().file("f", content).done()]).layout(&directory, name);
    shelf.images.import(&directory, &Import::default()).unwrap();
}

fn names(shelf: &Shelf) -> Vec<String> {
    let (named, rest) = shelf.images.list().unwrap();
    assert!(rest.is_empty(), "{rest:?}");
    named.into_iter().map(|one| one.name.to_string()).collect()
}

#[test]
fn names_are_listed_moved_and_removed_with_their_images() {
    let shelf = Shelf::open();
    import(&shelf, "b:1", "one");
    import(&shelf, "a:1", "two");
    import(&shelf, "also.example/b:1", "one");
    assert_eq!(names(&shelf), ["also.example/b:1", "a:1", "b:1"]);
    let one = shelf.images.find("b:1").unwrap().unwrap();
    assert_eq!(shelf.images.remove("b:1", &nothing).unwrap(), Removed::Name);
    assert!(one.root.exists());
    let refused = shelf
        .images
        .remove(&one.digest.to_string(), &nothing)
        .unwrap_err();
    assert!(
        refused.to_string().contains("also.example/b:1"),
        "{refused}"
    );
    let in_use = |_: &Path| Some("a layer".to_owned());
    let refused = shelf
        .images
        .remove("also.example/b:1", &in_use)
        .unwrap_err();
    assert!(
        refused.to_string().contains("a layer stands on"),
        "{refused}"
    );
    assert_eq!(
        names(&shelf),
        ["also.example/b:1", "a:1"],
        "a refusal changes nothing"
    );
    assert_eq!(
        shelf.images.remove("also.example/b:1", &nothing).unwrap(),
        Removed::Image
    );
    assert!(!one.root.exists());
    assert!(shelf.images.remove("b:1", &nothing).is_err());
    // A name means what it was last given to.
    import(&shelf, "a:1", "three");
    let (named, rest) = shelf.images.list().unwrap();
    assert_eq!((named.len(), rest.len()), (1, 1));
    assert_eq!(
        fs_err::read_to_string(named[0].image.root.join("f")).unwrap(),
        "three"
    );
    let unnamed = rest[0].digest.to_string();
    assert_eq!(
        shelf.images.remove(&unnamed, &nothing).unwrap(),
        Removed::Image
    );
}

#[test]
fn nobody_else_may_enter_the_directory_and_unfinished_images_are_not_seen() {
    use std::os::unix::fs::PermissionsExt as _;
    let shelf = Shelf::open();
    let mode = fs_err::metadata(shelf.path("images"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    fs_err::create_dir_all(shelf.path("images/roots/.new-abc/root")).unwrap();
    fs_err::write(shelf.path("images/names/.new-x"), "half").unwrap();
    import(&shelf, "a:1", "one");
    assert_eq!(names(&shelf), ["a:1"]);
    shelf.images.sweep().unwrap();
    assert!(
        shelf.path("images/roots/.new-abc").exists(),
        "it may be somebody's who is at work"
    );
}

#[test]
fn an_export_is_a_layout_with_the_same_tree() {
    let shelf = Shelf::open();
    eventful().layout(&shelf.path("l"), "a:1");
    let image = shelf
        .images
        .import(&shelf.path("l"), &Import::default())
        .unwrap()
        .image;
    import(&shelf, "b:1", "one");
    let exported = shelf.images.export("a:1", &shelf.path("out")).unwrap();
    assert!(!exported.as_it_came, "its layers are not kept");
    shelf.images.export("b:1", &shelf.path("out")).unwrap();
    shelf.images.export("a:1", &shelf.path("out")).unwrap();
    let other = Shelf::with(|options| options.layouts = vec![shelf.path("out")]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let resolved = runtime
        .block_on(other.images.resolve("docker.io/library/a:1"))
        .unwrap()
        .unwrap();
    assert_eq!(resolved.config.config, image.config.config);
    assert!(!resolved.is_here());
    let obtained = runtime
        .block_on(other.images.obtain(&resolved, &|_| {}))
        .unwrap();
    assert_eq!(tree_digest(&obtained.root), tree_digest(&image.root));
    let again = runtime
        .block_on(other.images.resolve("a:1"))
        .unwrap()
        .unwrap();
    assert!(again.is_here());
    assert_eq!(again.digest, exported.digest);
    // By digest, too, and nothing else is found.
    let pinned = runtime
        .block_on(other.images.resolve_pinned("x", &exported.digest))
        .unwrap();
    assert!(pinned.is_some());
    assert!(
        runtime
            .block_on(other.images.resolve("c:1"))
            .unwrap()
            .is_none()
    );
}

#[test]
fn aliases_lead_to_what_is_here() {
    let alias = "mirror.example/docker/library/*=library/*".parse().unwrap();
    let shelf = Shelf::with(|options| options.aliases = vec![alias]);
    import(&shelf, "a:1", "one");
    assert!(
        shelf
            .images
            .find("mirror.example/docker/library/a:1")
            .unwrap()
            .is_some()
    );
    assert!(
        shelf
            .images
            .find("mirror.example/docker/library/a:2")
            .unwrap()
            .is_none()
    );
    assert!(shelf.images.find("Not A Name").is_err());
}

#[test]
fn a_tree_whose_directories_are_closed_can_be_made_and_removed() {
    let shelf = Shelf::open();
    let first = Layer::new()
        .directory("closed/", 0o000)
        .file("closed/x", "y")
        .done();
    let second = Layer::new()
        .file("closed/z", "y")
        .directory("closed/inner/", 0o555)
        .file("closed/inner/a", "b")
        .done();
    Sample::of(vec![first, second]).layout(&shelf.path("l"), "a:1");
    let image = shelf
        .images
        .import(&shelf.path("l"), &Import::default())
        .unwrap()
        .image;
    assert_eq!(
        shelf.images.remove("a:1", &nothing).unwrap(),
        Removed::Image
    );
    assert!(!image.root.exists());
}

#[test]
fn blobs_of_other_layouts_do_not_matter() {
    let shelf = Shelf::open();
    let directory = shelf.path("l");
    Sample::of(vec![Layer::new().file("a", "b").done()]).layout(&directory, "a:1");
    put_blob(&directory, &gzip(b"something else"));
    shelf.images.import(&directory, &Import::default()).unwrap();
}
