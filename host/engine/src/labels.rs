use std::{collections::BTreeMap, path::Path, sync::Arc};

use nacre_config::ModelConfig;

/// Labels by output; the first label is that of class 0.
pub(crate) type Labels = BTreeMap<String, Arc<[String]>>;

/// Reads the label files of a model's outputs: one label a line, the first for class 0.
///
/// Blocking. A file that cannot be read costs a warning and the labels of that output: the model works without.
pub(crate) fn read_labels(config: &ModelConfig, directory: &Path) -> Labels {
    let mut labels = Labels::new();
    for output in &config.outputs {
        let Some(filename) = &output.label_filename else { continue };
        match nacre_config::read_labels(&directory.join(filename)) {
            Ok(lines) => {
                labels.insert(output.spec.name.clone(), lines.into());
            }
            Err(error) => tracing::warn!(
                model = config.name,
                output = output.spec.name,
                %error,
                "classification results of this output have no labels"
            ),
        }
    }
    labels
}
