//! Does what a word says: IN for `process`; the parameters `configure` and `describe` of config.pbtxt for these. What
//! comes back at all answers `done`, or with what it was told.
use nacre_guests::{
    DataType, Description, Error, ErrorCode, Request, Response, Settings, TensorSpec, Value, answer, description, error,
    files, guest, input, log, metrics, models, parameter,
};
use wasip2::{
    cli::stdout,
    clocks::{monotonic_clock, wall_clock},
    http::types::Fields,
    io::poll,
    random::{insecure, random},
};

const MEGABYTE: usize = 1 << 20;

fn nothing() -> Request {
    Request { id: String::new(), parameters: vec![], inputs: vec![], requested_outputs: vec![] }
}

fn call(model: &str) -> models::Call {
    models::Call { model: model.into(), version: None, request: nothing() }
}

/// What `act` says where there is nothing to say.
fn done() -> Result<Vec<u8>, Error> {
    Ok(b"done".to_vec())
}

fn act(word: &str) -> Result<Vec<u8>, Error> {
    match word {
        "" => {}
        "trap" => core::arch::wasm32::unreachable(),
        "spin" => loop {
            std::hint::black_box(0);
        },
        "allocate" => {
            let mut kept = Vec::new();
            loop {
                kept.push(std::hint::black_box(vec![1_u8; MEGABYTE]));
            }
        }
        "exit" => std::process::exit(3),
        // SAFETY: not sound; that the host notices is what is tested.
        "read beyond" => unsafe {
            std::hint::black_box(std::ptr::read_volatile(0xffff_fff0_usize as *const u64));
        },
        // SAFETY: as above.
        "write beyond" => unsafe { std::ptr::write_volatile(0xffff_fff0_usize as *mut u64, 1) },

        "log: a long line" => log::write(log::Level::Info, &"x".repeat(50 * MEGABYTE), &[]),
        "log: more than an answer" => log::write(log::Level::Info, &"x".repeat(70 * MEGABYTE), &[]),
        "log: line ends" => log::write(log::Level::Info, &"\n".repeat(50 * MEGABYTE), &[]),
        "log: short lines" => log::write(log::Level::Info, &"a\n".repeat(25 * MEGABYTE), &[]),
        "log: fields" => {
            let fields = vec![(String::new(), String::new()); 500_000];
            log::write(log::Level::Info, "many fields", &fields);
        }
        "log: no UTF-8" => log::write(log::Level::Info, not_utf8(), &[]),
        "log: escapes" => log::write(log::Level::Info, "\u{1b}[2Jgone\r\nmodel=\"other\" injected", &[]),
        "log: for ever" => loop {
            log::write(log::Level::Trace, "", &[]);
        },

        "metrics: names" => {
            for i in 0..100_000 {
                metrics::add(&format!("acts_{i}"), 1.0, &[]);
            }
        }
        "metrics: labels" => {
            for i in 0..100_000 {
                metrics::observe("acts_labelled", 1.0, &[("i".into(), i.to_string())]);
            }
        }
        "metrics: malformed" => {
            metrics::add("Not A Name\n# TYPE x counter", 1.0, &[]);
            metrics::add("acts_negative", -1.0, &[]);
            metrics::add("acts_nan", f64::NAN, &[]);
            metrics::observe("acts_infinite", f64::INFINITY, &[]);
            metrics::set("acts_label", 1.0, &[("model".into(), "another".into())]);
            metrics::set(&"x".repeat(10 * MEGABYTE), 1.0, &[]);
        }
        "metrics: other kind" => {
            metrics::add("acts_kind", 1.0, &[]);
            metrics::set("acts_kind", 1.0, &[]);
        }
        "metrics: for ever" => loop {
            metrics::add("acts_forever", 1.0, &[]);
        },

        "files: a long path" => return files::read(&"a/".repeat(10 * MEGABYTE)),
        "files: dots" => return files::read("../../../../../../etc/passwd"),
        "files: a device" => return files::read("/dev/zero"),
        "files: for ever" => loop {
            let _ = files::read("nothing");
        },

        "models: not granted" => return models::infer(&call("secret")).map(|_| vec![]),
        "models: a long name" => return models::infer(&call(&"m".repeat(10 * MEGABYTE))).map(|_| vec![]),
        "models: many at once" => {
            let calls: Vec<_> = (0..10_000).map(|_| call("secret")).collect();
            return Err(models::infer_all(&calls).pop().expect("an answer for each").expect_err("refused"));
        }
        "models: for ever" => loop {
            let _ = models::infer(&call("secret"));
        },

        "random: much" => drop(random::get_random_bytes(1 << 40)),
        "random: insecure much" => drop(insecure::get_insecure_random_bytes(u64::MAX)),
        "random: for ever" => loop {
            let _ = random::get_random_u64();
        },
        "clock: for ever" => loop {
            let _ = wall_clock::now();
        },
        "poll: nothing" => {
            poll::poll(&[]);
        }
        "poll: an age" => monotonic_clock::subscribe_duration(u64::MAX).block(),
        "poll: the same many times" => {
            let soon = monotonic_clock::subscribe_duration(1);
            let all = vec![&soon; 100_000];
            poll::poll(&all);
        }
        "handles: dropped" => {
            for _ in 0..100_000 {
                drop(monotonic_clock::subscribe_duration(1));
            }
        }
        "handles: denied" => {
            let mut kept = Vec::new();
            loop {
                kept.push(Fields::new());
            }
        }
        "stdout: too much at once" => {
            let _ = stdout::get_stdout().write(&vec![b'x'; MEGABYTE]);
        }
        "stdout: zeroes" => {
            let _ = stdout::get_stdout().write_zeroes(u64::MAX);
        }
        "stdout: for ever" => loop {
            let _ = stdout::get_stdout().blocking_write_and_flush(b"again\n");
        },

        "error: long" => return Err(error(ErrorCode::InvalidArgument, "e".repeat(50 * MEGABYTE))),
        "error: no UTF-8" => return Err(error(ErrorCode::InvalidArgument, not_utf8())),
        other => return Err(error(ErrorCode::InvalidArgument, format!("no such act: {other}"))),
    }
    done()
}

