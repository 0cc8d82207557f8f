use std::io::Write as _;

use proptest::prelude::*;

use super::*;

/// What a test wants in an archive.
enum Wish<'w> {
    File(&'w str, &'w [u8]),
    Directory(&'w str),
    Link(&'w str, &'w str),
    Hard(&'w str, &'w str),
    Device(&'w str),
}
use Wish::{Device, Directory, File, Hard, Link};

/// Names go in as they are: the library's own way refuses those that tests are about.
fn tar_of(wishes: &[Wish<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for wish in wishes {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o4755);
        header.set_mtime(1);
        let (name, kind, target, content): (_, _, _, &[u8]) = match wish {
            File(name, content) => (name, tar::EntryType::Regular, None, content),
            Directory(name) => (name, tar::EntryType::Directory, None, &[]),
            Link(name, target) => (name, tar::EntryType::Symlink, Some(target), &[]),
            Hard(name, target) => (name, tar::EntryType::Link, Some(target), &[]),
            Device(name) => (name, tar::EntryType::Char, None, &[]),
        };
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        if let Some(target) = target {
            header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        }
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append(&header, content).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A zip archive with one way to store each file; the mode of a link makes it one.
fn zip_of(files: &[(&str, &[u8], u32)]) -> Vec<u8> {
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for (name, content, mode) in files {
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        let packed = encoder.finish().unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let mut common = Vec::new();
        common.extend([20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0]);
        common.extend(crc.sum().to_le_bytes());
        common.extend((packed.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        let offset = zip.len() as u32;
        directory.extend(b"PK\x01\x02");
        directory.extend([20, 3]);
        directory.extend(&common);
        directory.extend([0; 6]);
        directory.extend((mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
        zip.extend(b"PK\x03\x04");
        zip.extend(&common);
        zip.extend(name.as_bytes());
        zip.extend(packed);
    }
    let (offset, size) = (zip.len() as u32, directory.len() as u32);
    zip.extend(directory);
    zip.extend(b"PK\x05\x06");
    zip.extend([0; 4]);
    zip.extend((files.len() as u16).to_le_bytes());
    zip.extend((files.len() as u16).to_le_bytes());
    zip.extend(size.to_le_bytes());
    zip.extend(offset.to_le_bytes());
    zip.extend([0, 0]);
    zip
}

const SMALL: Limits = Limits {
    members: 50,
    bytes: 100_000,
};

fn read(archive: &[u8]) -> Result<Vec<(Member, Vec<u8>)>, ArchiveError> {
    let mut members = Vec::new();
    walk(archive, SMALL, &mut |member, content| {
        let mut bytes = Vec::new();
        content
            .read_to_end(&mut bytes)
            .map_err(|error| ArchiveError::reading(&error))?;
        members.push((member.clone(), bytes));
        Ok(())
    })?;
    Ok(members)
}

fn told(archive: &[u8]) -> String {
    read(archive).unwrap_err().to_string()
}

#[test]
fn an_archive_is_read_whatever_it_is_packed_with() {
    let plain = tar_of(&[
        Directory("./"),
        Directory("./a/"),
        File("./a/b", b"hello"),
        Link("a/c", "b"),
    ]);
    let zstd = zstd::stream::encode_all(&plain[..], 1).unwrap();
    for archive in [plain.clone(), gzip(&plain), zstd] {
        let members = read(&archive).unwrap();
        let paths: Vec<_> = members
            .iter()
            .map(|(member, _)| member.path.as_str())
            .collect();
        assert_eq!(paths, ["a", "a/b", "a/c"]);
        assert_eq!(members[1].1, b"hello");
        assert_eq!(members[1].0.mode, 0o755, "no privileges come from outside");
        assert_eq!(members[2].0.kind, MemberKind::Symlink("b".to_owned()));
    }
    let zip = zip_of(&[
        ("a/", b"", 0o040_755),
        ("a/b", b"hello", 0o100_640),
        ("a/c", b"b", 0o120_777),
    ]);
    let members = read(&zip).unwrap();
    assert_eq!(
        members[1],
        (
            Member {
                path: "a/b".to_owned(),
                kind: MemberKind::File(5),
                mode: 0o640,
                modified: 315_532_800
            },
            b"hello".to_vec(),
        )
    );
    assert_eq!(members[2].0.kind, MemberKind::Symlink("b".to_owned()));
}

#[test]
fn what_leads_out_of_an_archive_is_refused() {
    for (wishes, part) in [
        (vec![File("../x", b"")], "leads out"),
        (vec![File("a/../../x", b"")], "leads out"),
        (vec![File("a/../x", b"")], "leads out"),
        (vec![File("/etc/passwd", b"")], "absolute"),
        (vec![Link("a", "/etc")], "absolute"),
        (vec![Link("a", "../x")], "leads out"),
        (vec![Link("d/a", "../../x")], "leads out"),
        (vec![Link("a", "."), Link("b", "a/a/../..")], "leads out"),
        (
            vec![Link("a", "b"), File("a/x", b"")],
            "goes through a link",
        ),
        (vec![Link("a", "b"), File("a", b"")], "twice"),
        (vec![Link("a", "b"), Directory("a")], "twice"),
        (vec![File("a/b", b""), Link("a", "c")], "twice"),
        (vec![Directory("a"), Link("a", "c")], "twice"),
        (vec![File("a", b""), File("a/b", b"")], "below a file"),
        (vec![Hard("a", "/etc/shadow")], "absolute"),
        (vec![Hard("a", "../x")], "leads out"),
        (vec![Hard("a", "not/there")], "hard link"),
        (vec![Link("l", "x"), Hard("a", "l")], "hard link"),
        (vec![Device("null")], "neither"),
        (vec![File("", b"x")], "no name"),
    ] {
        let told = told(&tar_of(&wishes));
        assert!(told.contains(part), "{told} should say {part}");
    }
    for (files, part) in [
        (vec![("../x", &b""[..], 0o100_644)], "leads out"),
        (vec![("/x", b"", 0o100_644)], "absolute"),
        (vec![("a", b"/etc", 0o120_777)], "absolute"),
        (
            vec![("a", b"b", 0o120_777), ("a/x", b"", 0o100_644)],
            "goes through a link",
        ),
        (vec![("a", b"", 0o020_644)], "neither"),
    ] {
        let told = told(&zip_of(&files));
        assert!(told.contains(part), "{told} should say {part}");
    }
}

#[test]
fn links_that_stay_inside_are_kept() {
    let members = read(&tar_of(&[
        File("a/b/c", b"x"),
        Link("a/up", "../a/b"),
        Link("a/b/here", "./c"),
        Hard("a/d", "a/b/c"),
        File("a/b/c", b"again"),
    ]));
    let kinds: Vec<_> = members
        .unwrap()
        .into_iter()
        .map(|(member, _)| member.kind)
        .collect();
    assert_eq!(kinds[1], MemberKind::Symlink("../a/b".to_owned()));
    assert_eq!(kinds[2], MemberKind::Symlink("c".to_owned()));
    assert_eq!(kinds[3], MemberKind::HardLink("a/b/c".to_owned()));
}

#[test]
fn bombs_do_not_go_off() {
    let zeros = vec![0; 200_000];
    for archive in [
        gzip(&tar_of(&[File("zeros", &zeros)])),
        zip_of(&[("zeros", &zeros, 0o100_644)]),
        tar_of(&[File("a", &zeros[..60_000]), File("b", &zeros[..60_000])]),
    ] {
        assert!(told(&archive).contains("more than 100000 bytes"));
    }
    let many: Vec<String> = (0..51).map(|n| format!("f{n}")).collect();
    let wishes: Vec<_> = many.iter().map(|name| File(name, b"")).collect();
    assert!(told(&tar_of(&wishes)).contains("more than 50 members"));
    let deep = vec!["d"; 101].join("/");
    let mut header = tar::Header::new_gnu();
    let mut builder = tar::Builder::new(Vec::new());
    header.set_size(0);
    builder.append_data(&mut header, &deep, &[][..]).unwrap();
    assert!(told(&builder.into_inner().unwrap()).contains("too deeply"));
}

#[test]
fn a_name_that_claims_to_be_endless_is_not_read() {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(1 << 20);
    header.set_cksum();
    builder.append(&header, &vec![b'a'; 1 << 20][..]).unwrap();
    assert!(told(&builder.into_inner().unwrap()).contains("longer than any name"));
}

#[test]
fn a_size_that_lies_is_found_out() {
    let mut zip = zip_of(&[("a", b"hello", 0o100_644)]);
    // The directory says that there are ten bytes.
    let place = zip
        .windows(4)
        .position(|bytes| bytes == b"PK\x01\x02")
        .unwrap()
        + 24;
    zip[place] = 10;
    assert!(told(&zip).contains("checksum"));
    let mut cut = tar_of(&[File("a", &[7; 5000])]);
    cut.truncate(2000);
    let mut clean = CleanTar::new(Vec::new(), Owner::Unpacker);
    let read = walk(&cut[..], SMALL, &mut |member, content| {
        clean.add(&member.path, member, content)
    });
    assert!(read.is_err(), "a file that ends early is not made longer");
}

#[test]
fn what_goes_into_a_box_is_clean() {
    let archive = gzip(&tar_of(&[
        Directory("./"),
        File("./bin/tool", b"#!"),
        Link("l", "bin/tool"),
        Hard("h", "./bin/tool"),
    ]));
    let owner = Owner::Given {
        user: "user".to_owned(),
        group: "7".to_owned(),
    };
    let mut bytes = Vec::new();
    let mut clean = CleanTar::new(&mut bytes, owner);
    walk(&archive[..], SMALL, &mut |member, content| {
        clean.add(&format!("opt/{}", member.path), member, content)
    })
    .unwrap();
    clean.finish().unwrap();
    let mut names = Vec::new();
    for entry in tar::Archive::new(&bytes[..]).entries().unwrap() {
        let entry = entry.unwrap();
        let header = entry.header();
        assert_eq!(header.mode().unwrap(), 0o755);
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 7));
        assert_eq!(header.username().unwrap(), Some("user"));
        names.push(entry.path().unwrap().to_str().unwrap().to_owned());
    }
    assert_eq!(names, ["opt/bin/tool", "opt/l", "opt/h"]);
}

#[test]
fn nothing_is_no_archive() {
    for bytes in [
        &b""[..],
        b"hello",
        &[0; 1024],
        b"PK\x03\x04",
        b"PK\x05\x06",
        &[0x1f, 0x8b],
    ] {
        assert!(read(bytes).is_err(), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_archive_or_a_refusal(mut bytes: Vec<u8>, magic in 0..4usize) {
        let magics: [&[u8]; 4] = [b"", b"PK\x03\x04", &[0x1f, 0x8b, 8, 0], &[0x28, 0xb5, 0x2f, 0xfd]];
        bytes.splice(0..0, magics[magic].iter().copied());
        let _ = read(&bytes);
    }

    #[test]
    fn a_damaged_archive_never_leads_out(place in 0..4000usize, byte: u8, packed: bool) {
        let mut archive = if packed {
            zip_of(&[("a/b", b"hello", 0o100_644), ("a/c", b"b", 0o120_777)])
        } else {
            tar_of(&[File("a/b", b"hello"), Link("a/c", "b"), Hard("d", "a/b")])
        };
        let place = place % archive.len();
        archive[place] = byte;
        for (member, _) in read(&archive).unwrap_or_default() {
            prop_assert!(!member.path.starts_with('/'));
            prop_assert!(!member.path.split('/').any(|part| part == ".."));
            prop_assert!(member.mode <= 0o777);
        }
    }

    #[test]
    fn names_and_targets_stay_inside_whatever_they_are(name in "[a-c./]{1,12}", target in "[a-c./]{1,12}") {
        let archive = tar_of(&[File("a/b/c", b""), Link(&name, &target)]);
        for (member, _) in read(&archive).unwrap_or_default() {
            let MemberKind::Symlink(target) = &member.kind else { continue };
            let mut depth = member.path.split('/').count() as i64 - 1;
            for part in target.split('/') {
                depth += match part { ".." => -1, "." => 0, _ => 1 };
                prop_assert!(depth >= 0, "{} -> {target}", member.path);
            }
        }
    }
}
