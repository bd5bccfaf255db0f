//! The machine itself: services, schedules, processes, mounts.

use crate::answer::{Capability, Class};
use crate::call::Call;
use crate::mark;
use crate::stream::Stream;
use crate::walk::Walker;

/// Services without which nobody reaches the machine or watches it.
const VITAL_SERVICES: &[&str] = &[
    "sshd",
    "ssh",
    "network",
    "networking",
    "networkmanager",
    "systemd-networkd",
    "systemd-resolved",
    "dbus",
    "systemd-journald",
    "systemd-logind",
];

/// Services that guard the machine.
const GUARDS: &[&str] = &[
    "auditd",
    "ufw",
    "firewalld",
    "iptables",
    "apparmor",
    "fail2ban",
    "falcon-sensor",
    "osqueryd",
    "writkeeper",
    "clamav-daemon",
    "syslog",
    "rsyslog",
    "pf",
    "mdatp",
];

pub(crate) fn systemctl(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let texts = call.options.texts();
    let (verb, units) = match (call.name, texts.as_slice()) {
        ("service", [unit, verb, ..]) => (*verb, vec![*unit]),
        (_, [verb, units @ ..]) => (*verb, units.to_vec()),
        (_, []) => return Stream::Opaque,
    };
    match verb {
        "poweroff" | "reboot" | "halt" | "kexec" | "emergency" | "rescue" | "soft-reboot" | "exit"
            if call.name == "systemctl" =>
        {
            walker.report.raise(Class::Catastrophic, "POWER", format!("`{verb}` stops the machine"), call.span)
        }
        "isolate" => {
            walker.report.raise(Class::Catastrophic, "POWER", "switches the machine to another target", call.span)
        }
        "stop" | "disable" | "mask" | "kill" => {
            for unit in &units {
                stopped(walker, verb, unit, call);
            }
        }
        "enable" | "link" | "edit" | "preset" | "set-default" | "add-wants" => walker.report.can_because(
            Capability::Persistence,
            format!("`{verb}` makes a unit start by itself"),
            call.span,
        ),
        _ => {}
    }
    let asks = matches!(
        verb,
        "status"
            | "show"
            | "cat"
            | "is-active"
            | "is-enabled"
            | "is-failed"
            | "list-units"
            | "list-unit-files"
            | "list-timers"
            | "list-sockets"
            | "list-dependencies"
            | "list-jobs"
            | "get-default"
            | "help"
            | "--status-all"
            | "list-machines"
    );
    if !asks {
        walker.report.raise(Class::Write, "SERVICE", format!("`{verb}` changes a service"), call.span);
        if !call.options.has("--user") {
            walker.report.can(Capability::Privilege);
        }
    }
    Stream::Opaque
}

/// A unit is stopped: some are how people reach the machine, some guard it.
fn stopped(walker: &mut Walker<'_>, verb: &str, unit: &str, call: &Call<'_>) {
    let stem = unit.trim_end_matches(".service").trim_end_matches(".socket").to_ascii_lowercase();
    if VITAL_SERVICES.contains(&stem.as_str()) {
        let lasting = verb != "stop" || call.options.has("--now");
        let class = if lasting { Class::Catastrophic } else { Class::Destructive };
        walker.report.raise(class, "SERVICE", format!("`{unit}` is how people reach the machine"), call.span);
    } else if GUARDS.contains(&stem.as_str()) {
        let sentence = format!("`{unit}` guards the machine");
        walker.report.can_because(Capability::GuardTampering, sentence.clone(), call.span);
        walker.report.raise(Class::Destructive, "SERVICE", sentence, call.span);
    }
}

pub(crate) fn crontab(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if call.options.has("-r") {
        walker.report.raise(Class::Catastrophic, "SCHEDULE", "removes every scheduled job of the user", call.span);
    } else if !call.options.has("-l") {
        walker.report.raise(Class::Write, "SCHEDULE", "changes scheduled jobs", call.span);
        walker.report.can_because(Capability::Persistence, "scheduled jobs run later", call.span);
        let content = match call.options.operands.first() {
            Some(file) if file.text != "-" => walker.read_file(&file.text, file.span),
            Some(_) | None => call.stdin.clone(),
        };
        if let Stream::Text(text) = content {
            for line in text.lines().filter(|line| !line.trim_start().starts_with('#')).take(32) {
                let fields = if line.trim_start().starts_with('@') { 1 } else { 5 };
                let command: Vec<&str> = line.split_whitespace().skip(fields).collect();
                walker.inner(&command.join(" "), Stream::Absent, call.span);
            }
        }
    }
    Stream::Opaque
}

