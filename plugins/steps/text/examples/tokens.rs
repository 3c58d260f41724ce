//! Prints the tokens of each line of the standard input: `tokens TOKENIZER.JSON`. With `--time N` it tokenises all lines
//! N times and prints how long reading the tokenizer took and the mean, in milliseconds.

use std::{env, fs, hint::black_box, io::Read, time::Instant};

use nacre_text::{Options, Tokenizer};

fn main() {
    let mut arguments = env::args().skip(1);
    let (mut path, mut repeat) = (None, 0);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--time" => repeat = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1),
            _ => path = Some(argument),
        }
    }
    let json = fs::read(path.unwrap_or_default()).expect("the tokenizer is readable");
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("the lines are UTF-8");
    let lines: Vec<_> = text.lines().collect();

    let start = Instant::now();
    let tokenizer = Tokenizer::new(&json, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let reading = start.elapsed();
    let batch = tokenizer.encode(&lines).unwrap_or_else(|error| panic!("{error}"));
    if repeat == 0 {
        let [rows, length] = batch.shape().map(|size| size as usize);
        let mut ids = vec![0; rows * length];
        batch.write_input_ids(&mut ids);
        for (row, tokens) in ids.chunks(length.max(1)).zip(batch.lengths()) {
            println!("{:?}", row.iter().take(tokens).collect::<Vec<_>>());
        }
        return;
    }
    let start = Instant::now();
    for _ in 0..repeat {
        black_box(tokenizer.encode(black_box(&lines)).map(|batch| batch.shape()).ok());
    }
    let mean = start.elapsed() / repeat;
    println!("{:.3} {:.3}", reading.as_secs_f64() * 1e3, mean.as_secs_f64() * 1e3);
}
