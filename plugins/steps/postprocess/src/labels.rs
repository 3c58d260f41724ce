/// Names of classes: a text with one a line, the first for class 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    names: Vec<String>,
}

impl Labels {
    /// Reads the text of a label file. Lines may end as on Windows; blanks around a name and a line break at the end do
    /// not count, but an empty line in between is a class without a name.
    pub fn parse(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { names: text.lines().map(|line| line.trim().to_owned()).collect() }
    }

    /// How many classes have a name.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no class has one.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of a class, if it has one.
    pub fn get(&self, class: usize) -> Option<&str> {
        self.names.get(class).map(String::as_str)
    }
}