/// `at`, `batch`: the input is a text that runs later.
pub(crate) fn at(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if call.options.has("-l -c -q -V") || call.name == "atq" {
        return Stream::Opaque;
    }
    walker.report.can_because(Capability::Persistence, "the job runs later", call.span);
    walker.report.raise(Class::Write, "SCHEDULE", "schedules a job", call.span);
    let content = match call.options.value("-f") {
        Some(path) => walker.read_file(path, call.span),
        None => call.stdin.clone(),
    };
    match content {
        Stream::Text(text) => {
            walker.inner(&text, Stream::Absent, call.span);
        }
        Stream::Remote => walker.remote_code("a scheduled job came from another machine".to_owned(), call.span),
        Stream::Absent | Stream::Secret | Stream::Opaque => walker.report.can(Capability::Exec),
    }
    Stream::Opaque
}

pub(crate) fn kill(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let texts = call.texts();
    if texts.first().is_some_and(|text| matches!(*text, "-l" | "-L" | "--list" | "-0")) {
        return Stream::Opaque;
    }
    walker.report.raise(Class::Write, "SIGNAL", "sends a signal", call.span);
    // The first word may be a signal; `-1` after it means every process.
    let signal = usize::from(texts.first().is_some_and(|text| text.starts_with('-') && *text != "--"));
    let signal = if matches!(texts.first(), Some(&"-s" | &"-n" | &"--signal")) { 2 } else { signal };
    let everyone = call.name == "kill"
        && texts.iter().skip(signal).any(|text| matches!(*text, "-1" | "1" | "0") && (*text != "0"))
        && (texts.len() > 1 || texts == ["1"] || texts == ["-1"]);
    let by_name =
        call.options.operands.iter().any(|operand| matches!(operand.text.as_str(), "init" | "systemd" | "sshd"));
    if everyone || by_name && call.name != "kill" {
        walker.report.raise(Class::Catastrophic, "SIGNAL", "stops every process, or the first one", call.span);
    }
    if texts.iter().any(|text| text.contains("writkeeper")) {
        walker.report.can_because(Capability::GuardTampering, "stops the guard", call.span);
    }
    Stream::Absent
}

/// `iptables -F`, `nft flush`, `ufw disable`: who may talk to the machine.
pub(crate) fn firewall(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let texts = call.texts();
    let asks = texts.iter().any(|text| {
        matches!(
            *text,
            "-L" | "-S"
                | "--list"
                | "list"
                | "status"
                | "show"
                | "-n"
                | "-V"
                | "--version"
                | "--list-all"
                | "--state"
                | "-s"
        )
    }) && !texts.iter().any(|text| matches!(*text, "-A" | "-I" | "-D" | "-F" | "-P" | "-X" | "-N"));
    if asks {
        return Stream::Opaque;
    }
    walker.report.can(Capability::Privilege);
    let opens = texts.iter().any(|text| {
        matches!(*text, "-F" | "--flush" | "-X" | "flush" | "disable" | "reset" | "-d" | "--panic-on" | "-Fa")
    }) || texts.windows(3).any(|three| three.first() == Some(&"-P") && three.last() == Some(&"ACCEPT"));
    if opens {
        walker.report.raise(Class::Catastrophic, "FIREWALL", "takes the firewall down", call.span);
    } else {
        walker.report.raise(Class::Write, "FIREWALL", "changes who may talk to the machine", call.span);
    }
    Stream::Opaque
}

pub(crate) fn mount(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    if !call.options.operands.is_empty() || call.options.has("-a --all") {
        walker.report.can(Capability::Privilege);
        walker.report.raise(Class::Write, "MOUNT", "changes what is mounted", call.span);
    }
    Stream::Opaque
}

/// `date -s`, `hostname NAME`, `sysctl -w`: a question unless something is set.
pub(crate) fn setter(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let texts = call.texts();
    let sets = changes_something(call, &texts);
    if sets {
        let loses = matches!(call.name, "journalctl" | "tmutil")
            || call.name == "dmesg"
            || (call.name == "defaults" && texts.first() == Some(&"delete"))
            || (call.name == "ip" && texts.contains(&"flush"));
        walker.report.raise(
            if loses { Class::Destructive } else { Class::Write },
            "SYSTEM",
            format!("`{}` changes the machine", call.name),
            call.span,
        );
        if !matches!(call.name, "xattr" | "defaults") {
            walker.report.can(Capability::Privilege);
        }
    }
    // What `date` is told to print without any part of a date is what it prints.
    let format = texts.iter().find_map(|text| text.strip_prefix('+')).filter(|_| call.name == "date");
    match format.filter(|format| !format.contains('%')) {
        Some(format) => Stream::text(format!("{format}\n")),
        None => Stream::Opaque,
    }
}

