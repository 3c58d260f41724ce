use proptest::prelude::*;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn settings(max_rows: usize, preferred_rows: &[usize], max_delay: Duration) -> Settings {
    Settings { max_rows, preferred_rows: preferred_rows.into(), max_delay }
}

/// Decides over requests of (kind, rows, age in milliseconds).
fn decide(queue: &[(char, usize, u32)], settings: &Settings) -> Decision {
    let now = Instant::now() + Duration::from_secs(1000);
    let queue = queue.iter().map(|&(kind, rows, age)| Waiting { kind, rows, since: now - MS * age });
    match form(queue, now, settings) {
        Decision::WaitUntil(moment) => {
            assert!(moment > now);
            Decision::WaitUntil(moment)
        }
        decision => decision,
    }
}

#[track_caller]
fn assert_runs(queue: &[(char, usize, u32)], settings: &Settings, places: &[usize]) {
    assert_eq!(decide(queue, settings), Decision::Run(places.into()));
}

#[track_caller]
fn assert_waits(queue: &[(char, usize, u32)], settings: &Settings) {
    let decision = decide(queue, settings);
    assert!(matches!(decision, Decision::WaitUntil(_)), "{decision:?}");
}

#[test]
fn an_empty_queue_is_idle() {
    assert_eq!(decide(&[], &settings(8, &[], MS)), Decision::Idle);
}

#[test]
fn without_delay_what_waits_runs_at_once_up_to_the_maximum() {
    let settings = settings(4, &[], Duration::ZERO);
    assert_runs(&[('a', 1, 0)], &settings, &[0]);
    assert_runs(&[('a', 1, 0), ('a', 2, 0), ('a', 1, 0), ('a', 1, 0)], &settings, &[0, 1, 2]);
}

#[test]
fn with_a_delay_a_batch_waits_until_it_is_full_or_its_oldest_is_overdue() {
    let settings = settings(4, &[], MS * 10);
    assert_waits(&[('a', 1, 9), ('a', 1, 0)], &settings);
    assert_runs(&[('a', 1, 10), ('a', 1, 0)], &settings, &[0, 1]);
    assert_runs(&[('a', 2, 0), ('a', 2, 0)], &settings, &[0, 1]);
}

#[test]
fn a_batch_that_the_next_request_would_overfill_does_not_wait() {
    let settings = settings(4, &[], MS * 10);
    // The third would fit, but may not overtake the second.
    assert_runs(&[('a', 3, 0), ('a', 2, 0), ('a', 1, 0)], &settings, &[0]);
}

#[test]
fn the_largest_preferred_size_that_is_reached_runs_at_once() {
    let settings = settings(8, &[2, 4], MS * 10);
    let one = ('a', 1, 0);
    assert_waits(&[one], &settings);
    assert_runs(&[one; 2], &settings, &[0, 1]);
    assert_runs(&[one; 3], &settings, &[0, 1]);
    assert_runs(&[one; 9], &settings, &[0, 1, 2, 3]);
    // 3 is not preferred, and 3 + 2 is not either.
    assert_waits(&[('a', 3, 0), ('a', 2, 0)], &settings);
    assert_runs(&[('a', 3, 10), ('a', 2, 0)], &settings, &[0, 1]);
}

#[test]
fn kinds_do_not_mix_and_do_not_hold_up_one_another() {
    let settings = settings(2, &[], MS * 10);
    assert_runs(&[('a', 1, 10), ('b', 1, 5), ('a', 1, 0)], &settings, &[0, 2]);
    assert_runs(&[('a', 1, 5), ('b', 1, 4), ('c', 1, 3), ('c', 1, 0), ('b', 1, 0)], &settings, &[1, 4]);
    assert_waits(&[('a', 1, 5), ('b', 1, 4), ('c', 1, 3)], &settings);
}

#[test]
fn it_waits_for_the_delay_of_the_oldest() {
    let now = Instant::now() + Duration::from_secs(1000);
    let queue = [('a', 7), ('b', 3)].map(|(kind, age)| Waiting { kind, rows: 1, since: now - MS * age });
    let decision = form(queue.into_iter(), now, &settings(2, &[], MS * 10));
    assert_eq!(decision, Decision::WaitUntil(now + MS * 3));
}

#[test]
fn a_request_beyond_the_maximum_runs_alone() {
    assert_runs(&[('a', 9, 0), ('a', 1, 0)], &settings(4, &[], MS), &[0]);
}

proptest! {
    /// Runs a whole queue down: whatever waits, each request runs exactly once, in order within its kind, in batches
    /// of one kind that do not exceed the maximum, and waiting is never longer than the delay.
    #[test]
    fn every_request_runs_once_and_in_order(
        requests in prop::collection::vec((0..3_u8, 1..=6_usize, 0..20_u64), 0..40),
        max_rows in 1..=8_usize,
        preferred in prop::collection::btree_set(1..=8_usize, 0..3),
        delay in 0..10_u32,
    ) {
        let settings = settings(max_rows, &preferred.into_iter().collect::<Vec<_>>(), MS * delay);
        let start = Instant::now();
        let mut age = 0;
        let mut arrivals: Vec<(usize, Waiting<u8>)> = Vec::new();
        for (id, &(kind, rows, gap)) in requests.iter().enumerate() {
            age += gap;
            let since = start + Duration::from_millis(age);
            arrivals.push((id, Waiting { kind, rows: rows.min(max_rows), since }));
        }
        let mut now = start;
        let mut queue: Vec<(usize, Waiting<u8>)> = Vec::new();
        let mut ran: Vec<Vec<(usize, Waiting<u8>)>> = Vec::new();
        let mut arrivals = arrivals.into_iter().peekable();
        loop {
            while let Some(arrival) = arrivals.next_if(|(_, waiting)| waiting.since <= now) {
                queue.push(arrival);
            }
            let next_arrival = arrivals.peek().map(|(_, waiting)| waiting.since);
            match form(queue.iter().map(|(_, waiting)| *waiting), now, &settings) {
                Decision::Run(places) => {
                    prop_assert!(!places.is_empty() && places.is_sorted());
                    ran.push(places.iter().map(|&place| queue[place]).collect());
                    queue = queue
                        .into_iter()
                        .enumerate()
                        .filter(|(place, _)| !places.contains(place))
                        .map(|(_, waiting)| waiting)
                        .collect();
                }
                Decision::WaitUntil(moment) => {
                    prop_assert!(moment > now && moment <= queue[0].1.since + settings.max_delay);
                    now = next_arrival.map_or(moment, |arrival| arrival.min(moment));
                }
                Decision::Idle => match next_arrival {
                    Some(arrival) => now = arrival,
                    None => break,
                },
            }
        }
        for batch in &ran {
            let kind = batch[0].1.kind;
            prop_assert!(batch.iter().all(|(_, waiting)| waiting.kind == kind));
            prop_assert!(batch.iter().map(|(_, waiting)| waiting.rows).sum::<usize>() <= max_rows);
        }
        for kind in 0..3 {
            let ids: Vec<_> = ran.iter().flatten().filter(|(_, w)| w.kind == kind).map(|(id, _)| *id).collect();
            prop_assert!(ids.is_sorted(), "order within a kind: {ids:?}");
        }
        let mut all: Vec<_> = ran.iter().flatten().map(|(id, _)| *id).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..requests.len()).collect::<Vec<_>>());
    }
}