fn not_utf8() -> &'static str {
    // SAFETY: not sound; that the host notices is what is tested.
    unsafe { std::str::from_utf8_unchecked(std::hint::black_box(&[0xff, 0xfe, 0xfd])) }
}

/// Answers that the host has to see through.
fn respond(word: &str) -> Result<Response, Error> {
    let mut response = answer(b"done".to_vec());
    let outputs = &mut response.outputs;
    match word {
        "answer: many outputs" => *outputs = vec![outputs[0].clone(); 300_000],
        "answer: other outputs" => {
            for output in &mut *outputs {
                output.name = "x".repeat(10 * MEGABYTE);
            }
        }
        "answer: many parameters" => {
            response.parameters = (0..500_000).map(|i| (i.to_string(), Value::Truth(true))).collect();
        }
        "answer: many dimensions" => outputs[0].shape = vec![1; MEGABYTE],
        "answer: the least dimension" => outputs[0].shape = vec![i64::MIN],
        "answer: the largest dimension" => outputs[0].shape = vec![i64::MAX],
        "answer: a name that is no UTF-8" => outputs[0].name = not_utf8().into(),
        "answer: a parameter without end" => {
            response.parameters.push(("x".into(), Value::Text("x".repeat(70 * MEGABYTE))));
        }
        "answer: not a number" => response.parameters.push(("x".into(), Value::Number(f64::NAN))),
        "answer: strings that lie" => {
            outputs[0].data_type = DataType::Bytes;
            outputs[0].shape = vec![1];
            outputs[0].data = vec![0xff, 0xff, 0xff, 0x7f, 1];
        }
        _ => response = answer(act(word)?),
    }
    Ok(response)
}

fn describe(settings: &Settings) -> Result<Description, Error> {
    let spec = |name: String| TensorSpec { name, data_type: DataType::Uint8, dims: vec![-1], optional: false };
    let mut said = description();
    match parameter(settings, "describe").as_str() {
        "" => {}
        "nothing" => (said.inputs, said.outputs) = (vec![], vec![]),
        "many" => said.inputs = (0..200_000).map(|i| spec(i.to_string())).collect(),
        "a long name" => said.inputs = vec![spec("x".repeat(10 * MEGABYTE)); 2],
        "many dimensions" => said.outputs[0].dims = vec![-2; MEGABYTE],
        "no UTF-8" => said.summary = not_utf8().into(),
        "a long summary" => said.summary = "s".repeat(70 * MEGABYTE),
        word => drop(act(word)?),
    }
    Ok(said)
}

guest!(
    |request| respond(&String::from_utf8_lossy(&input(request))),
    |settings| act(&parameter(&settings, "configure")).map(|_| ()),
    |settings| describe(&settings)
);
