//! Properties of all messages and all texts.

use std::path::Path;

use nacre_proto::model_config_descriptor;
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage, Value, prost::Message,
    text_format::FormatOptions,
};

use crate::{
    effects::{self, GROUPS, OF_BACKEND, SWITCHES, WITH_EFFECT},
    parse,
    text::{self, Fault},
};

const CONFIGS: [&str; 3] = [
    r#"# A network.
name: "m"
platform: "pytorch_libtorch" max_batch_size: 32
input [ { name: "input__0" data_type: TYPE_FP32 dims: [3, 224, -1], reshape { shape: [ 3, -1, 0x1 ] } } ]
output: < name: 'output__0'; data_type: 11 dims: 1000 label_filename: "la" "bels.txt" >
instance_group [ { count: 2 kind: KIND_GPU gpus: [0, 1] rate_limiter { resources { global: true } } } ]
dynamic_batching { preferred_batch_size: [8, 16] max_queue_delay_microseconds: 500 default_queue_policy { max_queue_size: 9 } }
"#,
    r#"platform: "ensemble"
ensemble_scheduling {
  step [ { model_name: "a" model_version: -1 input_map { key: "x" value: "y" } output_map [ { key: "\x7a\n" value: "z" } ] } ]
}
"#,
    r#"backend: "wasm"
parameters: { key: "k" value: { string_value: "é \"v\" \101" } }
optimization { graph { level: 1 } cuda { graph_spec { input { key: "i" value { dim: [1] } } } } }
sequence_batching { direct { minimum_slot_utilization: .5e-1f } control_input [ { control [ { fp32_false_true: [ -inf, 1 ] } ] } ] }
model_metrics { metric_control { histogram_options { buckets: [ 1, 2.5, 1e3 ] } } }
"#,
];

/// The same cases on every run.
fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// Numbers that decide what a message holds.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 24) % sides
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len() as u64) as usize].clone()
    }

    /// A value that is not the kind's default, where it has another.
    fn value(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Bool => Value::Bool(true),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => {
                Value::I32(self.pick(&[1, -1, 8, i32::MIN, i32::MAX]))
            }
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => {
                Value::I64(self.pick(&[1, -1, 8, i64::MIN, i64::MAX]))
            }
            Kind::Uint32 | Kind::Fixed32 => Value::U32(self.pick(&[1, 8, u32::MAX])),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(self.pick(&[1, 8, u64::MAX])),
            Kind::Float => {
                Value::F32(self.pick(&[1.0, -0.1, 1e-30, f32::MAX, f32::INFINITY, f32::NEG_INFINITY]))
            }
            Kind::Double => Value::F64(self.pick(&[1.0, -0.1, 1e-300, f64::MAX, f64::INFINITY])),
            Kind::String => Value::String(
                self.pick(&["x", "é\u{1f600}", "a\"b'c\\", "line\nbreak\t", "\u{0}\u{7f}", "# { [ <"])
                    .to_owned(),
            ),
            Kind::Bytes => Value::Bytes(vec![0, 127, 255].into()),
            Kind::Enum(descriptor) => {
                let values: Vec<i32> = descriptor.values().map(|value| value.number()).collect();
                Value::EnumNumber(
                    self.pick(values.get(1..).filter(|rest| !rest.is_empty()).unwrap_or(&values)),
                )
            }
            Kind::Message(descriptor) => Value::Message(self.message(descriptor)),
        }
    }

    fn message(&mut self, descriptor: &MessageDescriptor) -> DynamicMessage {
        let mut message = DynamicMessage::new(descriptor.clone());
        for field in descriptor.fields() {
            if self.roll(2) == 0 {
                self.set(&mut message, &field);
            }
        }
        message
    }

    fn set(&mut self, message: &mut DynamicMessage, field: &FieldDescriptor) {
        let value = match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let key = match entry.map_entry_key_field().kind() {
                    Kind::Uint64 => MapKey::U64(self.roll(100)),
                    _ => MapKey::String(format!("key \"{}\"", self.roll(100))),
                };
                Value::Map([(key, self.value(&entry.map_entry_value_field().kind()))].into())
            }
            kind if field.is_list() => Value::List((0..=self.roll(3)).map(|_| self.value(&kind)).collect()),
            kind => self.value(&kind),
        };
        message.set_field(field, value);
    }
}

