use std::io::{self, Write};

use crate::{
    build::{self, BuildOptions, BuildReport},
    cli::BuildArgs,
    console::{BOLD, Console, Report, duration, paint, size},
    failure::Failure,
};

/// Builds a plugin from its sources.
///
/// # Errors
/// Toolchain: a compiler is missing. Plugin: it does not compile, or the folder is none of a plugin.
pub fn build(args: &BuildArgs, console: &Console) -> Result<BuildReport, Failure> {
    build::build(&args.path, &BuildOptions { progress: &|text| console.step(text) })
        .map_err(|error| Failure::of_build(&error))
}

impl Report for BuildReport {
    fn render(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "{} {}, {}, {} ({}){}",
            paint(BOLD, &self.name),
            self.component.display(),
            size(self.bytes),
            duration(self.seconds * 1e3),
            self.toolchain,
            if self.changed { "" } else { ", the same as before" }
        )
    }
}
