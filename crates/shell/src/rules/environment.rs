//! Variables by which a program loads code, runs programs, writes files or talks to others before it does what it is told.

use crate::mark;

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
    /// Loads it where a person types into the shell.
    Starts,
    /// Runs it before each prompt.
    Prompts,
    /// Finds by it other machines, or whom to trust.
    Reaches,
}

/// Whether the value says by which way and with whom a program talks, or what it loads before it does. A program that may
/// use the network unasked may not do so on such terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Talks {
    No,
    Always,
    /// Where its options are not all known to be harmless.
    AsUsed,
    /// Where one of these is part of it.
    With(&'static [&'static str]),
}

/// One variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    name: &'static str,
    used: Use,
    talks: Talks,
}

const fn quiet(name: &'static str, used: Use) -> Row {
    Row { name, used, talks: Talks::No }
}

const fn says(name: &'static str, used: Use) -> Row {
    Row { name, used, talks: Talks::Always }
}

const fn as_used(name: &'static str, used: Use) -> Row {
    Row { name, used, talks: Talks::AsUsed }
}

const fn with(name: &'static str, used: Use, parts: &'static [&'static str]) -> Row {
    Row { name, used, talks: Talks::With(parts) }
}

/// Settings of virtual machines by which their programs reach others.
const JAVA_REACHES: &[&str] = &["proxy", "Proxy", "trustStore", "trust_all", "-javaagent", "-agent"];

/// Options of virtual machines that load or run something.
const JAVA: &[&str] = &["-javaagent", "-agent", "-Xrun", "-Xlog", "-Xbootclasspath", "-XX:On", "-XX:Flags", "@"];

/// Options of Node.js that load nothing, write nothing and reach nobody.
const HARMLESS_OF_NODE: &[&str] = &[
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

/// Names, and what is done with them. A `*` at the end stands for anything; of several rows that fit the first counts.
pub(crate) const VARIABLES: &[Row] = &[
    // The shell and the loader of programs.
    quiet("PATH", Use::Programs),
    says("BASH_ENV", Use::Loads),
    says("LD_PRELOAD", Use::Loads),
    says("LD_AUDIT", Use::Loads),
    quiet("LD_LIBRARY_PATH", Use::Modules),
    quiet("LD_DEBUG_OUTPUT", Use::Writes),
    quiet("LD_PROFILE_OUTPUT", Use::Writes),
    quiet("LD_BIND_NOW", Use::Options(&[])),
    quiet("LD_DEBUG", Use::Options(&[])),
    quiet("LD_PROFILE", Use::Options(&[])),
    quiet("LD_*", Use::Loads),
    quiet("DYLD_LIBRARY_PATH", Use::Modules),
    says("DYLD_INSERT_LIBRARIES", Use::Loads),
    quiet("DYLD_*", Use::Loads),
    quiet("GCONV_PATH", Use::Loads),
    quiet("LOCPATH", Use::Loads),
    quiet("OPENSSL_CONF", Use::Loads),
    quiet("OPENSSL_ENGINES", Use::Loads),
    quiet("OPENSSL_MODULES", Use::Loads),
    quiet("HOME", Use::Home),
    quiet("XDG_CONFIG_HOME", Use::Home),
    quiet("ZDOTDIR", Use::Home),
    quiet("HISTFILE", Use::Writes),
    quiet("TMPDIR", Use::Writes),
    quiet("TMP", Use::Writes),
    quiet("TEMP", Use::Writes),
    quiet("MALLOC_TRACE", Use::Writes),
    quiet("INPUTRC", Use::Loads),
    says("ENV", Use::Starts),
    quiet("PROMPT_COMMAND", Use::Prompts),
    // Pagers and editors.
    quiet("PAGER", Use::Runs),
    quiet("MANPAGER", Use::Runs),
    quiet("GIT_PAGER", Use::Runs),
    quiet("BAT_PAGER", Use::Runs),
    quiet("DELTA_PAGER", Use::Runs),
    quiet("SYSTEMD_PAGER", Use::Runs),
    quiet("AWS_PAGER", Use::Runs),
    quiet("PSQL_PAGER", Use::Runs),
    quiet("GH_PAGER", Use::Runs),
    quiet("EDITOR", Use::Runs),
    quiet("VISUAL", Use::Runs),
    quiet("FCEDIT", Use::Runs),
    quiet("GIT_EDITOR", Use::Runs),
    quiet("GIT_SEQUENCE_EDITOR", Use::Runs),
    quiet("GH_EDITOR", Use::Runs),
    quiet("PSQL_EDITOR", Use::Runs),
    quiet("SUDO_EDITOR", Use::Runs),
    quiet("BROWSER", Use::Runs),
    quiet("GH_BROWSER", Use::Runs),
    quiet("LESSOPEN", Use::Runs),
    quiet("LESSCLOSE", Use::Runs),
    quiet("LESSKEY*", Use::Loads),
    quiet("LESS", Use::Options(&["+", "-o", "-O", "--log", "--LOG", "-k", "--lesskey"])),
    quiet("MANOPT", Use::Options(&["-P", "--pager", "-H", "--html", "-C", "--config"])),
    quiet("VIMINIT", Use::Loads),
    quiet("EXINIT", Use::Loads),
    // Git.
    says("GIT_CONFIG_NOSYSTEM", Use::Options(&[])),
    says("GIT_CONFIG*", Use::Loads),
    says("GIT_EXEC_PATH", Use::Loads),
    says("GIT_TEMPLATE_DIR", Use::Loads),
    says("GIT_EXTERNAL_DIFF", Use::Runs),
    says("GIT_SSH", Use::Runs),
    says("GIT_SSH_COMMAND", Use::Runs),
    says("GIT_PROXY_COMMAND", Use::Runs),
    says("GIT_ASKPASS", Use::Runs),
    says("SSH_ASKPASS", Use::Runs),
    quiet("SUDO_ASKPASS", Use::Runs),
    quiet("GIT_ALLOW_PROTOCOL", Use::Loads),
    quiet("GIT_INDEX_FILE", Use::Writes),
    quiet("GIT_OBJECT_DIRECTORY", Use::Writes),
    quiet("GIT_COMMON_DIR", Use::Loads),
    quiet("GIT_TRACE*", Use::Writes),
    // Programs that take options, or run others to reach machines.
    quiet("RSYNC_RSH", Use::Runs),
    quiet("RSYNC_CONNECT_PROG", Use::Runs),
    quiet("CVS_RSH", Use::Runs),
    quiet("SVN_SSH", Use::Runs),
    quiet("TAR_OPTIONS", Use::Loads),
    quiet("RIPGREP_CONFIG_PATH", Use::Loads),
    quiet("FZF_DEFAULT_COMMAND", Use::Runs),
    quiet("FZF_DEFAULT_OPTS", Use::Options(&["--bind", "--preview", "execute", "become"])),
    quiet("PSQLRC", Use::Loads),
    quiet("SQLITE_HISTORY", Use::Writes),
    quiet("WGETRC", Use::Loads),
    // Languages.
    says("PERL5OPT", Use::Loads),
    quiet("PERL5DB", Use::Loads),
    quiet("PERL5LIB", Use::Modules),
    quiet("PERLLIB", Use::Modules),
    says("PYTHONSTARTUP", Use::Loads),
    quiet("PYTHONBREAKPOINT", Use::OnlyOptions(&["0", "pdb.set_trace", "ipdb.set_trace"])),
    quiet("PYTHONHOME", Use::Loads),
    quiet("PYTHONPATH", Use::Modules),
    quiet("PYTHONPYCACHEPREFIX", Use::Writes),
    quiet("PYTHONINSPECT", Use::Loads),
    quiet("COVERAGE_FILE", Use::Writes),
    as_used("NODE_OPTIONS", Use::OnlyOptions(HARMLESS_OF_NODE)),
    quiet("NODE_PATH", Use::Modules),
    quiet("NODE_REDIRECT_WARNINGS", Use::Writes),
    quiet("NODE_V8_COVERAGE", Use::Writes),
    quiet("NODE_COMPILE_CACHE", Use::Writes),
    quiet("NODE_REPL_HISTORY", Use::Writes),
    quiet("NODE_REPL_EXTERNAL_MODULE", Use::Loads),
    as_used("RUBYOPT", Use::OnlyOptions(&["-w", "-W", "-W0", "-W1", "-W2", "-W:no-deprecated", "--yjit"])),
    quiet("RUBYLIB", Use::Modules),
    quiet("LUA_INIT*", Use::Loads),
    quiet("LUA_PATH*", Use::Modules),
    quiet("LUA_CPATH*", Use::Modules),
    quiet("PHPRC", Use::Loads),
    quiet("PHP_INI_SCAN_DIR", Use::Loads),
    quiet("R_PROFILE*", Use::Loads),
    quiet("CLASSPATH", Use::Modules),
    says("JAVA_TOOL_OPTIONS", Use::Options(JAVA)),
    with("_JAVA_OPTIONS", Use::Options(JAVA), JAVA_REACHES),
    with("JDK_JAVA_OPTIONS", Use::Options(JAVA), JAVA_REACHES),
    with("MAVEN_OPTS", Use::Options(JAVA), JAVA_REACHES),
    with("GRADLE_OPTS", Use::Options(JAVA), JAVA_REACHES),
    quiet("GOFLAGS", Use::Options(&["-toolexec", "-exec", "--toolexec", "--exec", "-overlay", "-modfile"])),
    // Builds.
    quiet("GCC_EXEC_PREFIX", Use::Loads),
    quiet("COMPILER_PATH", Use::Loads),
    quiet("DEPENDENCIES_OUTPUT", Use::Writes),
    quiet("SUNPRO_DEPENDENCIES", Use::Writes),
    quiet("GCOV_PREFIX", Use::Writes),
    quiet("LLVM_PROFILE_FILE", Use::Writes),
    quiet("CC", Use::Tool),
    quiet("CXX", Use::Tool),
    quiet("CPP", Use::Tool),
    quiet("LD", Use::Tool),
    quiet("AR", Use::Tool),
    quiet("AS", Use::Tool),
    quiet("FC", Use::Tool),
    quiet("RUSTC", Use::Tool),
    quiet("RUSTDOC", Use::Tool),
    quiet("RUSTC_WRAPPER", Use::Tool),
    quiet("RUSTC_WORKSPACE_WRAPPER", Use::Tool),
    quiet("CARGO_BUILD_RUSTC*", Use::Tool),
    quiet("CARGO_BUILD_RUSTDOC", Use::Tool),
    quiet("RUSTFLAGS", Use::Options(&["linker"])),
    says("npm_config_script_shell", Use::Runs),
    says("npm_config_node_options", Use::OnlyOptions(HARMLESS_OF_NODE)),
    says("NPM_CONFIG_SCRIPT_SHELL", Use::Runs),
    says("NPM_CONFIG_NODE_OPTIONS", Use::OnlyOptions(HARMLESS_OF_NODE)),
    // With whom programs talk, and whom they trust.
    says("HTTP_PROXY", Use::Reaches),
    says("HTTPS_PROXY", Use::Reaches),
    says("ALL_PROXY", Use::Reaches),
    says("FTP_PROXY", Use::Reaches),
    says("SSL_CERT_*", Use::Reaches),
    says("CURL_CA_BUNDLE", Use::Reaches),
    says("REQUESTS_CA_BUNDLE", Use::Reaches),
    says("GIT_SSL_*", Use::Reaches),
    says("GOPROXY", Use::Reaches),
    says("GOSUMDB", Use::Reaches),
    says("GONOSUMDB", Use::Reaches),
    says("GONOSUMCHECK", Use::Reaches),
    says("GOINSECURE", Use::Reaches),
    says("PIP_INDEX_URL", Use::Reaches),
    says("PIP_EXTRA_INDEX_URL", Use::Reaches),
    says("PIP_FIND_LINKS", Use::Reaches),
    says("PIP_TRUSTED_HOST", Use::Reaches),
    says("PIP_PROXY", Use::Reaches),
    says("PIP_CONFIG_FILE", Use::Reaches),
    says("UV_INDEX*", Use::Reaches),
    says("UV_EXTRA_INDEX*", Use::Reaches),
    says("UV_DEFAULT_INDEX*", Use::Reaches),
    says("UV_FIND_LINKS", Use::Reaches),
    says("UV_INSECURE_HOST", Use::Reaches),
    says("UV_CONFIG_FILE", Use::Reaches),
    says("NPM_CONFIG_*", Use::Reaches),
    says("YARN_REGISTRY*", Use::Reaches),
    says("YARN_NPM_REGISTRY*", Use::Reaches),
    says("BUN_CONFIG_REGISTRY", Use::Reaches),
    says("COREPACK_NPM_REGISTRY", Use::Reaches),
    says("NODE_EXTRA_CA_CERTS", Use::Reaches),
    says("NODE_TLS_REJECT_UNAUTHORIZED", Use::Reaches),
    says("CARGO_REGISTR*", Use::Reaches),
    says("CARGO_SOURCE*", Use::Reaches),
    says("CARGO_HTTP_PROXY*", Use::Reaches),
    says("CARGO_HTTP_CAINFO", Use::Reaches),
    says("RUSTUP_DIST_SERVER", Use::Reaches),
    says("RUSTUP_UPDATE_ROOT", Use::Reaches),
    says("GEM_SOURCE", Use::Reaches),
    says("BUNDLE_MIRROR*", Use::Reaches),
    says("DOCKER_HOST", Use::Reaches),
    says("GH_HOST", Use::Reaches),
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
    let row = VARIABLES.iter().find(|row| fits(row.name, name));
    row.map(|row| row.used).or_else(|| cargo(name))
}

/// Whether a value says with whom programs talk. Some of these names are read in either case.
pub(crate) fn steers(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let Some(row) = VARIABLES.iter().find(|row| fits(row.name, name) || fits(row.name, &upper)) else { return false };
    match row.talks {
        Talks::No => false,
        Talks::Always => true,
        Talks::AsUsed => has_unknown_option(row.used, value),
        Talks::With(parts) => !mark::is_literal(value) || parts.iter().any(|part| value.contains(part)),
    }
}

/// Whether options are given that are not known to be harmless.
pub(crate) fn has_unknown_option(used: Use, value: &str) -> bool {
    let Use::OnlyOptions(harmless) = used else { return false };
    let is_known = |word: &str| harmless.contains(&word.split('=').next().unwrap_or_default());
    value.split_whitespace().any(|word| !is_known(word) || !mark::is_literal(word))
}

fn fits(known: &str, name: &str) -> bool {
    known.strip_suffix('*').map_or(known == name, |start| name.starts_with(start))
}

/// `CARGO_TARGET_…_RUNNER` and its relatives have the name of the machine in the middle.
fn cargo(name: &str) -> Option<Use> {
    let per_target = name.starts_with("CARGO_TARGET_") && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"));
    per_target.then_some(Use::Tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_not_hidden_by_one_before_it() {
        for (at, row) in VARIABLES.iter().enumerate() {
            let hidden = VARIABLES.iter().take(at).any(|earlier| fits(earlier.name, row.name));
            assert!(!hidden, "{}", row.name);
        }
    }

    #[test]
    fn variables_that_say_with_whom() {
        for (name, value) in [
            ("HTTPS_PROXY", "http://x"),
            ("https_proxy", "http://x"),
            ("npm_config_registry", "http://x"),
            ("NPM_CONFIG_REGISTRY", "http://x"),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_SSL_CAINFO", "x"),
            ("NODE_OPTIONS", "--require ./x.js"),
            ("RUBYOPT", "-rx"),
            ("MAVEN_OPTS", "-Dhttps.proxyHost=x"),
            ("SSL_CERT_DIR", "x"),
            ("PIP_CONFIG_FILE", "x"),
            ("GH_HOST", "evil.example"),
        ] {
            assert!(steers(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("NODE_OPTIONS", "--max-old-space-size=4096"),
            ("RUBYOPT", "-W0"),
            ("MAVEN_OPTS", "-Xmx2g"),
            ("PATH", "/x"),
            ("NODE_ENV", "test"),
            ("UV_CACHE_DIR", "x"),
        ] {
            assert!(!steers(name, value), "{name}={value}");
        }
    }
}