fn bound(text: &str) -> Result<DynamicMessage, Vec<Fault>> {
    text::parse(text, model_config_descriptor()).map(|document| document.message)
}

/// The message as it comes over the wire, where a field that is set to its default is one that is not set.
fn canonical(message: &DynamicMessage) -> DynamicMessage {
    DynamicMessage::decode(message.descriptor(), message.encode_to_vec().as_slice()).unwrap()
}

/// Fails with the text where it is not, for this parser, the text of that message.
fn assert_text_of(text: &str, message: &DynamicMessage) {
    match bound(text) {
        Ok(bound) if canonical(&bound) == canonical(message) => {}
        Ok(bound) => panic!("{text}\nparsed as\n{bound}\ninstead of\n{message}"),
        Err(faults) => panic!("{text}\n{faults:#?}"),
    }
}

/// What to do to a text: where, how many characters to take out, and what to put there.
type Edit = (prop::sample::Index, usize, String);

fn edits() -> impl Strategy<Value = (usize, Vec<Edit>)> {
    let pieces =
        "[-\\[\\]{}<>:;,.#'\"\\\\0-9efxTYPE_ \n\u{e9}]{0,4}|name|dims: 1|true|TYPE_BOOL|\\{ *\\}|input *\\{";
    let edit = (any::<prop::sample::Index>(), 0..6_usize, pieces);
    (0..CONFIGS.len(), prop::collection::vec(edit, 0..4))
}

fn edited(text: &str, edits: &[Edit]) -> String {
    let mut text: Vec<char> = text.chars().collect();
    for (at, remove, insert) in edits {
        let at = at.index(text.len());
        let end = (at + remove).min(text.len());
        text.splice(at..end, insert.chars());
    }
    text.into_iter().collect()
}

#[test]
fn every_message_prints_to_text_that_parses_back_to_it() {
    let test = |seed| {
        let message = Dice(seed).message(&model_config_descriptor());
        for options in [FormatOptions::new(), FormatOptions::new().pretty(true)] {
            let text = message.to_text_format_with_options(&options);
            assert_text_of(&text, &message);
        }
        Ok(())
    };
    runner(400).run(&any::<u64>(), test).unwrap();
}

#[test]
fn what_another_parser_takes_is_taken_as_the_same_message() {
    let mut taken = 0;
    let cell = std::cell::RefCell::new(&mut taken);
    let test = |(config, edits): (usize, Vec<Edit>)| {
        // The other parser knows no lists of messages without a colon.
        let text = edited(&CONFIGS[config].replace(" [", ": [").replace(":: [", ": ["), &edits);
        if let Ok(theirs) = DynamicMessage::parse_text_format(model_config_descriptor(), &text) {
            **cell.borrow_mut() += 1;
            assert_text_of(&text, &theirs);
        }
        Ok(())
    };
    runner(10_000).run(&edits(), test).unwrap();
    assert!(taken > 2_000, "only {taken} of the texts were legal");
}

