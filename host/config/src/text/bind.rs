use std::collections::BTreeMap;

use prost_reflect::{
    DynamicMessage, EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage, Value,
};

use super::{
    Fault, Positions, element, join,
    suggest::{did_you_mean, nearest},
    tree::{self, ValueKind},
};
use crate::diagnostic::Position;

/// Makes the message that the fields describe; what does not fit its type becomes a fault and is left out.
pub(super) fn bind(fields: &[tree::Field<'_>], descriptor: MessageDescriptor) -> Binder {
    let mut binder = Binder {
        message: DynamicMessage::new(descriptor.clone()),
        positions: Positions::default(),
        faults: Vec::new(),
        repeated_keys: Vec::new(),
        root: descriptor,
    };
    let mut message = binder.message.clone();
    binder.message("", fields, &mut message);
    binder.message = message;
    binder
}

pub(super) struct Binder {
    pub message: DynamicMessage,
    pub positions: Positions,
    pub faults: Vec<Fault>,
    /// Map entries whose key was given before: legal, and the last one counts.
    pub repeated_keys: Vec<Fault>,
    root: MessageDescriptor,
}

impl Binder {
    fn fault(&mut self, at: Position, path: &str, message: impl Into<String>) {
        self.faults.push(Fault { at, path: path.to_owned(), message: message.into() });
    }

    fn message(&mut self, path: &str, fields: &[tree::Field<'_>], into: &mut DynamicMessage) {
        let descriptor = into.descriptor();
        // Elements by field, those that did not bind included, so that the index is the one that the author counts.
        let mut counts = BTreeMap::new();
        for field in fields {
            let field_path = join(path, field.name);
            let Some(target) = descriptor.get_field_by_name(field.name) else {
                let message = self.unknown_field(&descriptor, field.name);
                self.fault(field.at, &field_path, message);
                continue;
            };
            self.positions.add(&field_path, field.at);
            if !field.colon && target.kind().as_message().is_none() {
                self.fault(field.at, &field_path, format!("expected ':' after '{}'", field.name));
                continue;
            }
            if target.is_list() || target.is_map() {
                let count = counts.entry(target.number()).or_insert(0_usize);
                let values = match &field.value.kind {
                    ValueKind::List(values) => values.as_slice(),
                    _ => std::slice::from_ref(&field.value),
                };
                // An element on its own stands where its field's name stands.
                let alone = !matches!(field.value.kind, ValueKind::List(_));
                for value in values {
                    let at = if alone { field.at } else { value.at };
                    if target.is_map() {
                        self.map_entry(&field_path, at, &target, value, into);
                    } else {
                        let path = element(&field_path, *count);
                        *count += 1;
                        self.positions.add(&path, at);
                        if let Some(value) = self.value(&path, &target.kind(), value)
                            && let Some(list) = into.get_field_mut(&target).as_list_mut()
                        {
                            list.push(value);
                        }
                    }
                }
            } else {
                self.singular(&field_path, field, &target, into);
            }
        }
    }

    fn singular(
        &mut self,
        path: &str,
        field: &tree::Field<'_>,
        target: &FieldDescriptor,
        into: &mut DynamicMessage,
    ) {
        let name = field.name;
        if matches!(field.value.kind, ValueKind::List(_)) {
            self.fault(field.value.at, path, format!("'{name}' has one value, found a list [ … ]"));
            return;
        }
        if into.has_field(target) {
            let first = self.positions.exact(path).map_or(0, |first| first.line);
            self.fault(field.at, path, format!("'{name}' is given twice, first on line {first}"));
            return;
        }
        if let Some(oneof) = target.containing_oneof()
            && let Some(other) = oneof.fields().find(|other| into.has_field(other))
        {
            let other = other.name();
            self.fault(
                field.at,
                path,
                format!("'{name}' and '{other}' exclude each other; leave one of them out"),
            );
            return;
        }
        if let Some(value) = self.value(path, &target.kind(), &field.value) {
            into.set_field(target, value);
        }
    }

    fn map_entry(
        &mut self,
        path: &str,
        at: Position,
        target: &FieldDescriptor,
        value: &tree::Value<'_>,
        into: &mut DynamicMessage,
    ) {
        let Kind::Message(entry_type) = target.kind() else { return };
        let path = format!("{path}[{}]", key_text(value));
        let Some(Value::Message(entry)) = self.value(&path, &Kind::Message(entry_type.clone()), value) else {
            return;
        };
        let key = entry.get_field(&entry_type.map_entry_key_field()).into_owned();
        let value = entry.get_field(&entry_type.map_entry_value_field()).into_owned();
        let (Some(key), Some(map)) = (key.into_map_key(), into.get_field_mut(target).as_map_mut()) else {
            return;
        };
        if map.insert(key, value).is_some() {
            let first = self.positions.exact(&path).map_or(0, |first| first.line);
            let message = format!("this key is given twice, first on line {first}; the last one counts");
            self.repeated_keys.push(Fault { at, path: path.clone(), message });
        }
        self.positions.add(&path, at);
    }

    fn value(&mut self, path: &str, kind: &Kind, value: &tree::Value<'_>) -> Option<Value> {
        let bound = match (kind, &value.kind) {
            (Kind::Message(descriptor), ValueKind::Message(fields)) => {
                let mut message = DynamicMessage::new(descriptor.clone());
                self.message(path, fields, &mut message);
                return Some(Value::Message(message));
            }
            (Kind::Message(descriptor), found) => {
                let fields: Vec<String> = descriptor.fields().map(|f| f.name().to_owned()).collect();
                Err(format!("expected {{ … }} with fields of {}, found {found}", fields.join(", ")))
            }
            (Kind::String, ValueKind::String(bytes)) => String::from_utf8(bytes.clone())
                .map(Value::String)
                .map_err(|_| "the string is not valid UTF-8".to_owned()),
            (Kind::Bytes, ValueKind::String(bytes)) => Ok(Value::Bytes(bytes.clone().into())),
            (Kind::String | Kind::Bytes, ValueKind::Message(_) | ValueKind::List(_)) => {
                Err(format!("expected a string, found {}", value.kind))
            }
            (Kind::String | Kind::Bytes, found) => {
                Err(format!("expected a string, found {found}; put it in quotes: \"{found}\""))
            }
            (Kind::Bool, found) => boolean(found).map(Value::Bool),
            (Kind::Float, found) => float(found).map(|value| Value::F32(value as f32)),
            (Kind::Double, found) => float(found).map(Value::F64),
            (Kind::Enum(descriptor), found) => enumeration(descriptor, found).map(Value::EnumNumber),
            (Kind::Int32 | Kind::Sint32 | Kind::Sfixed32, found) => {
                integer(found, i128::from(i32::MIN), i128::from(i32::MAX)).map(|n| Value::I32(n as i32))
            }
            (Kind::Int64 | Kind::Sint64 | Kind::Sfixed64, found) => {
                integer(found, i128::from(i64::MIN), i128::from(i64::MAX)).map(|n| Value::I64(n as i64))
            }
            (Kind::Uint32 | Kind::Fixed32, found) => {
                integer(found, 0, i128::from(u32::MAX)).map(|n| Value::U32(n as u32))
            }
            (Kind::Uint64 | Kind::Fixed64, found) => {
                integer(found, 0, i128::from(u64::MAX)).map(|n| Value::U64(n as u64))
            }
        };
        bound.map_err(|message| self.fault(value.at, path, message)).ok()
    }

    fn unknown_field(&self, descriptor: &MessageDescriptor, name: &str) -> String {
        let fields: Vec<FieldDescriptor> = descriptor.fields().collect();
        let near = nearest(name, fields.iter().map(FieldDescriptor::name));
        let message = descriptor.name();
        if !near.is_empty() {
            return format!("{message} has no field '{name}'{}", did_you_mean(&near));
        }
        let mut homes = Vec::new();
        find_homes(&self.root, name, "", &mut homes);
        if let [home, ..] = homes.as_slice() {
            return format!("{message} has no field '{name}'; it belongs in {home}");
        }
        let names: Vec<&str> = fields.iter().map(FieldDescriptor::name).collect();
        format!("{message} has no field '{name}'; its fields are {}", names.join(", "))
    }
}

/// The messages, as paths, that have a field of that name.
fn find_homes(descriptor: &MessageDescriptor, name: &str, path: &str, homes: &mut Vec<String>) {
    for field in descriptor.fields() {
        let path = join(path, field.name());
        if let Kind::Message(inner) = field.kind()
            && !inner.is_map_entry()
        {
            if inner.get_field_by_name(name).is_some() {
                homes.push(path.clone());
            }
            find_homes(&inner, name, &path, homes);
        }
    }
    homes.sort_by_key(|home| home.matches('.').count());
}

/// The key of a map entry as a path shows it.
fn key_text(entry: &tree::Value<'_>) -> String {
    let ValueKind::Message(fields) = &entry.kind else { return "?".to_owned() };
    match fields.iter().find(|field| field.name == "key").map(|field| &field.value.kind) {
        Some(ValueKind::String(bytes)) => format!("\"{}\"", String::from_utf8_lossy(bytes)),
        Some(other) => other.to_string(),
        None => "\"\"".to_owned(),
    }
}

fn integer(found: &ValueKind<'_>, least: i128, most: i128) -> Result<i128, String> {
    let ValueKind::Integer { negative, digits, radix } = found else {
        return Err(format!("expected a whole number, found {found}"));
    };
    i128::from_str_radix(digits, *radix)
        .ok()
        .map(|value| if *negative { -value } else { value })
        .filter(|value| (least..=most).contains(value))
        .ok_or_else(|| format!("{found} is out of range; it goes from {least} to {most}"))
}

fn boolean(found: &ValueKind<'_>) -> Result<bool, String> {
    match found {
        ValueKind::Identifier { negative: false, name: "true" | "True" | "t" } => Ok(true),
        ValueKind::Identifier { negative: false, name: "false" | "False" | "f" } => Ok(false),
        found => match integer(found, 0, 1) {
            Ok(value) => Ok(value == 1),
            Err(_) => Err(format!("expected true or false, found {found}")),
        },
    }
}

fn float(found: &ValueKind<'_>) -> Result<f64, String> {
    let value = match found {
        ValueKind::Float { digits, .. } | ValueKind::Integer { digits, radix: 10, .. } => digits.parse().ok(),
        ValueKind::Identifier { name, .. } => match name.to_ascii_lowercase().as_str() {
            "inf" | "infinity" => Some(f64::INFINITY),
            "nan" => Some(f64::NAN),
            _ => None,
        },
        _ => None,
    };
    let negative = matches!(
        found,
        ValueKind::Float { negative: true, .. }
            | ValueKind::Integer { negative: true, .. }
            | ValueKind::Identifier { negative: true, .. }
    );
    match value {
        Some(value) if negative => Ok(-value),
        Some(value) => Ok(value),
        None => Err(format!("expected a decimal number, found {found}")),
    }
}

fn enumeration(descriptor: &EnumDescriptor, found: &ValueKind<'_>) -> Result<i32, String> {
    let values: Vec<_> = descriptor.values().collect();
    let legal = || {
        // The value 0 of a data type means that there is none.
        let names: Vec<&str> =
            values.iter().map(|value| value.name()).filter(|name| *name != "TYPE_INVALID").collect();
        names.join(", ")
    };
    match found {
        ValueKind::Identifier { negative: false, name } => match descriptor.get_value_by_name(name) {
            Some(value) => Ok(value.number()),
            None => {
                let near = did_you_mean(&nearest(name, values.iter().map(|value| value.name())));
                let near =
                    if near.is_empty() { "; legal are".to_owned() } else { format!("{near} Legal are") };
                Err(format!("{name} is no {}{near} {}", descriptor.name(), legal()))
            }
        },
        ValueKind::Integer { .. } => integer(found, i128::from(i32::MIN), i128::from(i32::MAX))
            .ok()
            .map(|number| number as i32)
            .filter(|number| descriptor.get_value(*number).is_some())
            .ok_or_else(|| format!("{found} is no {}; legal are {}", descriptor.name(), legal())),
        ValueKind::String(bytes)
            if std::str::from_utf8(bytes).is_ok_and(|s| descriptor.get_value_by_name(s).is_some()) =>
        {
            let name = String::from_utf8_lossy(bytes);
            Err(format!("expected a name without quotes: {name}, not \"{name}\""))
        }
        found => Err(format!("expected one of {}, found {found}", legal())),
    }
}
