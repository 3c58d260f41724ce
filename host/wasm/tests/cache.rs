//! Compiled images on disk: when they are used, and what happens to those that may not be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
};

use common::{Server, log, parameter};
use nacre_wasm::{LoadReport, Start, WasmOptions};

/// A server that keeps images there.
fn server(cache: &Path) -> Server {
    Server::with(WasmOptions { cache: Some(cache.to_owned()), ..WasmOptions::default() }, 1)
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let cache = root.path().join("a/plugins");
    (root, cache)
}

/// What a new server says of loading this guest.
fn load(cache: &Path, config: &str) -> LoadReport {
    let server = server(cache);
    let (model, report) = server.reported("configured", config);
    assert_eq!(server.call(&model, b"7").unwrap(), b"entry 7");
    report
}

fn images(cache: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(cache).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "image")).collect()
}

fn entries() -> String {
    parameter("entries", "1000")
}

#[test]
fn another_start_takes_the_image() {
    let (_root, cache) = folder();
    let first = load(&cache, &entries());
    assert!(!first.from_cache);
    let second = load(&cache, &entries());
    assert!(second.from_cache);
    assert_eq!(second, LoadReport { from_cache: true, total: second.total, ..first });
    assert!(matches!(second.start, Start::Snapshot { .. }));
    for path in [cache.clone(), cache.join("key"), images(&cache)[0].clone()] {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{path:?}");
    }
}

#[test]
fn what_configure_drew_is_kept_with_the_image() {
    let (_root, cache) = folder();
    let draw = || {
        let server = server(&cache);
        let (model, _) = server.reported("configured", &entries());
        server.call(&model, b"draw").unwrap()
    };
    assert_eq!(draw(), draw());
}

#[test]
fn a_plugin_without_a_snapshot_is_not_compiled_again_either() {
    let (_root, cache) = folder();
    let config = entries() + &parameter("print", "yes");
    for from_cache in [false, true] {
        let report = load(&cache, &config);
        assert!(matches!(report.start, Start::Configure { .. }));
        assert_eq!(report.from_cache, from_cache);
    }
}

#[test]
fn other_parameters_make_another_image() {
    let (_root, cache) = folder();
    assert!(!load(&cache, &entries()).from_cache);
    assert!(!load(&cache, &parameter("entries", "1001")).from_cache);
    assert!(load(&cache, &entries()).from_cache);
    assert_eq!(images(&cache).len(), 2);
}

#[test]
fn a_file_that_configure_read_must_be_as_it_was() {
    let (_root, cache) = folder();
    let config = parameter("labels", "labels.txt");
    let labels = |content: Option<&str>| {
        let server = server(&cache);
        fs::create_dir_all(server.repository.path().join("configured")).unwrap();
        if let Some(content) = content {
            fs::write(server.repository.path().join("configured/labels.txt"), content).unwrap();
        }
        let (model, report) = server.reported("configured", &config);
        (String::from_utf8(server.call(&model, b"labels").unwrap()).unwrap(), report.from_cache)
    };
    assert_eq!(labels(Some("cat")), ("cat".into(), false));
    assert_eq!(labels(Some("cat")), ("cat".into(), true));
    assert_eq!(labels(Some("dog")), ("dog".into(), false));
    assert_eq!(labels(Some("dog")), ("dog".into(), true));
    // That a file is missing is noted as well.
    let (text, from_cache) = labels(None);
    assert!(text.contains("neither in the version's nor in the model's folder") && !from_cache, "{text}");
    assert!(labels(None).1);
    assert_eq!(labels(Some("cow")), ("cow".into(), false));
}

/// Spoils the image, and sees that it is made anew with a warning, and that the new one is used.
fn spoiled(spoil: impl Fn(&Path, &Path), expected: &str) {
    log();
    let (_root, cache) = folder();
    load(&cache, &entries());
    spoil(&images(&cache)[0], &cache);
    assert!(!load(&cache, &entries()).from_cache);
    let log = log();
    assert!(log.contains("is not used, and made anew") && log.contains(expected), "{log}");
    assert!(load(&cache, &entries()).from_cache);
}