/// Whether the words of such a call set anything.
fn changes_something(call: &Call<'_>, texts: &[&str]) -> bool {
    match call.name {
        "date" => {
            call.options.has("-s --set")
                || call.options.operands.iter().any(|operand| {
                    !operand.text.starts_with('+')
                        && operand.text.chars().all(|c| c.is_ascii_digit() || c == '.')
                        && operand.text.len() >= 8
                })
        }
        "hostname" | "domainname" | "nisdomainname" => {
            !call.options.operands.is_empty() && !call.options.has("-i -I -f -s -d -A --ip-address --fqdn")
        }
        "sysctl" => call.options.has("-w --write -p --load --system") || texts.iter().any(|text| text.contains('=')),
        "ulimit" | "umask" => false,
        "timedatectl" | "localectl" | "hostnamectl" | "loginctl" => texts.iter().any(|text| {
            text.starts_with("set-")
                || text.starts_with("terminate")
                || text.starts_with("kill")
                || text.starts_with("enable")
        }),
        "sysrc" | "ifconfig" | "ip" | "route" | "arp" | "iwconfig" | "ethtool" | "nmcli" | "networksetup" | "tc"
        | "iw" | "netplan" | "brctl" | "bridge" => texts.iter().any(|text| {
            matches!(
                *text,
                "add"
                    | "del"
                    | "delete"
                    | "set"
                    | "up"
                    | "down"
                    | "flush"
                    | "change"
                    | "replace"
                    | "-d"
                    | "-s"
                    | "apply"
                    | "disconnect"
                    | "connect"
                    | "modify"
                    | "link-down"
            ) || text.starts_with("-set")
                || (call.name == "sysrc" && text.contains('='))
        }),
        "hwclock" => texts.iter().any(|text| matches!(*text, "-w" | "--systohc" | "--set" | "-s" | "--hctosys")),
        "dmesg" => call.options.has("-c -C --clear --read-clear"),
        "swapon" | "swapoff" => !call.options.operands.is_empty(),
        "journalctl" => texts
            .iter()
            .any(|text| text.starts_with("--vacuum") || text.starts_with("--rotate") || text.starts_with("--flush")),
        "tmutil" => texts
            .first()
            .is_some_and(|text| matches!(*text, "disable" | "delete" | "deletelocalsnapshots" | "thinlocalsnapshots")),
        "xattr" => call.options.has("-w -d -c"),
        "defaults" => texts.first().is_some_and(|text| matches!(*text, "write" | "delete" | "import" | "rename")),
        _ => false,
    }
}

/// `mkfs`, `parted`, `fdisk`, `wipefs` on a device; listing is a question.
pub(crate) fn disk(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let texts = call.texts();
    let asks = texts.iter().any(|text| {
        matches!(
            *text,
            "-l" | "--list"
                | "list"
                | "print"
                | "info"
                | "show"
                | "-p"
                | "status"
                | "-n"
                | "--no-act"
                | "--dump"
                | "-d"
                | "display"
                | "luksdump"
                | "isluks"
                | "apfs"
                | "verifyvolume"
                | "verifydisk"
        )
    }) || texts.is_empty();
    if asks
        && !texts.iter().any(|text| {
            matches!(
                text.to_ascii_lowercase().as_str(),
                "luksformat"
                    | "erasedisk"
                    | "erasevolume"
                    | "deletevolume"
                    | "mklabel"
                    | "mkpart"
                    | "rm"
                    | "reformat"
                    | "zerodisk"
                    | "deletecontainer"
            )
        })
    {
        return Stream::Opaque;
    }
    for operand in call.options.operands.iter().filter(|operand| operand.text.starts_with("/dev/")) {
        let path = walker.resolve(&operand.text);
        walker.report.writes(&path);
    }
    walker.report.can(Capability::Privilege);
    walker.report.raise(Class::Catastrophic, "DISK", format!("`{}` rewrites a disk", call.name), call.span);
    Stream::Opaque
}

/// Accounts: adding is a change of rights, removing loses a home.
pub(crate) fn account(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    walker.report.can(Capability::Privilege);
    walker.report.can(Capability::Credentials);
    let removes = matches!(call.name, "userdel" | "deluser" | "groupdel" | "delgroup" | "rmuser")
        || call.options.texts().iter().any(|text| text.contains("del"))
        || call.args.iter().any(|arg| matches!(arg.text.as_str(), "-delete" | "-deleteUser"));
    let asks = call.args.iter().any(|arg| {
        matches!(
            arg.text.as_str(),
            "list"
                | "-list"
                | "read"
                | "-read"
                | "-S"
                | "--status"
                | "-l"
                | "search"
                | "-search"
                | "show"
                | "usershow"
                | "-q"
                | "--list"
        )
    }) && matches!(call.name, "dscl" | "passwd" | "pw" | "chage" | "dscacheutil");
    if asks {
        return Stream::Opaque;
    }
    walker.report.raise(
        if removes { Class::Destructive } else { Class::Write },
        "ACCOUNT",
        format!(
            "`{}` changes who may log in: {}",
            call.name,
            call.texts().iter().map(|text| mark::shown(text)).take(3).collect::<Vec<_>>().join(" ")
        ),
        call.span,
    );
    Stream::Opaque
}
