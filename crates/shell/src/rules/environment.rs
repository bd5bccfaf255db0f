//! Variables by which a program loads code, runs programs or writes files before it does what it is told.

/// What a program does with the value of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Loads what the value names, or obeys it.
    Loads,
    /// Runs the value.
    Runs,
    /// Runs the program that the value names, as builds do.
    Tool,
    /// Writes at the value or below it.
    Writes,
    /// Looks for programs in the folders of the value.
    Programs,
    /// Looks for modules and libraries in the folders of the value.
    Modules,
    /// Takes the value as options, of which only some do harm.
    Options(&'static [&'static str]),
    /// Takes the value as options, of which only these are known to do none.
    OnlyOptions(&'static [&'static str]),
    /// Takes settings of the user from the folder.
    Home,
}

/// Options of virtual machines that load or run something.
const JAVA: &[&str] = &["-javaagent", "-agent", "-Xrun", "-Xlog", "-Xbootclasspath", "-XX:On", "-XX:Flags", "@"];

/// Options of Node.js that load nothing, write nothing and reach nobody.
pub(crate) const HARMLESS_OF_NODE: &[&str] = &[
    "--max-old-space-size",
    "--max_old_space_size",
    "--max-semi-space-size",
    "--no-warnings",
    "--trace-warnings",
    "--trace-deprecation",
    "--no-deprecation",
    "--enable-source-maps",
    "--experimental-vm-modules",
    "--experimental-strip-types",
    "--unhandled-rejections",
    "--dns-result-order",
    "--openssl-legacy-provider",
    "--expose-gc",
    "--stack-trace-limit",
    "--inspect",
    "--inspect-brk",
];

