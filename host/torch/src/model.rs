use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::Path,
    sync::Arc,
};

use nacre_backend::{BatchedModel, Executor, Instance, LoadedModel, ModelSource, Placement};
use nacre_config::ModelConfig;
use nacre_domain::{Error, ErrorCode, ModelKey, Result};
use tracing::{debug, warn};

use crate::{
    binding::Binding,
    completion::complete,
    file_problem,
    instance::TorchInstance,
    library,
    module::Module,
    placement::{Placements, place},
    session::Session,
    settings::Settings,
};

/// A TorchScript model, loaded once on each device that its instances run on.
///
/// Instances of a device share the module where a run leaves nothing behind in it: TorchScript's executor may be entered
/// by several threads at once, and the weights are then constants. A model that may change itself (state, or not frozen)
/// is copied for each instance, unless `ENABLE_WEIGHT_SHARING` says that it does not matter.
pub(crate) struct TorchModel {
    /// What instances read.
    pub shared: Arc<Shared>,
    modules: BTreeMap<Option<u32>, Module>,
    placements: Vec<Placement>,
}

/// What all instances of a model read.
pub(crate) struct Shared {
    pub key: ModelKey,
    pub config: Arc<ModelConfig>,
    pub binding: Binding,
    pub settings: Settings,
    /// Threads inside an operator, for each instance.
    pub threads: usize,
}

impl TorchModel {
    /// Loads a version.
    ///
    /// # Errors
    /// What is wrong with the file or the configuration; the sentence names the model.
    pub(crate) fn load(source: &ModelSource, gpu_fallback_cpu: bool) -> Result<LoadedModel> {
        TorchModel::try_load(source, gpu_fallback_cpu).map_err(|error| {
            error.context(format!("model '{}' version {}", source.key.name, source.key.version))
        })
    }

    fn try_load(source: &ModelSource, gpu_fallback_cpu: bool) -> Result<LoadedModel> {
        let key = &source.key;
        let warn = |problem: &str| {
            warn!(model = key.name, version = key.version, problem, "model loads with a reservation")
        };
        let file = source.file.as_deref().ok_or_else(|| Error::internal("no file was given to load"))?;
        let (settings, unknown) = Settings::parse(&source.config.parameters)?;
        if !unknown.is_empty() {
            warn(&format!("parameters without effect: {}", unknown.join(", ")));
        }
        let placements = place(&source.config.instance_groups, library::gpu_count(), gpu_fallback_cpu)?;
        let groups = placements.groups();
        let Placements { places, warnings } = placements;
        warnings.iter().for_each(|problem| warn(problem));
        if let Some(threads) = settings.inter_op_threads
            && let Err(problem) = library::set_interop_threads(threads)
        {
            warn(&format!("INTER_OP_THREAD_COUNT {threads} has no effect: {problem}"));
        }
        let mut modules = BTreeMap::new();
        for place in &places {
            if let Entry::Vacant(entry) = modules.entry(place.gpu) {
                let (module, problem) = load_module(file, place.gpu, settings.optimize_for_inference)?;
                problem.iter().for_each(|problem| warn(problem));
                entry.insert(module);
            }
        }
        let schema = modules
            .values()
            .next()
            .map(Module::schema)
            .ok_or_else(|| Error::internal("no instance is to be made"))?;
        let config = Arc::new(complete(&source.config, &schema)?.with_instance_groups(groups)?);
        let binding = Binding::new(&config, &schema)?;
        let on_cpu = places.iter().filter(|place| place.gpu.is_none()).count();
        let threads = settings.intra_op_threads.unwrap_or_else(|| (library::cores() / on_cpu.max(1)).max(1));
        debug!(model = key.name, version = key.version, instances = places.len(), threads, %schema, "torchscript model loaded");
        let shared =
            Arc::new(Shared { key: key.clone(), config: config.clone(), binding, settings, threads });
        let model = TorchModel { shared, modules, placements: places };
        Ok(LoadedModel { config, executor: Executor::Batched(Arc::new(model)), calls: Vec::new() })
    }
}

fn load_module(file: &Path, gpu: Option<u32>, optimize: bool) -> Result<(Module, Option<String>)> {
    Module::load(file, gpu, optimize).map_err(|error| file_problem::explain(file, error))
}

impl BatchedModel for TorchModel {
    fn placements(&self) -> Vec<Placement> {
        self.placements.clone()
    }

    fn instantiate(&self, placement: &Placement) -> Result<Box<dyn Instance>> {
        let context = || format!("model '{}': instance {}", self.shared.key.name, placement.name);
        let module = self
            .modules
            .get(&placement.gpu)
            .ok_or_else(|| Error::internal(format!("{} is on no device of the model", context())))?;
        // It counts for the calling thread, which is the instance's own.
        tch::set_num_threads(i32::try_from(self.shared.threads).unwrap_or(i32::MAX));
        let share = module.is_stateless() || self.shared.settings.weight_sharing;
        let session =
            Session::new(module, share).map_err(|error| error.into_error(ErrorCode::Internal, context()))?;
        Ok(Box::new(TorchInstance::new(self.shared.clone(), session, placement.gpu.is_some())))
    }
}
