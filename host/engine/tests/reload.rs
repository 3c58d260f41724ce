//! What changes in the repository goes live: through real files, seen by real events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, missing_docs)]

mod common;

use std::{
    fs,
    io::Write,
    os::unix::fs::symlink,
    time::{Duration, Instant},
};

use common::{Repository, Served, fp32, request, values};
use nacre_domain::ErrorCode;
use nacre_engine::{FollowOptions, ModelState};

const PATIENCE: Duration = Duration::from_secs(30);

/// A model of one file that adds to its input what the file says.
fn adding(repository: &Repository, file: &str, number: &str) {
    let name = file.split('/').next().unwrap();
    repository.model(name, "backend: \"pytorch\"").file(file, number);
}

/// Serves the repository and follows it while the test runs.
async fn following(repository: &Repository, options: FollowOptions, test: impl AsyncFnOnce(&Served)) {
    let served = repository.serve().await;
    tokio::select! {
        () = served.engine.follow(&options) => unreachable!("it follows for ever"),
        () = test(&served) => {}
    }
}

async fn answer(served: &Served, model: &str) -> Result<f32, ErrorCode> {
    let response = served.infer(request(model, vec![fp32("x", &[1], &[0.0])])).await;
    response.map(|response| values(&response.outputs[0])[0]).map_err(|error| error.code())
}