#[test]
fn no_text_makes_it_panic_and_places_lie_inside_the_text() {
    let parsed = |text: &str| match parse("m", Path::new("config.pbtxt"), text) {
        Ok(parsed) => parsed.warnings,
        Err(errors) => errors,
    };
    let test = |text: String| {
        for found in parsed(&text) {
            let Some(line) = found.line else { continue };
            let line = text.split('\n').nth(line as usize - 1).map(|line| line.chars().count());
            prop_assert!(
                line.is_some_and(|length| found.column.unwrap() as usize <= length + 1),
                "{found}\n{text}"
            );
        }
        Ok(())
    };
    runner(10_000).run(&edits(), |(config, edits)| test(edited(CONFIGS[config], &edits))).unwrap();
    runner(5_000).run(&"[-\\[\\]{}<>:;,.#'\"\\\\0-9a-fxTYPE_ \n\u{e9}]{0,60}", test).unwrap();
}

#[test]
fn no_depth_of_nesting_overflows_the_stack() {
    for piece in ["x {", "x [ {", "x <", "dims: [", "-", "\""] {
        assert!(bound(&piece.repeat(100_000)).is_err(), "{piece}");
    }
    let faults = bound(&"x { ".repeat(100)).unwrap_err();
    assert!(
        faults.iter().any(|fault| fault.message == "more than 64 messages inside one another"),
        "{faults:?}"
    );
}

#[test]
fn every_field_parses_and_has_an_effect_or_just_one_warning() {
    let mut parents = Vec::new();
    let count = visit(&model_config_descriptor(), &mut parents);
    assert!(count > 180, "only {count} fields");
}

/// Checks each field of the message, and those of the messages inside it, on its own.
fn visit(descriptor: &MessageDescriptor, parents: &mut Vec<FieldDescriptor>) -> usize {
    let mut count = 0;
    for field in descriptor.fields() {
        let mut message = DynamicMessage::new(descriptor.clone());
        Dice(7).set(&mut message, &field);
        for parent in parents.iter().rev() {
            message = wrapped(parent, message);
        }
        let path: Vec<&str> = parents.iter().chain([&field]).map(FieldDescriptor::name).collect();
        check_field(&path.join("."), &message);
        count += 1;
        if let Kind::Message(inner) = field.kind() {
            parents.push(field);
            count += visit(&inner, parents);
            parents.pop();
        }
    }
    count
}

fn wrapped(field: &FieldDescriptor, inner: DynamicMessage) -> DynamicMessage {
    let value = if field.is_map() {
        let key = inner.get_field_by_name("key").unwrap().into_owned().into_map_key().unwrap();
        Value::Map([(key, inner.get_field_by_name("value").unwrap().into_owned())].into())
    } else if field.is_list() {
        Value::List(vec![Value::Message(inner)])
    } else {
        Value::Message(inner)
    };
    let mut outer = DynamicMessage::new(field.parent_message().clone());
    outer.set_field(field, value);
    outer
}

fn check_field(path: &str, message: &DynamicMessage) {
    let text = message.to_text_format_with_options(&FormatOptions::new().pretty(true));
    assert_text_of(&text, message);

    let is_in = |path: &str, outer: &str| path == outer || path.starts_with(&format!("{outer}."));
    let holds_effect = WITH_EFFECT.iter().chain(&GROUPS).any(|effect| *effect != path && is_in(effect, path));
    let effect = WITH_EFFECT.iter().chain([&OF_BACKEND]).any(|effect| is_in(path, effect));
    let warned = effects::without_effect(message);
    if effect {
        assert_eq!(warned, [""; 0], "{path} has an effect");
    } else if !holds_effect && !GROUPS.contains(&path) && !SWITCHES.contains(&path) {
        let [warned] = warned.as_slice() else { panic!("{path} is warned about by {warned:?}") };
        let pattern: String = warned.split(['[', ']']).step_by(2).collect();
        assert!(is_in(path, &pattern), "{path} is warned about as {warned}");
    }

    // Put into a whole file it is legal or invalid, but never misread.
    if path != "backend"
        && let Err(errors) = parse("m", Path::new("config.pbtxt"), &format!("backend: \"wasm\"\n{text}"))
    {
        for error in errors {
            assert!(error.field.is_some() && !error.message.contains("has no field"), "{path}: {error}");
        }
    }
}
