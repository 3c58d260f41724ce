use std::collections::{BTreeMap, BTreeSet};

/// Brings models into an order in which each comes after those that it needs. `needs` has, for each model that needs
/// others (an ensemble its steps, a plugin the models that it calls), their names; those that need none are passed over.
///
/// Gives the order and, by name, what is wrong with those that need themselves.
pub(crate) fn in_order(needs: &BTreeMap<String, Vec<String>>) -> (Vec<String>, BTreeMap<String, String>) {
    let mut order = Vec::new();
    let mut cyclic = BTreeMap::new();
    let mut waiting: BTreeSet<&str> = needs.keys().map(String::as_str).collect();
    while !waiting.is_empty() {
        let blocker = |name: &str| {
            let models = needs.get(name).into_iter().flatten();
            models.map(String::as_str).find(|model| waiting.contains(model))
        };
        let ready: Vec<&str> = waiting.iter().copied().filter(|name| blocker(name).is_none()).collect();
        if ready.is_empty() {
            let cycle = find_cycle(&waiting, blocker);
            for name in &cycle {
                waiting.remove(name);
                cyclic.insert((*name).to_owned(), describe(name, &cycle));
            }
        }
        for name in ready {
            waiting.remove(name);
            order.push(name.to_owned());
        }
    }
    (order, cyclic)
}

/// Follows the blockers until one comes twice. Each of the waiting has a blocker.
fn find_cycle<'a>(waiting: &BTreeSet<&'a str>, blocker: impl Fn(&str) -> Option<&'a str>) -> Vec<&'a str> {
    let mut path: Vec<&str> = Vec::new();
    let mut next = waiting.first().copied();
    while let Some(name) = next {
        if let Some(start) = path.iter().position(|seen| *seen == name) {
            return path.split_off(start);
        }
        path.push(name);
        next = blocker(name);
    }
    path
}

/// The cycle as seen from one of its members.
fn describe(name: &str, cycle: &[&str]) -> String {
    let start = cycle.iter().position(|member| *member == name).unwrap_or_default();
    let around = cycle.iter().cycle().skip(start).take(cycle.len().saturating_add(1));
    format!(
        "it depends on itself: {}",
        around.map(|member| format!("'{member}'")).collect::<Vec<_>>().join(" → ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        edges
            .iter()
            .map(|(name, models)| ((*name).into(), models.iter().map(|m| (*m).into()).collect()))
            .collect()
    }

    #[test]
    fn steps_come_first() {
        let (order, cyclic) =
            in_order(&graph(&[("a", &["b", "model"]), ("b", &["c", "c"]), ("c", &["model"])]));
        assert_eq!(order, ["c", "b", "a"]);
        assert!(cyclic.is_empty());
    }

    #[test]
    fn a_cycle_is_described_and_spares_the_others() {
        let (order, cyclic) = in_order(&graph(&[
            ("a", &["b"]),
            ("b", &["c"]),
            ("c", &["b"]),
            ("d", &["d"]),
            ("e", &["model"]),
        ]));
        assert_eq!(order, ["e", "a"]);
        assert_eq!(cyclic.len(), 3);
        assert_eq!(cyclic["b"], "it depends on itself: 'b' → 'c' → 'b'");
        assert_eq!(cyclic["c"], "it depends on itself: 'c' → 'b' → 'c'");
        assert_eq!(cyclic["d"], "it depends on itself: 'd' → 'd'");
    }
}
