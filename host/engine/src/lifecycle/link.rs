//! From what each model is by itself to what is served: ensembles find their steps, plugins the models that they call.

use std::{collections::BTreeMap, sync::Arc};

use nacre_domain::ModelKey;
use nacre_telemetry::ModelStatistics;

use super::{
    known::{Known, KnownEnsemble, KnownVersion, LoadedVersion, Model},
    order::in_order,
};
use crate::{
    callees::Callees,
    ensemble::{self, Checked},
    servable::{Runner, Servable},
    snapshot::{ModelEntry, Snapshot, VersionEntry},
};

/// The snapshot of these models. A model that needs others comes after them, so all that one request can reach is of this
/// one snapshot; it is unavailable, with the reason, if one of them is.
///
/// One that was served in `previous` and does not fit any more to those that it needs stays as it was, together with those
/// of its time, unless one of these is gone from the repository.
pub(crate) fn link(known: &BTreeMap<String, Known>, previous: &Snapshot) -> Snapshot {
    // All names from the start: a message that lists them lists all.
    let mut snapshot = Snapshot::new(known.keys().map(|name| (name.clone(), ModelEntry::Loading)).collect());
    let needs = known.iter().map(|(name, model)| (name.clone(), model.needs()));
    let needs: BTreeMap<_, _> = needs.filter(|(_, needs)| !needs.is_empty()).collect();
    let (order, cyclic) = in_order(&needs);
    let independent = known.keys().filter(|name| !needs.contains_key(*name)).map(|name| (name.clone(), None));
    // The cyclic ones before the others: whoever needs one of them is told why it is unavailable.
    let cyclic = cyclic.into_iter().map(|(name, reason)| (name, Some(reason)));
    let order = order.into_iter().map(|name| (name, None));
    for (name, cycle) in independent.chain(cyclic).chain(order) {
        let Some(model) = known.get(&name) else { continue };
        let stays = |version: u64| previous.servable(&name, version).filter(|old| all_there(old, known));
        let entry = |version: u64, linked: Result<Servable, String>, failure: Option<String>| match linked {
            Ok(servable) => VersionEntry { servable: Some(Arc::new(servable)), failure },
            Err(reason) => VersionEntry { servable: stays(version).cloned(), failure: Some(reason) },
        };
        let linkable = || cycle.clone().map_or(Ok(()), Err);
        let versions: BTreeMap<u64, VersionEntry> = match &model.model {
            Model::Nothing => BTreeMap::new(),
            Model::Loaded(versions) => {
                let link = |(&number, version): (&u64, &KnownVersion)| {
                    let linked = match &version.loaded {
                        Some(loaded) => linkable().and_then(|()| with_callees(loaded, &snapshot)),
                        None => Err(version.failure.clone().unwrap_or_default()),
                    };
                    (number, entry(number, linked, version.failure.clone()))
                };
                versions.iter().map(link).collect()
            }
            Model::Ensemble(ensemble) => {
                let link = |(&number, statistics): (&u64, &Result<Arc<ModelStatistics>, String>)| {
                    let key = ModelKey { name: name.clone(), version: number };
                    let linked = linkable()
                        .and_then(|()| statistics.as_ref().map_err(Clone::clone))
                        .and_then(|statistics| with_steps(key, ensemble, statistics, &snapshot));
                    (number, entry(number, linked, None))
                };
                ensemble.versions.iter().map(link).collect()
            }
        };
        let entry = match (&model.failure, versions.is_empty()) {
            (Some(reason), true) => ModelEntry::Broken(reason.clone()),
            (failure, _) => ModelEntry::Versions { versions, failure: failure.clone() },
        };
        snapshot.models_mut().insert(name, entry);
    }
    snapshot
}

/// Whether the repository still has all that a servable of before needs.
fn all_there(servable: &Servable, known: &BTreeMap<String, Known>) -> bool {
    let there = |name: &str| known.get(name).is_some_and(|model| !matches!(model.model, Model::Nothing));
    match &servable.runner {
        Runner::Queue(_, None) => true,
        Runner::Queue(_, Some(callees)) => callees.names().all(there),
        Runner::Ensemble(plan) => plan.steps.iter().all(|step| there(&step.servable.key.name)),
    }
}

fn with_callees(version: &LoadedVersion, models: &Snapshot) -> Result<Servable, String> {
    let callees = match version.calls.as_slice() {
        [] => None,
        names => Some(Arc::new(Callees::find(names, models).map_err(|error| error.to_string())?)),
    };
    Ok(Servable {
        key: version.key.clone(),
        config: version.config.clone(),
        labels: version.labels.clone(),
        statistics: version.statistics.clone(),
        runner: Runner::Queue(version.queue.clone(), callees),
    })
}

fn with_steps(
    key: ModelKey,
    ensemble: &KnownEnsemble,
    statistics: &Arc<ModelStatistics>,
    models: &Snapshot,
) -> Result<Servable, String> {
    let Checked { plan, warnings } = ensemble::check(&ensemble.config, models)?;
    for warning in warnings {
        tracing::warn!(model = key.name, warning, "ensemble has an idle tensor");
    }
    Ok(Servable {
        statistics: statistics.clone(),
        config: ensemble.config.clone(),
        labels: plan.labels_of_steps().chain(ensemble.labels.clone()).collect(),
        runner: Runner::Ensemble(plan),
        key,
    })
}
