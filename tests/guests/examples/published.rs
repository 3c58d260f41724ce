//! Uses everything that the interface has. A build of it is kept for each version that was published
//! (tests/guests/published), and servers load these for ever; so it changes only together with that version. The build:
//! optimised for size, `lto` fat, `panic` abort, without symbols and the section component-name.
//!
//! The answer to IN: what the file holds that the parameter `file` names, as it was read in `configure`; then what the
//! model 'other' answers to the same request; then IN.
use std::sync::OnceLock;

use nacre_guests::{Error, answer, error, files, guest, input, log, metrics, models, parameter};
use wasip2::{clocks::monotonic_clock, random::random};

static GREETING: OnceLock<Vec<u8>> = OnceLock::new();

fn process(request: nacre_guests::Request) -> Result<nacre_guests::Response, Error> {
    if monotonic_clock::now() == 0 || random::get_random_bytes(8).len() != 8 {
        return Err(error(nacre_guests::ErrorCode::Internal, "clocks or random numbers do not work"));
    }
    metrics::add("published_bytes", 1.0, &[("way".into(), "in".into())]);
    metrics::set("published_gauge", 2.0, &[]);
    metrics::observe("published_histogram", 3.0, &[]);
    log::write(log::Level::Info, "asks the other model", &[("id".into(), request.id.clone())]);
    let call = || models::Call { model: "other".into(), version: None, request: request.clone() };
    let one = models::infer(&call())?;
    let both = models::infer_all(&[call()]);
    let Some(Ok(again)) = both.into_iter().next() else {
        return Err(error(nacre_guests::ErrorCode::Internal, "one of two equal calls failed"));
    };
    let bytes = |response: nacre_guests::Response| response.outputs.into_iter().next().map(|tensor| tensor.data);
    if bytes(one.clone()) != bytes(again) {
        return Err(error(nacre_guests::ErrorCode::Internal, "two equal calls differ"));
    }
    let mut said = GREETING.get().cloned().unwrap_or_default();
    said.extend(bytes(one).unwrap_or_default());
    said.extend(input(request));
    Ok(answer(said))
}

guest!(process, |settings| {
    let read = files::read(&parameter(&settings, "file"))?;
    log::write(log::Level::Debug, "configured", &[]);
    GREETING.get_or_init(|| read);
    Ok(())
});
