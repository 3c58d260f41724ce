//! C, C++ and Zig: compiled and linked by Zig, which brings its own C and C++ libraries.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use super::{
    Built, component, run,
    tools::{MissingToolchain, file_name, named, on_path, python_with},
    versions,
};
use crate::project::{Language, Project, embedded};

/// Stack of a plugin. Zig would give it 16 MiB, all of it part of each instance's memory.
const STACK_BYTES: u32 = 1 << 20;

/// Sources of the SDK that C and C++ share.
const GLUE: &str = "plugins/sdk/c/nacre.c";
const TARGET: &str = "wasm32-wasi";

pub fn build(project: &Project, scratch: &Path, progress: &dyn Fn(&str)) -> Result<Built> {
    progress("looking for Zig");
    let zig = Zig::find(project, scratch)?;
    let sdk = project.folder.join(embedded::SDK);
    let bindings = scratch.join("bindings");
    component::bindings(&sdk.join("wit"), &bindings)?;
    let paths = Paths { sdk, bindings, scratch: scratch.to_owned(), module: scratch.join("module.wasm") };
    // Zig keeps a file that it could not overwrite in mind, but not one that was left from another build.
    let _ = fs::remove_file(&paths.module);
    match project.language {
        Language::Zig => link_zig(&zig, project, &paths, progress)?,
        _ => link_c(&zig, project, &paths, progress)?,
    }
    let module =
        fs::read(&paths.module).with_context(|| format!("cannot read {}", paths.module.display()))?;
    Ok(Built { component: component::encode(&module)?, toolchain: zig.version })
}

struct Paths {
    sdk: PathBuf,
    bindings: PathBuf,
    scratch: PathBuf,
    module: PathBuf,
}

impl Paths {
    fn include(&self, folder: &Path) -> String {
        format!("-I{}", folder.display())
    }

    fn includes(&self) -> [String; 3] {
        [&self.bindings, &self.sdk.join("plugins/sdk/c"), &self.sdk.join("plugins/sdk/cpp")]
            .map(|folder| self.include(folder))
    }

    fn type_section(&self) -> PathBuf {
        self.bindings.join("plugin_component_type.o")
    }
}

/// Each source to an object of its own (C and C++ take different options), then all of them to a module.
fn link_c(zig: &Zig, project: &Project, paths: &Paths, progress: &dyn Fn(&str)) -> Result<()> {
    let glue = [paths.sdk.join(GLUE), paths.bindings.join("plugin.c")];
    let own = project.sources.iter().map(|source| project.folder.join(source));
    let mut objects = Vec::new();
    for (index, source) in own.chain(glue).enumerate() {
        let is_own = index < project.sources.len();
        let is_c = source.extension().is_some_and(|extension| extension == "c");
        let object = paths.scratch.join(format!("{index}-{}.o", file_name(&source)));
        progress(&format!("compiling {}", file_name(&source)));
        let mut command = zig.command(if is_c { "cc" } else { "c++" }, &project.folder);
        command.args(["-target", TARGET, "-O3", "-msimd128", "-c"]).args(paths.includes());
        command.arg(if is_c { "-std=c17" } else { "-std=c++23" });
        if !is_c {
            command.args(["-fno-exceptions", "-fno-rtti"]);
        }
        if project.debug {
            command.arg("-g");
        }
        if is_own {
            command.args(["-Wall", "-Wextra"]).args(&project.flags);
        }
        run::shown(command.arg(&source).arg("-o").arg(&object), "the compiler")?;
        objects.push(object);
    }
    progress("linking");
    let mut command =
        zig.command(if project.language == Language::C { "cc" } else { "c++" }, &project.folder);
    command.args(["-target", TARGET, "-mexec-model=reactor", "-O3"]);
    command.arg(format!("-Wl,-z,stack-size={STACK_BYTES}"));
    if !project.debug {
        // Names of functions stay: the backtrace of a trap has them.
        command.arg("-Wl,--strip-debug");
    }
    run::shown(command.args(&objects).arg(paths.type_section()).arg("-o").arg(&paths.module), "the linker")
}

