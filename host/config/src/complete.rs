use nacre_proto::inference::{
    ModelConfig as Message, ModelInstanceGroup, ModelVersionPolicy,
    model_config::SchedulingChoice,
    model_instance_group::Kind,
    model_optimization_policy::PinnedMemoryBuffer,
    model_version_policy::{Latest, PolicyChoice},
};

use crate::backends::{ENSEMBLE, PYTORCH, usual_file, usual_platform};

/// Fills in what Triton's configuration call reports for a model that does not say it.
pub(crate) fn complete(message: &mut Message, name: &str, backend: &str) {
    name.clone_into(&mut message.name);
    // Triton reports ensembles by platform alone.
    message.backend = if backend == ENSEMBLE { String::new() } else { backend.to_owned() };
    if message.platform.is_empty() {
        message.platform = usual_platform(backend).unwrap_or_default().to_owned();
    }
    if message.default_model_filename.is_empty() {
        message.default_model_filename = usual_file(backend).unwrap_or_default().to_owned();
    }
    let latest = PolicyChoice::Latest(Latest { num_versions: 1 });
    message.version_policy.get_or_insert(ModelVersionPolicy { policy_choice: Some(latest) });
    if let Some(SchedulingChoice::DynamicBatching(batching)) = &mut message.scheduling_choice
        && batching.preferred_batch_size.is_empty()
        && message.max_batch_size > 0
    {
        batching.preferred_batch_size.push(message.max_batch_size);
    }
    if backend == ENSEMBLE {
        message.model_transaction_policy.get_or_insert_default();
        return;
    }
    let optimization = message.optimization.get_or_insert_default();
    optimization.input_pinned_memory.get_or_insert(PinnedMemoryBuffer { enable: true });
    optimization.output_pinned_memory.get_or_insert(PinnedMemoryBuffer { enable: true });
    if message.instance_group.is_empty() {
        // Where instances run, only the backend that loads the model knows; it says so with `with_instance_groups`.
        let kind = if backend == PYTORCH { Kind::Auto } else { Kind::Cpu };
        message.instance_group.push(ModelInstanceGroup {
            name: name.to_owned(),
            kind: kind.into(),
            ..Default::default()
        });
    }
    for (index, group) in message.instance_group.iter_mut().enumerate() {
        if group.name.is_empty() {
            group.name = format!("{name}_{index}");
        }
        if group.count == 0 {
            group.count = 1;
        }
    }
}