/// Names, and what is done with them. A `*` at the end stands for anything.
pub(crate) const VARIABLES: &[(&str, Use)] = &[
    // The shell and the loader of programs.
    ("PATH", Use::Programs),
    ("BASH_ENV", Use::Loads),
    ("LD_PRELOAD", Use::Loads),
    ("LD_AUDIT", Use::Loads),
    ("LD_LIBRARY_PATH", Use::Modules),
    ("LD_DEBUG_OUTPUT", Use::Writes),
    ("LD_PROFILE_OUTPUT", Use::Writes),
    ("LD_BIND_NOW", Use::Options(&[])),
    ("LD_DEBUG", Use::Options(&[])),
    ("LD_PROFILE", Use::Options(&[])),
    ("LD_*", Use::Loads),
    ("DYLD_LIBRARY_PATH", Use::Modules),
    ("DYLD_*", Use::Loads),
    ("GCONV_PATH", Use::Loads),
    ("LOCPATH", Use::Loads),
    ("OPENSSL_CONF", Use::Loads),
    ("OPENSSL_ENGINES", Use::Loads),
    ("OPENSSL_MODULES", Use::Loads),
    ("HOME", Use::Home),
    ("XDG_CONFIG_HOME", Use::Home),
    ("ZDOTDIR", Use::Home),
    ("HISTFILE", Use::Writes),
    ("TMPDIR", Use::Writes),
    ("TMP", Use::Writes),
    ("TEMP", Use::Writes),
    ("MALLOC_TRACE", Use::Writes),
    ("INPUTRC", Use::Loads),
    // Pagers and editors.
    ("PAGER", Use::Runs),
    ("MANPAGER", Use::Runs),
    ("GIT_PAGER", Use::Runs),
    ("BAT_PAGER", Use::Runs),
    ("DELTA_PAGER", Use::Runs),
    ("SYSTEMD_PAGER", Use::Runs),
    ("AWS_PAGER", Use::Runs),
    ("PSQL_PAGER", Use::Runs),
    ("GH_PAGER", Use::Runs),
    ("EDITOR", Use::Runs),
    ("VISUAL", Use::Runs),
    ("FCEDIT", Use::Runs),
    ("GIT_EDITOR", Use::Runs),
    ("GIT_SEQUENCE_EDITOR", Use::Runs),
    ("GH_EDITOR", Use::Runs),
    ("PSQL_EDITOR", Use::Runs),
    ("SUDO_EDITOR", Use::Runs),
    ("BROWSER", Use::Runs),
    ("GH_BROWSER", Use::Runs),
    ("LESSOPEN", Use::Runs),
    ("LESSCLOSE", Use::Runs),
    ("LESSKEY*", Use::Loads),
    ("LESS", Use::Options(&["+", "-o", "-O", "--log", "--LOG", "-k", "--lesskey"])),
    ("MANOPT", Use::Options(&["-P", "--pager", "-H", "--html", "-C", "--config"])),
    ("VIMINIT", Use::Loads),
    ("EXINIT", Use::Loads),
    // Git.
    ("GIT_CONFIG_NOSYSTEM", Use::Options(&[])),
    ("GIT_CONFIG*", Use::Loads),
    ("GIT_EXEC_PATH", Use::Loads),
    ("GIT_TEMPLATE_DIR", Use::Loads),
    ("GIT_EXTERNAL_DIFF", Use::Runs),
    ("GIT_SSH", Use::Runs),
    ("GIT_SSH_COMMAND", Use::Runs),
    ("GIT_PROXY_COMMAND", Use::Runs),
    ("GIT_ASKPASS", Use::Runs),
    ("SSH_ASKPASS", Use::Runs),
    ("SUDO_ASKPASS", Use::Runs),
    ("GIT_ALLOW_PROTOCOL", Use::Loads),
    ("GIT_INDEX_FILE", Use::Writes),
    ("GIT_OBJECT_DIRECTORY", Use::Writes),
    ("GIT_COMMON_DIR", Use::Loads),
    ("GIT_TRACE*", Use::Writes),
    // Programs that take options, or run others to reach machines.
    ("RSYNC_RSH", Use::Runs),
    ("RSYNC_CONNECT_PROG", Use::Runs),
    ("CVS_RSH", Use::Runs),
    ("SVN_SSH", Use::Runs),
    ("TAR_OPTIONS", Use::Loads),
    ("RIPGREP_CONFIG_PATH", Use::Loads),
    ("FZF_DEFAULT_COMMAND", Use::Runs),
    ("FZF_DEFAULT_OPTS", Use::Options(&["--bind", "--preview", "execute", "become"])),
    ("PSQLRC", Use::Loads),
    ("SQLITE_HISTORY", Use::Writes),
    ("WGETRC", Use::Loads),
    // Languages.
    ("PERL5OPT", Use::Loads),
    ("PERL5DB", Use::Loads),
    ("PERL5LIB", Use::Modules),
    ("PERLLIB", Use::Modules),
    ("PYTHONSTARTUP", Use::Loads),
    ("PYTHONBREAKPOINT", Use::OnlyOptions(&["0", "pdb.set_trace", "ipdb.set_trace"])),
    ("PYTHONHOME", Use::Loads),
    ("PYTHONPATH", Use::Modules),
    ("PYTHONPYCACHEPREFIX", Use::Writes),
    ("PYTHONINSPECT", Use::Loads),
    ("COVERAGE_FILE", Use::Writes),
    ("NODE_OPTIONS", Use::OnlyOptions(HARMLESS_OF_NODE)),
    ("NODE_PATH", Use::Modules),
    ("NODE_REDIRECT_WARNINGS", Use::Writes),
    ("NODE_V8_COVERAGE", Use::Writes),
    ("NODE_COMPILE_CACHE", Use::Writes),
    ("NODE_REPL_HISTORY", Use::Writes),
    ("NODE_REPL_EXTERNAL_MODULE", Use::Loads),
    ("RUBYOPT", Use::OnlyOptions(&["-w", "-W", "-W0", "-W1", "-W2", "-W:no-deprecated", "--yjit"])),
    ("RUBYLIB", Use::Modules),
    ("LUA_INIT*", Use::Loads),
    ("LUA_PATH*", Use::Modules),
    ("LUA_CPATH*", Use::Modules),
    ("PHPRC", Use::Loads),
    ("PHP_INI_SCAN_DIR", Use::Loads),
    ("R_PROFILE*", Use::Loads),
    ("CLASSPATH", Use::Modules),
    ("JAVA_TOOL_OPTIONS", Use::Options(JAVA)),
    ("_JAVA_OPTIONS", Use::Options(JAVA)),
    ("JDK_JAVA_OPTIONS", Use::Options(JAVA)),
    ("MAVEN_OPTS", Use::Options(JAVA)),
    ("GRADLE_OPTS", Use::Options(JAVA)),
    ("GOFLAGS", Use::Options(&["-toolexec", "-exec", "--toolexec", "--exec", "-overlay", "-modfile"])),
    // Builds.
    ("GCC_EXEC_PREFIX", Use::Loads),
    ("COMPILER_PATH", Use::Loads),
    ("DEPENDENCIES_OUTPUT", Use::Writes),
    ("SUNPRO_DEPENDENCIES", Use::Writes),
    ("GCOV_PREFIX", Use::Writes),
    ("LLVM_PROFILE_FILE", Use::Writes),
    ("CC", Use::Tool),
    ("CXX", Use::Tool),
    ("CPP", Use::Tool),
    ("LD", Use::Tool),
    ("AR", Use::Tool),
    ("AS", Use::Tool),
    ("FC", Use::Tool),
    ("RUSTC", Use::Tool),
    ("RUSTDOC", Use::Tool),
    ("RUSTC_WRAPPER", Use::Tool),
    ("RUSTC_WORKSPACE_WRAPPER", Use::Tool),
    ("CARGO_BUILD_RUSTC*", Use::Tool),
    ("RUSTFLAGS", Use::Options(&["linker"])),
    ("npm_config_script_shell", Use::Runs),
    ("npm_config_node_options", Use::OnlyOptions(HARMLESS_OF_NODE)),
    ("NPM_CONFIG_SCRIPT_SHELL", Use::Runs),
    ("NPM_CONFIG_NODE_OPTIONS", Use::OnlyOptions(HARMLESS_OF_NODE)),
];

/// Programs that only show text or open a file for a person.
pub(crate) const HARMLESS: &[&str] = &[
    "",
    "cat",
    "less",
    "more",
    "most",
    "true",
    "false",
    ":",
    "delta",
    "bat",
    "vi",
    "vim",
    "nvim",
    "nano",
    "emacs",
    "code",
    "echo",
    "head",
    "bat -p",
    "less -R",
    "less -F",
    "less -FRX",
    "less -RFX",
    "code --wait",
    "diff-so-fancy",
    "0",
    "ssh",
];

/// What is done with a variable.
pub(crate) fn of(name: &str) -> Option<Use> {
    let fits = |known: &str| known.strip_suffix('*').map_or(known == name, |start| name.starts_with(start));
    VARIABLES.iter().find(|(known, _)| fits(known)).map(|(_, used)| *used).or_else(|| cargo(name))
}

/// `CARGO_TARGET_…_RUNNER` and its relatives have the name of the machine in the middle.
fn cargo(name: &str) -> Option<Use> {
    let per_target = name.starts_with("CARGO_TARGET_") && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"));
    per_target.then_some(Use::Tool)
}
