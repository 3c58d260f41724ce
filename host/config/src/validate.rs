use std::{collections::BTreeMap, time::Duration};

use nacre_proto::inference::{
    self as proto, model_config::SchedulingChoice, model_instance_group::Kind,
    model_version_policy::PolicyChoice,
};

use crate::{
    DynamicBatching, EnsembleStep, InstanceGroup, InstanceKind, VersionPolicy,
    backends::{ENSEMBLE, TENSORRT_PLAN},
    text::element,
};

/// Faults of a message that is one: path of the field and what is wrong with it.
#[derive(Default)]
pub(crate) struct Faults(pub Vec<(String, String)>);

impl Faults {
    pub fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push((path.into(), message.into()));
    }
}

/// The name has to be the folder's, which is what requests call the model by.
pub(crate) fn name(message: &proto::ModelConfig, folder: &str, faults: &mut Faults) {
    if !message.name.is_empty() && message.name != folder {
        let text = format!("expected the name of the model's folder, '{folder}', got '{}'", message.name);
        faults.add("name", text);
    }
}

pub(crate) fn max_batch_size(message: &proto::ModelConfig, faults: &mut Faults) -> u32 {
    u32::try_from(message.max_batch_size).unwrap_or_else(|_| {
        let text = format!("expected 0 (no batch dimension) or more, got {}", message.max_batch_size);
        faults.add("max_batch_size", text);
        0
    })
}

pub(crate) fn version_policy(message: &proto::ModelConfig, faults: &mut Faults) -> VersionPolicy {
    let Some(policy) = &message.version_policy else { return VersionPolicy::Latest(1) };
    match &policy.policy_choice {
        // As in Triton, a policy that says nothing serves all.
        None | Some(PolicyChoice::All(_)) => VersionPolicy::All,
        Some(PolicyChoice::Latest(latest)) => {
            if latest.num_versions == 0 {
                faults.add(
                    "version_policy.latest.num_versions",
                    "expected 1 or more, got 0: nothing would be served",
                );
            }
            VersionPolicy::Latest(latest.num_versions)
        }
        Some(PolicyChoice::Specific(specific)) => {
            let path = "version_policy.specific.versions";
            if specific.versions.is_empty() {
                faults.add(path, "no version is named, so nothing would be served");
            }
            let mut versions = Vec::new();
            for (index, &version) in specific.versions.iter().enumerate() {
                match u64::try_from(version) {
                    Ok(version) if version > 0 => versions.push(version),
                    _ => faults
                        .add(element(path, index), format!("a version is a number from 1, got {version}")),
                }
            }
            VersionPolicy::Specific(versions)
        }
    }
}

/// A name of a file inside the model's folder, relative to a folder that lies `depth` folders inside it.
pub(crate) fn file_name(path: &str, name: &str, depth: usize, faults: &mut Faults) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    let inside = name.split('/').try_fold(depth, |depth, part| match part {
        ".." => depth.checked_sub(1),
        "." | "" => Some(depth),
        _ => Some(depth + 1),
    });
    if name.starts_with('/') || inside.is_none() {
        faults.add(path, format!("expected a file inside the model's folder, got '{name}'"));
    }
    Some(name.to_owned())
}

/// Instances are threads, and a process that runs out of those ends.
const MAX_INSTANCES: i32 = 1024;

pub(crate) fn instance_groups(message: &proto::ModelConfig, faults: &mut Faults) -> Vec<InstanceGroup> {
    let mut groups = Vec::new();
    for (index, group) in message.instance_group.iter().enumerate() {
        let path = element("instance_group", index);
        let (kind, kind_name) = match group.kind() {
            Kind::Auto => (InstanceKind::Auto, "KIND_AUTO"),
            Kind::Gpu => (InstanceKind::Gpu, "KIND_GPU"),
            Kind::Cpu => (InstanceKind::Cpu, "KIND_CPU"),
            Kind::Model => (InstanceKind::Model, "KIND_MODEL"),
        };
        if group.count < 0 {
            faults.add(
                format!("{path}.count"),
                format!("expected 1 or more, or 0 for the backend's default, got {}", group.count),
            );
        } else if group.count > MAX_INSTANCES {
            faults.add(
                format!("{path}.count"),
                format!("expected {MAX_INSTANCES} at most, got {}", group.count),
            );
        }
        let mut gpus = Vec::new();
        for (index, &gpu) in group.gpus.iter().enumerate() {
            match u32::try_from(gpu) {
                Ok(gpu) => gpus.push(gpu),
                Err(_) => faults.add(
                    element(&format!("{path}.gpus"), index),
                    format!("the index of a GPU is a number from 0, got {gpu}"),
                ),
            }
        }
        if !group.gpus.is_empty() && !matches!(kind, InstanceKind::Gpu | InstanceKind::Auto) {
            faults.add(
                format!("{path}.gpus"),
                format!("a group of {kind_name} has no GPUs; leave them out or write kind: KIND_GPU"),
            );
        }
        if !group.profile.is_empty() && message.platform != TENSORRT_PLAN {
            faults.add(
                format!("{path}.profile"),
                "profiles are for platform 'tensorrt_plan' alone; leave them out",
            );
        }
        let count = u32::try_from(group.count).ok().filter(|&count| count > 0);
        groups.push(InstanceGroup { kind, count, gpus });
    }
    groups
}

