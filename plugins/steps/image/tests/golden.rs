//! Small pictures in every format and variant come out as Pillow makes them (golden.txt, by make_golden.py).

#![allow(missing_docs)]

use nacre_image::{Layout, Options, Resize, decode};

struct Case<'a> {
    name: &'a str,
    options: Options,
    file: Vec<u8>,
    pixels: Vec<u8>,
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> = hexadecimal.chars().map(|digit| digit.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// One for each way to resize each file.
fn cases() -> Vec<Case<'static>> {
    let mut cases = Vec::new();
    let (mut name, mut file) = ("", Vec::new());
    for line in include_str!("golden.txt").lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            [file_name, contents] => (name, file) = (file_name, bytes(contents)),
            ["", resize, width, height, pixels] => {
                let options = options(resize, width.parse().unwrap(), height.parse().unwrap());
                cases.push(Case { name, options, file: file.clone(), pixels: bytes(pixels) });
            }
            _ => panic!("golden.txt has a line of another form: {line}"),
        }
    }
    cases
}

/// One for each file.
fn files() -> Vec<Case<'static>> {
    let mut cases = cases();
    cases.dedup_by_key(|case| case.name);
    cases
}

fn options(resize: &str, width: usize, height: usize) -> Options {
    let resize = match resize {
        "straight" => Resize::Straight,
        "crop" => Resize::Crop { shorter_side: Some(width.max(height)) },
        _ => Resize::Letterbox,
    };
    let (mean, std, layout) = ([0.0; 3], [1.0; 3], Layout::Hwc);
    Options { width, height, resize, fill: [1, 2, 3], mean, std, layout, ..Options::default() }
}

#[test]
fn every_format_and_variant_comes_out_as_pillow_makes_it() {
    let cases = cases();
    assert!(cases.len() > 100, "golden.txt is whole");
    for case in cases {
        let mut values = vec![f32::NAN; case.options.value_count()];
        decode(&case.file, &case.options, &mut values)
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let pixels: Vec<u8> = values.iter().map(|&value| value as u8).collect();
        assert_eq!(pixels, case.pixels, "{} {:?}", case.name, case.options);
    }
}

#[test]
fn a_file_cut_off_anywhere_is_an_error_that_says_so() {
    for case in files() {
        let mut values = vec![0.0; case.options.value_count()];
        for length in 16..case.file.len() - 2 {
            let error =
                decode(&case.file[..length], &case.options, &mut values).expect_err(case.name).to_string();
            assert!(error.contains("cut off"), "{} at {length} of {}: {error}", case.name, case.file.len());
        }
    }
}

#[test]
fn a_damaged_file_is_decoded_or_refused_but_never_panics() {
    // A fixed seed: the same damage every time.
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for case in files() {
        let options = Options { max_pixels: 1_000_000, ..case.options.clone() };
        let mut values = vec![0.0; options.value_count()];
        for _ in 0..60 {
            let mut file = case.file.clone();
            for _ in 0..=random(3) {
                let at = random(file.len());
                file[at] = random(256) as u8;
            }
            let _ = decode(&file, &options, &mut values);
        }
    }
}

#[test]
fn layout_mean_and_deviation_are_applied() {
    let case = files().into_iter().find(|case| case.name == "png-rgb").unwrap();
    let (mean, std) = ([10.0, 20.0, 30.0], [2.0, 4.0, 8.0]);
    let options = Options { mean, std, layout: Layout::Chw, ..case.options };
    let mut values = vec![f32::NAN; options.value_count()];
    decode(&case.file, &options, &mut values).unwrap();
    let plane = options.width * options.height;
    for (index, &level) in case.pixels.iter().enumerate() {
        let (pixel, channel) = (index / 3, index % 3);
        assert_eq!(values[channel * plane + pixel], (f32::from(level) - mean[channel]) / std[channel]);
    }
}

#[test]
fn the_size_in_the_header_is_checked_before_anything_is_decoded() {
    for case in files().iter().filter(|case| matches!(case.name, "png-rgb" | "jpeg-420" | "webp-lossy")) {
        let options = Options { max_pixels: 99, ..case.options.clone() };
        let mut values = vec![0.0; options.value_count()];
        let error = decode(&case.file, &options, &mut values).unwrap_err().to_string();
        assert!(error.contains("pixels; at most 99 are decoded (parameter 'max_pixels')"), "{error}");
    }
}

#[test]
fn a_picture_without_pixels_is_refused() {
    let case = files().into_iter().find(|case| case.name == "jpeg-420").unwrap();
    let mut file = case.file;
    let frame = file.windows(2).position(|bytes| bytes == [0xFF, 0xC0]).unwrap();
    file[frame + 7..frame + 9].copy_from_slice(&[0, 0]);
    let error =
        decode(&file, &case.options, &mut vec![0.0; case.options.value_count()]).unwrap_err().to_string();
    assert_eq!(error, "the JPEG image has no pixels: its header says 0×18");
}

#[test]
fn an_array_is_prepared_as_its_file_would_be() {
    let case = files().into_iter().find(|case| case.name == "png-rgb").unwrap();
    let whole = Options { width: 13, height: 10, ..case.options.clone() };
    let mut values = vec![0.0; whole.value_count()];
    decode(&case.file, &whole, &mut values).unwrap();
    let pixels: Vec<u8> = values.iter().map(|&value| value as u8).collect();
    let mut values = vec![0.0; case.options.value_count()];
    nacre_image::prepare(&pixels, &[10, 13, 3], &case.options, &mut values).unwrap();
    assert_eq!(values.iter().map(|&value| value as u8).collect::<Vec<_>>(), case.pixels);
    for shape in [&[10, 13][..], &[10, 13, 4], &[10, 12, 3], &[-10, -13, 3], &[0, 13, 3]] {
        let error = nacre_image::prepare(&pixels, shape, &case.options, &mut values).unwrap_err().to_string();
        assert!(error.contains("expected [height, width, 3]"), "{error}");
    }
}
