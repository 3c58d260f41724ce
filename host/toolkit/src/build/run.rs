//! Runs a compiler so that its user sees what it says.

use std::{
    io::Read,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

/// Runs a command whose words go to standard error as they come.
///
/// # Errors
/// If it cannot be started or fails; `what` names it.
pub fn shown(command: &mut Command, what: &str) -> Result<()> {
    // Standard output is for the result of `--json`.
    let status = command
        .stdin(Stdio::null())
        .stdout(std::io::stderr())
        .status()
        .with_context(|| format!("{what} cannot be started ({})", command.get_program().display()))?;
    if !status.success() {
        bail!("{what} failed ({status}); see what it says above");
    }
    Ok(())
}

/// The same for one that has something to say even if all is well: its words are shown only if it fails.
///
/// # Errors
/// As [`shown`].
pub fn quiet(command: &mut Command, what: &str) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{what} cannot be started ({})", command.get_program().display()))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        bail!("{what} failed ({}):\n\n{}", output.status, String::from_utf8_lossy(&said).trim());
    }
    Ok(())
}

/// The standard output of a command whose standard error is shown as it comes.
///
/// # Errors
/// As [`shown`].
pub fn output_of(command: &mut Command, what: &str) -> Result<String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{what} cannot be started ({})", command.get_program().display()))?;
    let mut output = String::new();
    if let Some(stdout) = child.stdout.as_mut() {
        stdout.read_to_string(&mut output).with_context(|| format!("cannot read what {what} says"))?;
    }
    let status = child.wait().with_context(|| format!("cannot wait for {what}"))?;
    if !status.success() {
        bail!("{what} failed ({status}); see what it says above");
    }
    Ok(output)
}

/// The first line that a command says of itself, such as its version; none if it does not start or fails.
pub fn first_line(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}
