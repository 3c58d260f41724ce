use prost_reflect::{DynamicMessage, ReflectMessage, Value};

use crate::text::{element, join};

/// Every field that does something, by path without indices; all that is inside it counts too. A field that is
/// neither here nor holds one that is here is warned about, so one that is new to the message cannot be forgotten.
pub(crate) const WITH_EFFECT: [&str; 28] = [
    "name",
    "platform",
    "backend",
    "max_batch_size",
    "input.name",
    "input.data_type",
    "input.format",
    "input.dims",
    "input.reshape",
    "input.optional",
    "output.name",
    "output.data_type",
    "output.dims",
    "output.reshape",
    "output.label_filename",
    "version_policy",
    "default_model_filename",
    "instance_group.name",
    "instance_group.kind",
    "instance_group.count",
    "instance_group.gpus",
    "dynamic_batching.preferred_batch_size",
    "dynamic_batching.max_queue_delay_microseconds",
    "dynamic_batching.default_queue_policy.max_queue_size",
    "ensemble_scheduling.step.model_name",
    "ensemble_scheduling.step.model_version",
    "ensemble_scheduling.step.input_map",
    "ensemble_scheduling.step.output_map",
];

/// Which of `parameters` have an effect the backend knows, and plugins get them all.
pub(crate) const OF_BACKEND: &str = "parameters";

/// Messages that say nothing themselves: their fields are warned about one by one.
pub(crate) const GROUPS: [&str; 1] = ["optimization"];

/// Switches: turned off, they ask for what happens anyway.
pub(crate) const SWITCHES: [&str; 2] = ["response_cache", "model_transaction_policy"];

/// The path of the first occurrence of each field that is set and has no effect.
pub(crate) fn without_effect(message: &DynamicMessage) -> Vec<String> {
    let mut found = Vec::new();
    walk(message, "", "", &mut found);
    found.into_iter().map(|(_, path)| path).collect()
}

/// `pattern` is `path` without indices.
fn walk(message: &DynamicMessage, pattern: &str, path: &str, found: &mut Vec<(String, String)>) {
    for (field, value) in message.fields() {
        if !message.has_field(&field) {
            continue;
        }
        let pattern = join(pattern, field.name());
        let path = join(path, field.name());
        if pattern == OF_BACKEND || WITH_EFFECT.contains(&pattern.as_str()) {
            continue;
        }
        let holds_effect = WITH_EFFECT
            .iter()
            .any(|effect| effect.strip_prefix(&pattern).is_some_and(|rest| rest.starts_with('.')));
        if holds_effect || GROUPS.contains(&pattern.as_str()) {
            match value {
                Value::Message(inner) => walk(inner, &pattern, &path, found),
                Value::List(items) => {
                    for (index, item) in items.iter().enumerate() {
                        if let Value::Message(inner) = item {
                            walk(inner, &pattern, &element(&path, index), found);
                        }
                    }
                }
                _ => {}
            }
            continue;
        }
        let switched_off = SWITCHES.contains(&pattern.as_str())
            && value
                .as_message()
                .is_some_and(|switch| switch.descriptor().fields().all(|field| !switch.has_field(&field)));
        if !switched_off && !found.iter().any(|(known, _)| *known == pattern) {
            found.push((pattern, path));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prost_reflect::{Kind, MessageDescriptor};

    use super::*;

    /// Every path without indices that the message has.
    fn paths(descriptor: &MessageDescriptor, prefix: &str, into: &mut BTreeSet<String>) {
        for field in descriptor.fields() {
            let path = join(prefix, field.name());
            if let Kind::Message(inner) = field.kind() {
                paths(&inner, &path, into);
            }
            into.insert(path);
        }
    }

    #[test]
    fn every_listed_path_is_one_of_the_message() {
        let mut all = BTreeSet::new();
        paths(&nacre_proto::model_config_descriptor(), "", &mut all);
        for path in WITH_EFFECT.iter().chain(&GROUPS).chain(&SWITCHES).chain([&OF_BACKEND]) {
            assert!(all.contains(*path), "{path} is no field of ModelConfig");
        }
    }
}