async fn until(served: &Served, model: &str, expected: Result<f32, ErrorCode>) {
    let start = Instant::now();
    while answer(served, model).await != expected {
        assert!(start.elapsed() < PATIENCE, "{model} never gave {expected:?}: {:?}", served.index());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn loads(served: &Served, model: &str) -> usize {
    served.switches.loads.lock().unwrap().iter().filter(|name| *name == model).count()
}

fn replace(repository: &Repository, file: &str, text: &str) {
    let path = repository.path().join(file);
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_dropped_in_goes_live_and_one_that_is_removed_goes() {
    let repository = Repository::new();
    adding(&repository, "a/1/model.pt", "1");
    following(&repository, FollowOptions::default(), async |served| {
        assert_eq!(answer(served, "a").await, Ok(1.0));
        assert_eq!(answer(served, "b").await, Err(ErrorCode::NotFound));
        adding(&repository, "b/1/model.pt", "2");
        until(served, "b", Ok(2.0)).await;
        fs::remove_dir_all(repository.path().join("a")).unwrap();
        until(served, "a", Err(ErrorCode::NotFound)).await;
        assert_eq!(loads(served, "b"), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_version_takes_the_place_of_the_old_one_and_its_removal_brings_that_back() {
    let repository = Repository::new();
    adding(&repository, "m/1/model.pt", "1");
    following(&repository, FollowOptions::default(), async |served| {
        repository.file("m/2/model.pt", "2");
        until(served, "m", Ok(2.0)).await;
        assert_eq!(served.model("m", None).unwrap().versions, [2]);
        fs::remove_dir_all(repository.path().join("m/2")).unwrap();
        until(served, "m", Ok(1.0)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_replaced_in_place_without_an_error_in_between() {
    let repository = Repository::new();
    adding(&repository, "m/1/model.pt", "1");
    following(&repository, FollowOptions::default(), async |served| {
        for number in 2..20 {
            let file = number.to_string();
            match number % 3 {
                0 => replace(&repository, "m/1/model.pt", &file),
                _ => drop(repository.file("m/1/model.pt", &file)),
            }
            let start = Instant::now();
            loop {
                let got = answer(served, "m").await.unwrap();
                if got == number as f32 {
                    break;
                }
                assert_eq!(got, (number - 1) as f32, "no other generation answers");
                assert!(start.elapsed() < PATIENCE);
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_load_leaves_the_old_serving_and_says_why() {
    let repository = Repository::new();
    adding(&repository, "m/1/model.pt", "1");
    let options = FollowOptions { incomplete: Duration::from_millis(500), ..FollowOptions::default() };
    following(&repository, options, async |served| {
        for (file, text, version) in [
            ("m/1/model.pt", "garbage", Some(1)),
            ("m/2/model.pt", "rubbish", Some(2)),
            ("m/config.pbtxt", "backend: \"pytorch\" max_batch_sise: 1", None),
        ] {
            repository.file(file, text);
            let start = Instant::now();
            let reason = loop {
                assert_eq!(answer(served, "m").await, Ok(1.0));
                let index = served.index();
                let entry = index.iter().find(|entry| entry.version == version && !entry.reason.is_empty());
                if let Some(entry) = entry {
                    break entry.reason.clone();
                }
                assert!(start.elapsed() < PATIENCE, "{index:?}");
                tokio::time::sleep(Duration::from_millis(1)).await;
            };
            let part = if version.is_some() { text } else { "config.pbtxt:1:" };
            assert!(reason.contains(part), "{reason}");
            // A second load of what is broken is an error too.
            assert!(served.load_model("m").await.is_err());
            assert_eq!(answer(served, "m").await, Ok(1.0));
        }
        // Rolled back: everything is as it was, and nothing is loaded again for it.
        let before = loads(served, "m");
        repository.file("m/config.pbtxt", "backend: \"pytorch\"").file("m/1/model.pt", "1");
        fs::remove_dir_all(repository.path().join("m/2")).unwrap();
        let start = Instant::now();
        while served.index().iter().any(|entry| !entry.reason.is_empty()) {
            assert!(start.elapsed() < PATIENCE, "{:?}", served.index());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(answer(served, "m").await, Ok(1.0));
        assert_eq!(loads(served, "m"), before);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_still_being_written_is_waited_for() {
    let repository = Repository::new();
    adding(&repository, "m/1/model.pt", "1");
    // The pauses of the writer are longer than the quiet time.
    let options = FollowOptions { quiet: Duration::from_millis(10), ..FollowOptions::default() };
    following(&repository, options, async |served| {
        fs::create_dir(repository.path().join("m/2")).unwrap();
        let mut file = fs::File::create(repository.path().join("m/2/model.pt")).unwrap();
        for part in ["1", "2", "3"] {
            file.write_all(part.as_bytes()).unwrap();
            file.flush().unwrap();
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(50) {
                assert_eq!(answer(served, "m").await, Ok(1.0));
            }
        }
        drop(file);
        until(served, "m", Ok(123.0)).await;
        assert!(served.index().iter().all(|entry| entry.reason.is_empty()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn polling_sees_what_events_do_not() {
    let repository = Repository::new();
    adding(&repository, "m/1/model.pt", "1");
    let options = FollowOptions {
        events: false,
        poll: Duration::from_millis(20),
        quiet: Duration::from_millis(50),
        ..FollowOptions::default()
    };
    following(&repository, options, async |served| {
        repository.file("m/1/model.pt", "2");
        until(served, "m", Ok(2.0)).await;
        adding(&repository, "n/1/model.pt", "3");
        until(served, "n", Ok(3.0)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_are_switched_at_the_top_at_a_model_and_at_a_version() {
    let elsewhere = Repository::new();
    for generation in ["1", "2"] {
        adding(&elsewhere, &format!("g{generation}/1/model.pt"), generation);
    }
    let repository = Repository::new();
    adding(&repository, "version/0/model.pt", "0");
    let switch = |target: &str, link: &str| {
        let link = repository.path().join(link);
        let new = link.with_file_name(".new");
        symlink(elsewhere.path().join(target), &new).unwrap();
        fs::rename(new, link).unwrap();
    };
    switch("g1", "model");
    switch("g1/1", "version/1");
    following(&repository, FollowOptions::default(), async |served| {
        for name in ["model", "version"] {
            assert_eq!(answer(served, name).await, Ok(1.0), "{name}");
        }
        switch("g2", "model");
        switch("g2/1", "version/1");
        until(served, "model", Ok(2.0)).await;
        until(served, "version", Ok(2.0)).await;
        // What a link leads to is followed as well.
        elsewhere.file("g2/1/model.pt", "3");
        until(served, "model", Ok(3.0)).await;
        until(served, "version", Ok(3.0)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ensemble_and_its_new_step_arrive_together() {
    let repository = Repository::new();
    adding(&repository, "a/1/model.pt", "1");
    let ensemble = |step: &str| {
        repository.ensemble("e", 0, &["x FP32 [1]"], &["y FP32 [1]"], &[&format!("{step} | x=x | y=y")]);
    };
    ensemble("a");
    following(&repository, FollowOptions::default(), async |served| {
        assert_eq!(answer(served, "e").await, Ok(1.0));
        ensemble("b");
        adding(&repository, "b/1/model.pt", "2");
        let start = Instant::now();
        while answer(served, "e").await.unwrap() != 2.0 {
            assert!(start.elapsed() < PATIENCE);
        }
        // Without its step it is not served, and says so.
        fs::remove_dir_all(repository.path().join("b")).unwrap();
        until(served, "e", Err(ErrorCode::Unavailable)).await;
        assert!(served.reason("e").contains("'b'"), "{}", served.reason("e"));
        adding(&repository, "b/1/model.pt", "3");
        until(served, "e", Ok(3.0)).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_unloaded_stays_so_until_its_files_change() {
    let repository = Repository::new();
    adding(&repository, "m/1/model.pt", "1");
    adding(&repository, "other/1/model.pt", "1");
    following(&repository, FollowOptions::default(), async |served| {
        served.unload_model("m").await.unwrap();
        assert_eq!(answer(served, "m").await, Err(ErrorCode::Unavailable));
        // Another model's change does not bring it back.
        repository.file("other/1/model.pt", "2");
        until(served, "other", Ok(2.0)).await;
        assert_eq!(answer(served, "m").await, Err(ErrorCode::Unavailable));
        served.load_model("m").await.unwrap();
        assert_eq!(answer(served, "m").await, Ok(1.0));
        served.unload_model("m").await.unwrap();
        repository.file("m/1/model.pt", "3");
        until(served, "m", Ok(3.0)).await;
        assert_eq!(served.index().iter().filter(|entry| entry.state == ModelState::Ready).count(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_configuration_loads_the_model_anew_and_that_of_the_version_policy_alone_does_not() {
    let repository = Repository::new();
    adding(&repository, "m/1/model.pt", "1");
    repository.file("m/2/model.pt", "2");
    following(&repository, FollowOptions::default(), async |served| {
        repository.model("m", "backend: \"pytorch\" version_policy { all {} }");
        let start = Instant::now();
        while served.model("m", None).unwrap().versions != [1, 2] {
            assert!(start.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(loads(served, "m"), 2, "each version once");
        repository.model("m", "backend: \"pytorch\" version_policy { all {} } max_batch_size: 4");
        while served.model("m", None).unwrap().config.max_batch_size != 4 {
            assert!(start.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(loads(served, "m"), 4);
    })
    .await;
}
