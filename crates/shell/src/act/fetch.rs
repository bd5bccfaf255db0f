//! Programs that fetch and send: `curl`, `wget` and their relatives.

use crate::answer::{Capability, Class};
use crate::call::Call;
use crate::mark;
use crate::stream::Stream;
use crate::touch::How;
use crate::walk::{Arg, Walker};

/// Files named by `@path` in data options, or whole in upload options.
const DATA: &[&str] = &[
    "-d",
    "--data",
    "--data-binary",
    "--data-raw",
    "--data-ascii",
    "--data-urlencode",
    "-F",
    "--form",
    "--json",
    "--post-file",
    "--body-file",
];

pub(crate) fn curl(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let here = asks_this_machine(walker, call);
    if !here {
        walker.report.can(Capability::Network);
    }
    let mut method = call.options.value("-X --request --method").unwrap_or_default().to_ascii_uppercase();
    for opt in &call.options.given {
        let value = opt.value.clone().unwrap_or_default();
        if DATA.contains(&opt.name.as_str()) {
            if method.is_empty() {
                "POST".clone_into(&mut method);
            }
            let path = value
                .split_once('@')
                .map(|(_, path)| path.split(';').next().unwrap_or_default().to_owned())
                .or_else(|| opt.name.ends_with("-file").then(|| value.clone()));
            if let Some(path) = path.filter(|path| {
                !path.contains([' ', '.']) || path.contains('/') || path.starts_with('.') || path.contains('.')
            }) {
                walker.read_file(&path, opt.span);
            }
        }
        match opt.name.as_str() {
            "-T" | "--upload-file" => {
                walker.read_file(&value, opt.span);
                "PUT".clone_into(&mut method);
            }
            "-u" | "--user" | "-H" | "--header" if value.contains(mark::SECRET) => {
                walker.report.can(Capability::Credentials)
            }
            "-n" | "--netrc" | "--key" | "--cert" => walker.report.can(Capability::Credentials),
            "-K" | "--config" => {
                walker.read_file(&value, opt.span);
            }
            _ => {}
        }
    }
    if here && matches!(method.as_str(), "POST" | "PUT" | "PATCH") {
        walker.report.raise(Class::Write, "SENDS", "sends data to a server of this machine", call.span);
    } else {
        method_class(walker, &method, call);
    }
    for operand in &call.options.operands {
        if let Some(path) = operand.text.strip_prefix("file://") {
            walker.read_file(path, operand.span);
        }
    }
    saved(walker, call)
}

/// Options with which a request only asks, and shows what it hears.
const ASKING: &str = "-s --silent -S --show-error -f --fail --fail-with-body -i --include -I --head -v --verbose -g \
    --globoff -N --no-buffer -4 --ipv4 -6 --ipv6 --compressed --http1.1 --http2 -m --max-time --connect-timeout --retry \
    --retry-delay --retry-max-time --retry-connrefused --retry-all-errors -X --request -H --header -A --user-agent -w \
    --write-out -o --output -k --insecure -q --disable -d --data --data-raw --data-binary --data-ascii --json";

/// Ports of this machine behind which containers, clusters and debuggers take orders.
const COMMANDING: &[&str] = &["2375", "2376", "6443", "8001", "9229", "10250", "10255"];

/// Variables with which a request goes elsewhere, or writes, although its words do not say so.
const ELSEWHERE: &[&str] =
    &["HOME", "CURL_HOME", "XDG_CONFIG_HOME", "SSLKEYLOGFILE", "LD_PRELOAD", "LD_LIBRARY_PATH", "PATH"];

/// Whether `curl` asks a server of this machine, by its own name, and does nothing else. What it hears is not trusted.
fn asks_this_machine(walker: &Walker<'_>, call: &Call<'_>) -> bool {
    let asks = |opt: &crate::call::Opt| {
        let value = opt.value.as_deref().unwrap_or_default();
        let fits = match opt.name.as_str() {
            "-X" | "--request" => matches!(value, "GET" | "HEAD" | "OPTIONS" | "POST" | "PUT" | "PATCH"),
            "-d" | "--data" | "--data-raw" | "--data-binary" | "--data-ascii" | "--json" => !value.starts_with('@'),
            "-o" | "--output" => matches!(value, "/dev/null" | "-"),
            "-H" | "--header" | "-A" | "--user-agent" => !value.starts_with('@'),
            "-w" | "--write-out" => !value.starts_with('@') && !value.contains("output"),
            _ => true,
        };
        fits && mark::is_literal(value) && ASKING.split_whitespace().any(|name| name == opt.name)
    };
    let plain = walker
        .state
        .variables
        .keys()
        .all(|name| !ELSEWHERE.contains(&name.as_str()) && !name.to_ascii_lowercase().ends_with("_proxy"));
    let operands = &call.options.operands;
    let sends = call.options.has("-d --data --data-raw --data-binary --data-ascii --json")
        || call.options.value("-X --request").is_some_and(|method| !matches!(method, "GET" | "HEAD" | "OPTIONS"));
    let commands = |address: &str| COMMANDING.iter().any(|port| address.contains(&format!(":{port}")));
    call.name == "curl"
        && plain
        && !(sends && operands.iter().any(|operand| commands(&operand.text)))
        && !operands.is_empty()
        && call.options.given.iter().all(asks)
        && operands.iter().all(is_this_machine)
}