/// The project's source as a module `plugin`, which the SDK's main.zig makes the exports.
fn link_zig(zig: &Zig, project: &Project, paths: &Paths, progress: &dyn Fn(&str)) -> Result<()> {
    progress("translating the interface");
    let header = paths.sdk.join("plugins/sdk/c/nacre.h");
    let mut command = zig.command("translate-c", &project.folder);
    command.args(["-target", TARGET, "-lc"]).args(paths.includes()).arg(header);
    let translated = run::output_of(&mut command, "zig translate-c")?;
    let interface = paths.scratch.join("nacre_c.zig");
    embedded::write_if_changed(&interface, translated.as_bytes())?;

    let source = project.sources.first().map(|source| project.folder.join(source)).unwrap_or_default();
    let sdk = paths.sdk.join("plugins/sdk");
    progress(&format!("compiling {}", file_name(&source)));
    // Checks of bounds and overflows stay: a fault ends a request with a sentence instead of a wrong answer.
    let options = ["-target", TARGET, "-mcpu", "generic+simd128+bulk_memory", "-O", "safe"];
    let mut command = zig.command("build-exe", &project.folder);
    command.args(["-fno-entry", "-rdynamic", "-mexec-model=reactor", "-lc", "--name", "plugin"]);
    command.arg("--stack").arg(STACK_BYTES.to_string());
    command.arg(format!("-femit-bin={}", paths.module.display())).args(&project.flags);
    if !project.debug {
        command.arg("-fstrip");
    }
    command.arg(paths.type_section());
    command
        .args(["-cflags", "-std=c17", "-O3", "--"])
        .arg(sdk.join("c/nacre.c"))
        .arg(paths.bindings.join("plugin.c"));
    command.args(options).args(paths.includes()).args(["--dep", "nacre", "--dep", "plugin"]);
    command.arg(format!("-Mmain={}", sdk.join("zig/main.zig").display()));
    command.args(options).args(["--dep", "nacre"]).arg(format!("-Mplugin={}", source.display()));
    command
        .args(options)
        .args(["--dep", "nacre_c"])
        .arg(format!("-Mnacre={}", sdk.join("zig/nacre.zig").display()));
    command.args(options).arg(format!("-Mnacre_c={}", interface.display()));
    run::shown(&mut command, "zig")
}

/// A Zig that starts.
struct Zig {
    program: PathBuf,
    /// Arguments before Zig's own, for a Python that has it as a package.
    before: &'static [&'static str],
    version: String,
    cache: PathBuf,
}

impl Zig {
    fn find(project: &Project, scratch: &Path) -> Result<Self, MissingToolchain> {
        let package = |python| (python, &["-m", "ziglang"][..]);
        let found = named("NACRE_ZIG")
            .map(|zig| (zig, &[][..]))
            .or_else(|| python_with("ziglang", &project.folder).map(package))
            .or_else(|| on_path("zig").map(|zig| (zig, &[][..])));
        let missing = || {
            MissingToolchain(format!(
                "plugins in {} are compiled by Zig, which is not there: looked for NACRE_ZIG, for the Python package \
                 ziglang (NACRE_PYTHON, .venv in {} and in the folders above it, the active environment, python3) and \
                 for zig on the PATH. To install it beside the plugin (100 MB to download, 430 MB on disk):\n\n  cd {}\n  \
                 python3 -m venv .venv\n  .venv/bin/pip install ziglang=={}",
                project.language,
                project.folder.display(),
                project.folder.display(),
                versions::ZIGLANG
            ))
        };
        let (program, before) = found.ok_or_else(missing)?;
        let version =
            run::first_line(Command::new(&program).args(before).arg("version")).ok_or_else(missing)?;
        Ok(Self { program, before, version: format!("zig {version}"), cache: scratch.join("zig") })
    }

    fn command(&self, subcommand: &str, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.before).arg(subcommand).current_dir(folder);
        // Zig's own libraries are compiled once for all projects, in its global cache.
        command.env("ZIG_LOCAL_CACHE_DIR", &self.cache);
        command
    }
}
