//! Decodes a file and writes its tensor to the standard output: FP32, little-endian. Compared with Pillow by
//! `compare_with_pillow.py`. With `--time N` it decodes N times and prints the mean instead.

use std::{env, fs, hint::black_box, io::Write, process::ExitCode, time::Instant};

use nacre_image::{Layout, Options, Resize};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let mut options = Options { mean: [0.0; 3], std: [1.0; 3], layout: Layout::Hwc, ..Options::default() };
    let mut repeat = 0;
    let mut path = None;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--crop" => {
                options.resize = Resize::Crop { shorter_side: arguments.next().and_then(|n| n.parse().ok()) }
            }
            "--letterbox" => options.resize = Resize::Letterbox,
            "--time" => repeat = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1),
            _ => path = Some(argument),
        }
    }
    let bytes = path.map(|path| fs::read(path).expect("the file is readable")).unwrap_or_default();
    let mut values = vec![0.0; options.value_count()];
    if let Err(error) = nacre_image::decode(&bytes, &options, &mut values) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    if repeat == 0 {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        std::io::stdout().write_all(&bytes).expect("the output is writable");
        return ExitCode::SUCCESS;
    }
    let start = Instant::now();
    for _ in 0..repeat {
        nacre_image::decode(black_box(&bytes), &options, black_box(&mut values)).expect("it worked before");
    }
    println!("{:.3}", start.elapsed().as_secs_f64() * 1e3 / f64::from(repeat));
    ExitCode::SUCCESS
}
