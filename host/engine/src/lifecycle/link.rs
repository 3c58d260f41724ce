//! From what each model is by itself to what is served: ensembles find their steps, plugins the models that they call.

use std::{collections::BTreeMap, sync::Arc};

use nacre_domain::ModelKey;
use nacre_telemetry::ModelStatistics;

use super::{
    known::{Known, KnownEnsemble, LoadedVersion},
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
pub(crate) fn link(known: &BTreeMap<String, Known>) -> Snapshot {
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
        let entry = match (model, cycle) {
            (Known::Broken(reason), _) => ModelEntry::Broken(reason.clone()),
            (Known::Loaded(versions), cycle) => {
                ModelEntry::Versions(versions_of(versions, |_, version| match &cycle {
                    Some(reason) => Err(reason.clone()),
                    None => with_callees(version, &snapshot),
                }))
            }
            (Known::Ensemble(ensemble), cycle) => {
                ModelEntry::Versions(versions_of(&ensemble.versions, |version, statistics| match &cycle {
                    Some(reason) => Err(reason.clone()),
                    None => {
                        let key = ModelKey { name: name.clone(), version };
                        with_steps(key, ensemble, statistics, &snapshot)
                    }
                }))
            }
        };
        snapshot.models_mut().insert(name, entry);
    }
    snapshot
}

fn versions_of<T>(
    versions: &BTreeMap<u64, Result<Arc<T>, String>>,
    link: impl Fn(u64, &Arc<T>) -> Result<Servable, String>,
) -> BTreeMap<u64, VersionEntry> {
    let entry = |(&number, version): (&u64, &Result<Arc<T>, String>)| {
        let linked = version.as_ref().map_err(Clone::clone).and_then(|version| link(number, version));
        (
            number,
            linked.map_or_else(VersionEntry::Unavailable, |servable| VersionEntry::Ready(Arc::new(servable))),
        )
    };
    versions.iter().map(entry).collect()
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
