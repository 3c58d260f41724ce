//! What stands below the options in each `--help`. Paragraphs are one line, which the terminal's width breaks; the others
//! have 80 columns.

pub(crate) const NEW: &str = "\
Example:
  nacre plugin new scale --language python
  nacre plugin new        # asks, on a terminal";

pub(crate) const BUILD: &str = "\
A missing compiler is exit code 3, with the commands that install it.

Example:
  nacre plugin build scale";

pub(crate) const CHECK: &str = "\
It is loaded as a server loads it: imports, describe, configure, snapshot, and the comparison with config.pbtxt.

Example:
  nacre plugin check scale
  nacre plugin check target/wasm32-wasip2/release/scale.wasm --config config.pbtxt";

pub(crate) const RUN: &str = "\
Example:
  nacre plugin run scale --input 'x=[1,2,3]' --input 'names=[\"Ada\"]'
  nacre plugin run scale --input x=@x.npy --set factor=2 --save answers
  nacre plugin run decode_image --input image=@cat.jpg
  nacre plugin run scale --case scale/tests/scale.json";

pub(crate) const BENCH: &str = "\
Each request gets a fresh instance, as in a server. With --reuse, instances are used again, as with the parameter \
NACRE_REUSE, beside it. Without --case and --input the request is that of the plugin's first case, or zeros.

Example:
  nacre plugin bench scale --seconds 10
  nacre plugin bench decode_image --input image=@cat.jpg --concurrency 4";

pub(crate) const DEV: &str = "\
A plugin's folder is that of a model, so a server whose --model-repository is the folder's parent needs no \
--repository. With --json, each event is an object on a line of its own.

Example:
  nacre serve --model-repository models &
  nacre plugin dev models/scale --server http://localhost:8000
  nacre plugin dev scale --repository models --server http://localhost:8000";

pub(crate) const TEST: &str = r#"A case is a JSON file in the plugin's folder tests/, or an array of cases in one file:

  {
    "name": "scales and shifts",
    "config_parameters": {"factor": "2"},
    "inputs":  [{"name": "x", "datatype": "FP32", "data": [1, 2, 3]}],
    "outputs": [{"name": "y", "datatype": "FP32", "data": [2, 4, 6]}],
    "tolerance": {"absolute": 1e-6, "relative": 1e-5}
  }

A tensor:
  "data": [1, 2, 3]     numbers, booleans or strings, flat or nested
  "file": "x.npy"       NumPy's; else raw elements, or one element of BYTES
  "image": "cat.png"    JPEG, PNG, WebP: pixels for UINT8, the file for BYTES
  "shape": [1, 3]       where data is flat but the tensor is not
  "datatype" may be left out where the plugin or config.pbtxt says it.

In place of "outputs", for what has to fail:
  "error": {"code": "invalid-argument", "contains": "factor"}

Models that the plugin calls are played by the case:
  "models": {"counter": {
    "outputs": [{"name": "n", "datatype": "INT32", "data": [2]}]
  }}
  An array of such answers is given call by call; {"error": {}} is one too.

Also: "id", "parameters", "requested_outputs", "output_parameters".

Example:
  nacre plugin test scale
  nacre plugin test scale --build --filter shifts"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case;

    #[test]
    fn the_case_that_is_shown_is_one() {
        let shown = TEST.split("\n\n").find(|paragraph| paragraph.starts_with("  {")).unwrap();
        let models =
            TEST.split("\n").skip_while(|line| !line.contains("\"models\"")).take(3).collect::<String>();
        let text = shown.trim_end().trim_end_matches('}').to_owned() + "," + &models + "}";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let cases = case::read(file.path()).unwrap();
        assert_eq!((cases[0].name.as_str(), cases[0].models.len()), ("scales and shifts", 1));
    }
}
