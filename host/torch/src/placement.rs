use nacre_backend::Placement;
use nacre_config::{InstanceGroup, InstanceKind};
use nacre_domain::{Error, Result};

/// Where the instances of a model go, and what is to be said about it in the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placements {
    /// One entry an instance; never empty.
    pub places: Vec<Placement>,
    /// What was not done as asked.
    pub warnings: Vec<String>,
}

impl Placements {
    /// The places as instance groups, one a device, for the configuration calls.
    pub(crate) fn groups(&self) -> Vec<InstanceGroup> {
        let mut groups: Vec<InstanceGroup> = Vec::new();
        for place in &self.places {
            let gpus: Vec<u32> = place.gpu.into_iter().collect();
            match groups.iter_mut().find(|group| group.gpus == gpus) {
                Some(group) => group.count = group.count.map(|count| count + 1),
                None => {
                    let kind = if place.gpu.is_some() { InstanceKind::Gpu } else { InstanceKind::Cpu };
                    groups.push(InstanceGroup { kind, count: Some(1), gpus });
                }
            }
        }
        groups
    }
}

/// Reads the instance groups as Triton does: without any, one instance on each GPU, or one on the CPU where there is
/// none; a GPU group has its count on each of its GPUs.
///
/// # Errors
/// A GPU is asked for that is not there, unless `gpu_fallback_cpu` allows the CPU in its place.
pub(crate) fn place(groups: &[InstanceGroup], gpus: u32, gpu_fallback_cpu: bool) -> Result<Placements> {
    let standard = [InstanceGroup { kind: InstanceKind::Auto, count: None, gpus: Vec::new() }];
    let mut places: Vec<Placement> = Vec::new();
    let mut warnings = Vec::new();
    for group in if groups.is_empty() { &standard } else { groups } {
        let count = group.count.unwrap_or(1).max(1);
        let devices: Vec<Option<u32>> = match group.kind {
            InstanceKind::Cpu => vec![None],
            InstanceKind::Model => {
                warnings.push("KIND_MODEL is not supported; the model runs on the CPU".to_owned());
                vec![None]
            }
            InstanceKind::Auto if gpus == 0 && group.gpus.is_empty() => vec![None],
            InstanceKind::Auto | InstanceKind::Gpu => match on_gpus(group, gpus) {
                Ok(devices) => devices,
                Err(problem) if gpu_fallback_cpu => {
                    warnings.push(format!("{problem}; the model runs on the CPU (--gpu-fallback=cpu)"));
                    vec![None]
                }
                Err(problem) => {
                    return Err(Error::unsupported(format!(
                        "{problem}; use KIND_CPU or KIND_AUTO, or start the server with --gpu-fallback=cpu to serve \
                         it on the CPU"
                    )));
                }
            },
        };
        for gpu in devices {
            for _ in 0..count {
                let index = places.iter().filter(|place| place.gpu == gpu).count();
                let name = gpu.map_or_else(|| format!("cpu-{index}"), |gpu| format!("gpu-{gpu}-{index}"));
                places.push(Placement { name, gpu });
            }
        }
    }
    Ok(Placements { places, warnings })
}

/// The GPUs of a group.
fn on_gpus(group: &InstanceGroup, gpus: u32) -> Result<Vec<Option<u32>>, String> {
    if gpus == 0 {
        return Err("instance_group asks for a GPU, but libtorch finds none on this machine".to_owned());
    }
    if let Some(missing) = group.gpus.iter().find(|&&gpu| gpu >= gpus) {
        return Err(format!(
            "instance_group asks for GPU {missing}, but the last GPU of this machine is {}",
            gpus - 1
        ));
    }
    Ok(if group.gpus.is_empty() {
        (0..gpus).map(Some).collect()
    } else {
        group.gpus.iter().copied().map(Some).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(kind: InstanceKind, count: Option<u32>, gpus: &[u32]) -> InstanceGroup {
        InstanceGroup { kind, count, gpus: gpus.to_vec() }
    }

    fn names(placements: &Placements) -> Vec<&str> {
        placements.places.iter().map(|place| place.name.as_str()).collect()
    }

    #[test]
    fn without_groups_there_is_one_on_the_cpu_or_on_each_gpu() {
        assert_eq!(names(&place(&[], 0, false).unwrap()), ["cpu-0"]);
        assert_eq!(names(&place(&[], 2, false).unwrap()), ["gpu-0-0", "gpu-1-0"]);
    }

    #[test]
    fn groups_have_their_count_on_each_of_their_devices() {
        let groups = [
            group(InstanceKind::Gpu, Some(2), &[1]),
            group(InstanceKind::Cpu, Some(2), &[]),
            group(InstanceKind::Auto, None, &[]),
        ];
        let placements = place(&groups, 2, false).unwrap();
        assert_eq!(
            placements.groups(),
            [
                group(InstanceKind::Gpu, Some(3), &[1]),
                group(InstanceKind::Cpu, Some(2), &[]),
                group(InstanceKind::Gpu, Some(1), &[0]),
            ]
        );
        assert_eq!(names(&placements), ["gpu-1-0", "gpu-1-1", "cpu-0", "cpu-1", "gpu-0-0", "gpu-1-2"]);
        assert_eq!(placements.places[0].gpu, Some(1));
    }

    #[test]
    fn a_gpu_without_a_gpu_is_an_error_that_names_the_option() {
        let error = place(&[group(InstanceKind::Gpu, None, &[])], 0, false).unwrap_err();
        assert!(error.message().contains("finds none on this machine"), "{error}");
        assert!(error.message().contains("--gpu-fallback=cpu"), "{error}");
        let error = place(&[group(InstanceKind::Gpu, None, &[3])], 2, false).unwrap_err();
        assert!(error.message().contains("GPU 3, but the last GPU of this machine is 1"), "{error}");
    }

    #[test]
    fn the_option_serves_it_on_the_cpu_with_a_warning() {
        let placements = place(&[group(InstanceKind::Gpu, Some(2), &[0])], 0, true).unwrap();
        assert_eq!(names(&placements), ["cpu-0", "cpu-1"]);
        assert_eq!(placements.warnings.len(), 1);
    }
}
