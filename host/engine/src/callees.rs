use std::{collections::BTreeMap, future::Future, pin::Pin, sync::Arc};

use nacre_backend::ModelCalls;
use nacre_domain::{Error, InferenceRequest, InferenceResponse, Result};

use crate::{
    servable::Servable,
    snapshot::{Snapshot, list, list_names},
};

/// How deep calls may be nested: a plugin that calls a plugin that calls a model has two levels.
const MAX_LEVELS: usize = 8;

/// What a model may call while it runs: those that its configuration names, as they were when this was made.
pub(crate) struct Callees {
    /// By name, then version; no model is without a version.
    models: BTreeMap<String, BTreeMap<u64, Arc<Servable>>>,
    levels: usize,
}

impl Callees {
    /// Looks the models up.
    ///
    /// # Errors
    /// Not found or unavailable if one of them is not served; invalid argument if calls would nest too deep.
    pub(crate) fn find(names: &[String], snapshot: &Snapshot) -> Result<Callees> {
        let mut models = BTreeMap::new();
        for name in names {
            snapshot.find(name, None).map_err(|error| error.context("a model that it may call"))?;
            let versions =
                snapshot.ready_versions(name).map(|servable| (servable.key.version, servable.clone()));
            models.insert(name.clone(), versions.collect::<BTreeMap<_, _>>());
        }
        let deepest = models.values().flat_map(BTreeMap::values).map(|servable| servable.levels()).max();
        let levels = deepest.unwrap_or_default().saturating_add(1);
        if levels > MAX_LEVELS {
            return Err(Error::invalid_argument(format!(
                "models that call models are nested {levels} deep: expected {MAX_LEVELS} at most"
            )));
        }
        Ok(Callees { models, levels })
    }

    /// Their names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    /// Why one of them cannot answer any more although it loaded.
    pub(crate) fn failure(&self) -> Option<Error> {
        let newest = self.models.values().filter_map(|versions| versions.values().next_back());
        newest.filter_map(|servable| servable.failure()).next()
    }

    fn callee(&self, name: &str, version: Option<u64>) -> Result<&Arc<Servable>> {
        let versions = self.models.get(name).ok_or_else(|| {
            Error::not_found(format!(
                "model '{name}' is not among those that may be called: {}",
                list_names(self.models.keys())
            ))
        })?;
        let found = match version {
            Some(version) => versions.get(&version),
            None => versions.values().next_back(),
        };
        found.ok_or_else(|| {
            Error::not_found(format!(
                "model '{name}' has no version {} that is served; it has {}",
                version.unwrap_or_default(),
                list(versions.keys())
            ))
        })
    }
}

impl ModelCalls for Callees {
    fn infer<'a>(
        &'a self,
        request: InferenceRequest,
    ) -> Pin<Box<dyn Future<Output = Result<InferenceResponse>> + Send + 'a>> {
        Box::pin(async move {
            let servable = self.callee(&request.model, request.version)?.clone();
            servable.infer_boxed(request).await.map(|(response, _)| response)
        })
    }

    fn levels(&self) -> usize {
        self.levels
    }
}