pub(crate) fn dynamic_batching(
    message: &proto::ModelConfig,
    max_batch_size: u32,
    faults: &mut Faults,
) -> Option<DynamicBatching> {
    let Some(SchedulingChoice::DynamicBatching(batching)) = &message.scheduling_choice else { return None };
    let path = "dynamic_batching.preferred_batch_size";
    let mut preferred_batch_sizes = Vec::new();
    for (index, &size) in batching.preferred_batch_size.iter().enumerate() {
        match u32::try_from(size) {
            Ok(size) if (1..=max_batch_size).contains(&size) => preferred_batch_sizes.push(size),
            _ if max_batch_size == 0 => faults.add(
                element(path, index),
                format!("got {size}, but max_batch_size is 0, so that requests are never put together"),
            ),
            _ => faults.add(
                element(path, index),
                format!("expected 1 to {max_batch_size}, which is max_batch_size, got {size}"),
            ),
        }
    }
    preferred_batch_sizes.sort_unstable();
    preferred_batch_sizes.dedup();
    let max_queue_size = batching.default_queue_policy.as_ref().map(|policy| policy.max_queue_size);
    Some(DynamicBatching {
        preferred_batch_sizes,
        max_queue_delay: Duration::from_micros(batching.max_queue_delay_microseconds),
        max_queue_size: max_queue_size.filter(|&size| size > 0),
    })
}

/// The steps by themselves; whether they fit each other and their models is known once those are loaded.
pub(crate) fn ensemble_steps(
    message: &proto::ModelConfig,
    backend: &str,
    faults: &mut Faults,
) -> Vec<EnsembleStep> {
    let ensembling = match &message.scheduling_choice {
        Some(SchedulingChoice::EnsembleScheduling(ensembling)) => Some(ensembling),
        _ => None,
    };
    let ensembling = match ensembling {
        Some(ensembling) if backend == ENSEMBLE => ensembling,
        Some(_) => {
            let text = format!("expected platform: \"ensemble\" beside it, got backend '{backend}'");
            faults.add("ensemble_scheduling", text);
            return Vec::new();
        }
        None if backend == ENSEMBLE => {
            faults.add("ensemble_scheduling", "platform 'ensemble' needs it, with one step at least");
            return Vec::new();
        }
        None => return Vec::new(),
    };
    for (path, is_set) in [
        ("instance_group", !message.instance_group.is_empty()),
        ("optimization", message.optimization.is_some()),
        ("model_warmup", !message.model_warmup.is_empty()),
    ] {
        if is_set {
            faults.add(path, "an ensemble runs nothing itself; give this to the models of its steps");
        }
    }
    if ensembling.step.is_empty() {
        faults.add("ensemble_scheduling.step", "an ensemble needs one step at least");
    }
    let mut steps = Vec::new();
    for (index, step) in ensembling.step.iter().enumerate() {
        let path = element("ensemble_scheduling.step", index);
        if step.model_name.is_empty() {
            faults.add(format!("{path}.model_name"), "the name of the step's model is missing");
        }
        let version = match step.model_version {
            -1 | 0 => None,
            version => u64::try_from(version).map(Some).unwrap_or_else(|_| {
                let text = format!("expected a version from 1, or -1 for the highest, got {version}");
                faults.add(format!("{path}.model_version"), text);
                None
            }),
        };
        let mut map = |field: &str, direction: &str, map: &std::collections::HashMap<String, String>| {
            let path = format!("{path}.{field}");
            if map.is_empty() {
                let text = format!("expected one entry at least: {direction} → tensor of the ensemble");
                faults.add(&path, text);
            }
            let map: BTreeMap<String, String> = map.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
            for (key, value) in &map {
                if key.is_empty() || value.is_empty() {
                    let text = format!("expected a key ({direction}) and a value (tensor of the ensemble)");
                    faults.add(format!("{path}[\"{key}\"]"), text);
                }
            }
            map
        };
        let input_map = map("input_map", "input of the step's model", &step.input_map);
        let output_map = map("output_map", "output of the step's model", &step.output_map);
        steps.push(EnsembleStep { model: step.model_name.clone(), version, input_map, output_map });
    }
    steps
}
