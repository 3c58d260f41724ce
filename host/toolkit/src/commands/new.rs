use std::io::{self, Write};

use clap::ValueEnum;

use crate::{
    cli::NewArgs,
    console::{BOLD, Console, DIM, Report, paint},
    failure::Failure,
    project::{self, Language, NewOptions, NewReport},
};

/// Makes the folder of a new plugin; asks for what the command line leaves out, if a person is there to answer.
///
/// # Errors
/// Usage: something is not given and nobody can be asked, or the folder cannot be.
pub fn new(args: &NewArgs, console: &Console) -> Result<NewReport, Failure> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => ask_name(console)?,
    };
    let language = match args.language {
        Some(language) => language,
        None => ask_language(console)?,
    };
    project::new(&NewOptions { name, language, parent: args.parent.clone() })
        .map_err(|error| Failure::usage(format!("{error:#}")))
}

fn ask_name(console: &Console) -> Result<String, Failure> {
    let answer = console.ask("Name of the plugin, which is also that of its folder and its model:");
    answer.filter(|name| !name.is_empty()).ok_or_else(|| {
        Failure::usage("a new plugin needs a name").fix("nacre plugin new NAME --language LANGUAGE")
    })
}

fn ask_language(console: &Console) -> Result<Language, Failure> {
    let help = |language: Language| {
        let value = language.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    };
    for (number, language) in (1..).zip(Language::ALL) {
        console.note(&format!("  {number}  {language:<11} {}", paint(DIM, help(language))));
    }
    let names = Language::ALL.map(Language::name).join(", ");
    let answer = console.ask("Language, by number or name:").ok_or_else(|| {
        Failure::usage("a new plugin needs a language").fix(format!("--language with one of {names}"))
    })?;
    let by_number = answer.parse().ok().and_then(|n: usize| Language::ALL.get(n.checked_sub(1)?).copied());
    by_number.or_else(|| Language::from_str(&answer, true).ok()).ok_or_else(|| {
        Failure::usage(format!("'{answer}' is none of the languages")).fix(format!("choose one of {names}"))
    })
}

impl Report for NewReport {
    fn render(&self, out: &mut dyn Write) -> io::Result<()> {
        let folder = self.folder.display();
        writeln!(out, "{} is a plugin in {}:", paint(BOLD, &self.name), self.language)?;
        for file in &self.files {
            writeln!(out, "  {folder}/{}", file.display())?;
        }
        writeln!(out, "\nNext:")?;
        for command in &self.next {
            writeln!(out, "  {command}")?;
        }
        Ok(())
    }
}