#[test]
fn one_wrong_bit_anywhere_is_noticed() {
    for part in [0.0, 0.3, 0.9, 0.999, 1.0] {
        spoiled(
            |image, _| {
                let mut bytes = fs::read(image).unwrap();
                let at = ((bytes.len() - 1) as f64 * part) as usize;
                bytes[at] ^= 1;
                fs::write(image, bytes).unwrap();
            },
            "damaged, or not made with the key",
        );
    }
}

#[test]
fn a_cut_off_image_is_noticed() {
    for keep in [0, 10, 100_000] {
        spoiled(
            |image, _| {
                let bytes = fs::read(image).unwrap();
                fs::write(image, &bytes[..keep]).unwrap();
            },
            "is not used",
        );
    }
}

#[test]
fn an_image_under_another_name_is_noticed() {
    spoiled(
        |image, cache| {
            load(cache, &parameter("entries", "8"));
            let other = images(cache).into_iter().find(|other| other != image).unwrap();
            fs::rename(other, image).unwrap();
        },
        "another entry's content",
    );
}

#[test]
fn an_image_of_another_folder_is_not_trusted() {
    spoiled(
        |image, _| {
            let (_root, foreign) = folder();
            load(&foreign, &entries());
            fs::copy(&images(&foreign)[0], image).unwrap();
        },
        "not made with the key",
    );
}

#[test]
fn a_folder_that_others_may_write_to_is_not_used() {
    log();
    let (_root, cache) = folder();
    fs::create_dir_all(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o770)).unwrap();
    assert!(!load(&cache, &entries()).from_cache);
    assert!(!load(&cache, &entries()).from_cache);
    assert!(fs::read_dir(&cache).unwrap().next().is_none());
    assert!(log().contains("others may write to it (mode 770)"), "{}", log());
}

#[test]
fn a_key_that_others_may_read_is_not_used() {
    log();
    let (_root, cache) = folder();
    load(&cache, &entries());
    fs::set_permissions(cache.join("key"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(!load(&cache, &entries()).from_cache);
    assert!(log().contains("others may read it"), "{}", log());
}

#[test]
fn a_folder_that_cannot_be_made_costs_the_cache_alone() {
    log();
    let (root, _) = folder();
    fs::write(root.path().join("file"), "").unwrap();
    assert!(!load(&root.path().join("file/plugins"), &entries()).from_cache);
    assert!(log().contains("starts take longer"), "{}", log());
}

#[test]
fn the_folder_stays_within_its_size_and_the_least_recently_used_go_first() {
    let (_root, cache) = folder();
    let server = || {
        let options = WasmOptions { cache: Some(cache.clone()), cache_mb: 1, ..WasmOptions::default() };
        Server::with(options, 1)
    };
    let loaded =
        |entries: u32| server().reported("configured", &parameter("entries", &entries.to_string())).1;
    loaded(1);
    let one = fs::metadata(&images(&cache)[0]).unwrap().len();
    let room = (1 << 20) / one;
    assert!(room >= 2, "an image takes {one} bytes");
    for entries in 2..=u32::try_from(room).unwrap() + 2 {
        loaded(entries);
        // Used again and again.
        assert!(loaded(1).from_cache, "{entries}");
        let size: u64 = images(&cache).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
        assert!(size <= 1 << 20, "{size}");
    }
    assert!(!loaded(2).from_cache);
}

#[test]
fn servers_share_a_folder() {
    let (_root, cache) = folder();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for entries in 8..12 {
                    load(&cache, &parameter("entries", &entries.to_string()));
                }
            });
        }
    });
    assert_eq!(images(&cache).len(), 4);
    let files = fs::read_dir(&cache).unwrap().count();
    assert_eq!(files, 5, "four images and the key");
    for entries in 8..12 {
        assert!(load(&cache, &parameter("entries", &entries.to_string())).from_cache);
    }
}

#[test]
fn what_a_killed_server_leaves_does_no_harm() {
    let (_root, cache) = folder();
    load(&cache, &entries());
    let image = fs::read(&images(&cache)[0]).unwrap();
    let abandoned = cache.join("1-2-3.tmp");
    fs::write(&abandoned, &image[..image.len() / 2]).unwrap();
    assert!(load(&cache, &entries()).from_cache);
    // It may be another server's, at work; after an hour it is not.
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    fs::File::open(&abandoned).unwrap().set_modified(long_ago).unwrap();
    load(&cache, &parameter("entries", "8"));
    assert!(!abandoned.exists());
}
