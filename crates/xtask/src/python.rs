//! The Python package: built into a wheel, installed where nothing else is, tested there, and put into agent frameworks.

pub mod environment;
mod frameworks;
mod interpreters;
mod pytest;

use crate::suite::tally::{Outcome, Tally};
use crate::{process, repository};
use anyhow::{Context, Result, bail, ensure};
use environment::Environment;
use interpreters::Interpreter;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the package lies.
const PACKAGE: &str = "crates/python";

/// What builds the wheel and checks its types, from PyPI.
const TOOLS: &[&str] =
    &["maturin==1.16.0", "mypy==2.4.1", "pyright[nodejs]==1.1.414", "pydantic>=2,<3", "types-PyYAML"];

/// What runs its tests.
const TESTING: &[&str] = &["pytest==9.2.0", "pydantic>=2,<3", "PyYAML"];

/// How a wheel is compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Profile {
    /// As everything else that the tests run.
    Dev,
    /// As it is given away.
    Dist,
}

/// `wheel [--out DIR] [--interpreter NAME]`: builds the wheel as it is given away; its path is the last line.
pub fn wheel(options: &[&str]) -> Result<bool> {
    let root = repository::root()?;
    let (mut out, mut profile, mut interpreter) = (None, Profile::Dist, Interpreter::usual());
    let mut words = options.iter();
    while let Some(word) = words.next() {
        match (*word, words.as_slice()) {
            ("--dev", _) => profile = Profile::Dev,
            ("--out", [folder, ..]) => out = Some(std::path::absolute(folder)?),
            ("--interpreter", [name, ..]) => interpreter = Interpreter::named(name)?,
            (other, _) => bail!("wheel takes --out DIR, --interpreter NAME and --dev, not `{other}`"),
        }
        if *word != "--dev" {
            words.next();
        }
    }
    let built = build(&root, profile, out.as_deref(), &interpreter)?;
    let mebibytes = std::fs::metadata(&built)?.len() >> 20;
    println!("{mebibytes} MiB");
    println!("{}", built.display());
    Ok(true)
}

/// `bench-python [--dev]`: the figures of the wheel as it is given away, where nothing else is installed.
pub fn bench(options: &[&str]) -> Result<bool> {
    let root = repository::root()?;
    let profile = match options {
        [] => Profile::Dist,
        ["--dev"] => Profile::Dev,
        [other, ..] => bail!("bench-python takes --dev, not `{other}`"),
    };
    let wheel = build(&root, profile, None, &Interpreter::usual())?;
    let environment = Environment::fresh(&root, &Interpreter::usual())?;
    environment.install(&[wheel.to_string_lossy().as_ref()])?;
    let mut command = Command::new(environment.python());
    command.arg("-P").arg(root.join(PACKAGE).join("bench.py")).arg("--wheel").arg(&wheel);
    process::succeeds(&mut command)
}

/// `frameworks [NAME…]`: drives the frameworks with a scripted model, each in an environment of its own.
pub fn frameworks(names: &[&str]) -> Result<bool> {
    let root = repository::root()?;
    let wheel = build(&root, Profile::Dev, None, &Interpreter::usual())?;
    let mut tally = Tally::default();
    frameworks::run(&root, &wheel, names, &mut tally)?;
    println!("\n{tally}");
    Ok(tally.is_clean())
}

/// The families of the test command: tests in fresh environments, types, and two frameworks.
pub fn test(root: &Path, tally: &mut Tally) {
    if environment::python().is_none() {
        println!("MISSING python: python3");
        tally.count("python", Outcome::Failed);
        tally.name_failure("python: this machine lacks python3".to_owned());
        return;
    }
    if let Err(error) = tested(root, tally) {
        println!("python: {error:#}");
        tally.count("python", Outcome::Failed);
        tally.name_failure(format!("python: {error:#}"));
    }
}