/// An address of this machine, written plainly.
fn is_this_machine(operand: &Arg) -> bool {
    // Unquoted, `[::1]` is a wildcard that meets nothing and stays what it is.
    let bracket = format!("{}::1]", mark::BRACKET);
    let address = operand.text.replacen(&bracket, "[::1]", 1);
    let address = address.as_str();
    if operand.loose && address == operand.text {
        return false;
    }
    // A wildcard behind the host changes nothing of it.
    if mark::has_hole(address) || address.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return false;
    }
    let rest = match address.split_once("://") {
        Some(("http" | "https", rest)) => rest,
        Some(_) => return false,
        None => address,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| {
        authority.strip_prefix(host).is_some_and(|port| {
            port.is_empty()
                || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        })
    })
}

/// What the request asks the other side to do.
pub(crate) fn method_class(walker: &mut Walker<'_>, method: &str, call: &Call<'_>) {
    match method {
        "DELETE" | "PURGE" => {
            walker.report.raise(Class::Destructive, "LOSES", "asks another machine to delete something", call.span)
        }
        "POST" | "PUT" | "PATCH" => {
            walker.report.raise(Class::Write, "SENDS", "sends data to another machine", call.span)
        }
        _ => {}
    }
}

/// Where the answer goes: a file, or standard output.
fn saved(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let given = &call.options.given;
    let is_target = |opt: &&crate::call::Opt| {
        matches!(opt.name.as_str(), "-o" | "--output" | "--output-document")
            || (opt.name == "-O" && call.name != "curl")
            || (opt.name == "-d" && call.name == "xh")
    };
    let targets: Vec<&str> = given.iter().filter(is_target).filter_map(|opt| opt.value.as_deref()).collect();
    let own_name = (call.name == "curl" && call.options.has("-O --remote-name --remote-name-all -J"))
        || (!given.iter().any(|opt| is_target(&opt))
            && matches!(call.name, "wget" | "wget2" | "aria2c" | "axel" | "lftp")
            && !call.options.has("--spider -q0"));
    let folder = call.options.value("--output-dir").filter(|_| call.name.starts_with("curl"));
    for path in targets.iter().filter(|path| !matches!(**path, "-" | "/dev/stdout" | "")) {
        let path = folder.map_or_else(|| (*path).to_owned(), |folder| format!("{folder}/{path}"));
        walker.write_file(&path, How::Overwrite, call.span);
        let resolved = walker.resolve(&path);
        if !crate::zone::is_sink(&resolved) {
            walker.state.files.insert(resolved, Stream::Remote);
        }
    }
    match targets.first() {
        Some(&("-" | "/dev/stdout" | "")) => Stream::Remote,
        Some(_) => Stream::Absent,
        None if own_name => {
            let directory = call
                .options
                .value("-P --directory-prefix --output-dir -d --dir")
                .map(|directory| format!("{directory}/"))
                .unwrap_or_default();
            for operand in &call.options.operands {
                let name = operand
                    .text
                    .split(['?', '#'])
                    .next()
                    .unwrap_or_default()
                    .trim_end_matches('/')
                    .rsplit('/')
                    .next()
                    .unwrap_or_default();
                let path = format!("{directory}{name}");
                walker.write_file(&path, How::Overwrite, operand.span);
                let resolved = walker.resolve(&path);
                walker.state.files.insert(resolved, Stream::Remote);
            }
            Stream::Absent
        }
        None => Stream::Remote,
    }
}

/// `http`, `xh`: `METHOD url`.
pub(crate) fn httpie(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    walker.report.can(Capability::Network);
    let method = call
        .options
        .operands
        .first()
        .map(|operand| operand.text.clone())
        .filter(|text| text.chars().all(|c| c.is_ascii_uppercase()))
        .unwrap_or_default();
    method_class(walker, &method, call);
    saved(walker, call)
}

/// `nc`, `ncat`, `socat`: a pipe to another machine, maybe with a program at this end.
pub(crate) fn netcat(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    walker.report.can(Capability::Network);
    let program = call.options.find("-e -c --exec --sh-exec --lua-exec");
    if let Some(program) = program.filter(|opt| opt.value.is_some()) {
        walker.remote_code(format!("`{} {}` gives another machine a program", call.name, program.name), program.span);
        return Stream::Remote;
    }
    for operand in &call.options.operands {
        let upper = operand.text.to_ascii_uppercase();
        if upper.starts_with("EXEC:") || upper.starts_with("SYSTEM:") {
            walker
                .remote_code(format!("`{}` gives another machine a program", mark::shown(&operand.text)), operand.span);
        }
    }
    walker.report.raise(Class::Write, "SENDS", "opens a connection", call.span);
    Stream::Remote
}