fn tested(root: &Path, tally: &mut Tally) -> Result<()> {
    let wheel = build(root, Profile::Dev, None, &Interpreter::usual())?;
    let (found, missing) = interpreters::of_this_machine();
    ensure!(!found.is_empty(), "none of {} is installed", missing.join(", "));
    for (index, interpreter) in found.iter().enumerate() {
        // What many processes do to one file is the same under every interpreter, and takes longest.
        let narrowed: &[&str] = if index == 0 { &[] } else { &["-k", "not processes"] };
        on_interpreter(root, interpreter, &wheel, narrowed, tally)?;
    }
    if !missing.is_empty() {
        println!("not on this machine: {}", missing.join(", "));
    }
    types(root, &wheel, tally)?;
    frameworks::run(root, &wheel, frameworks::TESTED, tally)
}

fn on_interpreter(
    root: &Path,
    interpreter: &Interpreter,
    wheel: &Path,
    narrowed: &[&str],
    tally: &mut Tally,
) -> Result<()> {
    let environment = Environment::fresh(root, interpreter)?;
    let own = match interpreter.has_global_lock() {
        true => wheel.to_path_buf(),
        false => build(root, Profile::Dev, None, interpreter)?,
    };
    environment.install(&[TESTING, &[own.to_string_lossy().as_ref()]].concat())?;
    let family = format!("python {}", interpreter.name);
    let tests = root.join(PACKAGE).join("tests");
    let words = [&["--ignore", "frameworks"], narrowed].concat();
    pytest::run(environment.python(), &tests, &words, &family, tally)
}

/// Whether the package is typed as it says: by two checkers, and its stubs by a look at the real thing.
fn types(root: &Path, wheel: &Path, tally: &mut Tally) -> Result<()> {
    let tools = tools()?;
    tools.install_again(wheel)?;
    let package = root.join(PACKAGE);
    let python = tools.python().to_string_lossy().into_owned();
    let checks: [(&str, Vec<&str>); 3] = [
        ("mypy", vec!["-m", "mypy", "--strict", "-p", "writkeeper"]),
        ("pyright", vec!["-m", "pyright", "--project", ".", "--pythonpath", &python]),
        ("stubtest", vec!["-m", "mypy.stubtest", "writkeeper._native"]),
    ];
    for (name, words) in checks {
        let passed = process::succeeds(Command::new(&python).args(words).current_dir(&package))?;
        tally.count("python types", if passed { Outcome::Passed } else { Outcome::Failed });
        if !passed {
            tally.name_failure(format!("python types {name}"));
        }
    }
    Ok(())
}

fn tools() -> Result<Environment> {
    Environment::cached("tools", "python3", TOOLS)
}

/// Builds the wheel: one for all interpreters with a global lock, one of its own for each without; where it is.
fn build(root: &Path, profile: Profile, out: Option<&Path>, interpreter: &Interpreter) -> Result<PathBuf> {
    ensure!(environment::python().is_some(), "missing: python3");
    let tools = tools()?;
    let name = match profile {
        Profile::Dev => "dev",
        Profile::Dist => "dist",
    };
    let out = match out {
        Some(folder) => folder.to_path_buf(),
        None if interpreter.has_global_lock() => process::target_folder(root)?.join("wheels").join(name),
        None => process::target_folder(root)?.join("wheels").join(format!("{name}-{}", interpreter.name)),
    };
    // An older wheel of another version must not be taken for this one.
    if out.is_dir() {
        for old in wheels(&out)? {
            std::fs::remove_file(&old).with_context(|| format!("removing `{}`", old.display()))?;
        }
    }
    let mut command = Command::new(tools.program("maturin"));
    command.current_dir(root.join(PACKAGE)).args(["build", "--quiet", "--profile", name, "--out"]).arg(&out);
    if let Some(version) = interpreter.version_without_lock() {
        let settings = format!("implementation=CPython\nversion={version}\nbuild_flags=Py_GIL_DISABLED\n");
        let file = out.join("interpreter.txt");
        std::fs::create_dir_all(&out).and_then(|()| std::fs::write(&file, settings)).context("writing settings")?;
        command.env("PYO3_CONFIG_FILE", &file).arg("--interpreter").arg(&interpreter.program);
    }
    ensure!(process::succeeds(&mut command)?, "the wheel does not build");
    wheels(&out)?.pop().context("no wheel was built")
}

fn wheels(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_ours = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("writkeeper-"));
        if is_ours && path.extension().is_some_and(|extension| extension == "whl") {
            found.push(path);
        }
    }
    Ok(found)
}
