//! Paths that carry secrets, start programs, or steer the guard.

use crate::glob;
use crate::mark;
use crate::path::components;
use crate::view::{HostFiles, View};

/// Why a path matters beyond its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// Secrets, keys, or files that identify users.
    Secret,
    /// Secrets that a project keeps for its own start, in `.env` and its relatives.
    Settings,
    /// Files that start programs later.
    Startup,
    /// The guard's own configuration, or that of the agent's host.
    Guard,
    /// Files whose loss or rewrite breaks the machine.
    Vital,
}

/// `~` is the home of any user. A trailing `/` means the whole directory.
const SECRETS: &[&str] = &[
    "~/.ssh/",
    "~/.aws/",
    "~/.gnupg/",
    "~/.kube/",
    "~/.azure/",
    "~/.config/gcloud/",
    "~/.oci/",
    "~/.docker/config.json",
    "~/.netrc",
    "~/.pgpass",
    "~/.my.cnf",
    "~/.npmrc",
    "~/.pypirc",
    "~/.git-credentials",
    "~/.config/gh/",
    "~/.config/glab-cli/",
    "~/.config/hub",
    "~/.local/share/opencode/auth.json",
    "~/.config/git/credentials",
    "~/.vault-token",
    "~/.terraform.d/credentials.tfrc.json",
    "~/.cargo/credentials.toml",
    "~/.cargo/credentials",
    "~/.m2/settings.xml",
    "~/.gem/credentials",
    "~/.password-store/",
    "~/.local/share/keyrings/",
    "~/Library/Keychains/",
    "~/.mozilla/",
    "~/.config/google-chrome/",
    "~/.config/op/",
    "~/.bash_history",
    "~/.zsh_history",
    "~/.history",
    "~/.sh_history",
    "~/.psql_history",
    "~/.mysql_history",
    "~/.python_history",
    "~/.s3cfg",
    "~/.boto",
    "~/.rclone.conf",
    "~/.config/rclone/rclone.conf",
    "~/.age/",
    "~/.config/sops/",
    "~/.electrum/",
    "~/.bitcoin/",
    "~/.ethereum/",
    "~/.config/solana/",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/passwd",
    "/etc/master.passwd",
    "/etc/sudoers",
    "/etc/sudoers.d/",
    "/etc/security/opasswd",
    "/etc/shadow-",
    "/etc/passwd-",
    "/etc/krb5.keytab",
    "/etc/ssl/private/",
    "/etc/ssh/",
    "/etc/pam.d/",
    "/etc/kubernetes/",
    "/etc/ipsec.secrets",
    "/etc/wireguard/",
    "/etc/openvpn/",
    "/etc/letsencrypt/",
    "/var/lib/kubelet/",
    "/var/run/secrets/",
    "/run/secrets/",
    "/root/.ssh/",
    "/root/.aws/",
    "/proc/kcore",
    "/dev/mem",
];

/// File names that hold secrets wherever they lie.
const SECRET_NAMES: &[&str] = &[
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".env",
    ".env.*",
    "*.pem",
    "*.p12",
    "*.pfx",
    "*.keystore",
    "*.jks",
    "*.kdbx",
    "*.ppk",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    "credentials.json",
    "service-account*.json",
    "secrets.y*ml",
    "secrets.json",
    "secrets.toml",
    "*.tfstate",
    "*.ovpn",
    "wallet.dat",
    "shadow",
    "gshadow",
    "sudoers",
    "msal_token_cache.json",
    "accesstokens.json",
    "access_tokens.db",
    "credentials.db",
    "master.key",
    "authorized_keys",
    ".gnupg",
    "login data",
    "key4.db",
    "logins.json",
    "kubeconfig",
    ".vault-token",
    "*.key",
];

/// Names above that are examples, not secrets.
const SECRET_NAMES_NOT: &[&str] = &[".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub", "*.md"];

const STARTUP: &[&str] = &[
    "~/.bashrc",
    "~/.bash_profile",
    "~/.bash_login",
    "~/.bash_logout",
    "~/.profile",
    "~/.zshrc",
    "~/.zprofile",
    "~/.zshenv",
    "~/.zlogin",
    "~/.zlogout",
    "~/.kshrc",
    "~/.cshrc",
    "~/.tcshrc",
    "~/.shrc",
    "~/.bash_aliases",
    "~/.config/fish/",
    "~/.xinitrc",
    "~/.xsession",
    "~/.xprofile",
    "~/.pam_environment",
    "~/.config/autostart/",
    "~/.config/systemd/",
    "~/.local/share/systemd/",
    "~/.ssh/authorized_keys",
    "~/.ssh/authorized_keys2",
    "~/.ssh/rc",
    "~/.ssh/config",
    "~/.config/environment.d/",
    "~/.inputrc",
    "~/Library/LaunchAgents/",
    "/Library/LaunchAgents/",
    "/Library/LaunchDaemons/",
    "/Library/StartupItems/",
    "/System/Library/LaunchDaemons/",
    "/etc/crontab",
    "/etc/anacrontab",
    "/etc/cron.d/",
    "/etc/cron.daily/",
    "/etc/cron.hourly/",
    "/etc/cron.weekly/",
    "/etc/cron.monthly/",
    "/var/spool/cron/",
    "/var/cron/",
    "/etc/systemd/",
    "/lib/systemd/",
    "/usr/lib/systemd/",
    "/run/systemd/",
    "/etc/init.d/",
    "/etc/init/",
    "/etc/rc.local",
    "/etc/rc.common",
    "/etc/rc.conf",
    "/etc/rc.d/",
    "/etc/inittab",
    "/usr/local/etc/rc.d/",
    "/etc/profile",
    "/etc/profile.d/",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/zshrc",
    "/etc/zprofile",
    "/etc/zsh/",
    "/etc/environment",
    "/etc/ld.so.preload",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d/",
    "/etc/xdg/autostart/",
    "/etc/udev/rules.d/",
    "/etc/update-motd.d/",
    "/etc/emond.d/",
    "/etc/modules",
    "/etc/modules-load.d/",
    "/etc/modprobe.d/",
    "/etc/apt/apt.conf.d/",
    "/etc/NetworkManager/dispatcher.d/",
    "/etc/pam.d/",
    "/etc/skel/",
    "/etc/at.allow",
    "/var/at/",
];

/// Files of this product.
const GUARD: &[&str] = &["~/.writkeeper/", "~/.config/writkeeper/", "/etc/writkeeper/", "/var/lib/writkeeper/"];

/// Directories and files of this product in any project.
const GUARD_NAMES: &[&str] = &[".writkeeper", "writkeeper.yaml", "writkeeper.toml", "writkeeper.db"];

/// Single files whose rewrite breaks logins, names or the boot.
const VITAL: &[&str] = &[
    "/etc/passwd",
    "/etc/shadow",
    "/etc/group",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d/",
    "/etc/fstab",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/hostname",
    "/etc/ssh/",
    "/etc/pam.d/",
    "/etc/ld.so.preload",
    "/etc/ld.so.conf",
    "/etc/inittab",
    "/etc/crypttab",
    "/etc/default/grub",
    "/etc/security/",
    "/etc/login.defs",
    "/etc/crontab",
    "/etc/profile",
    "/etc/environment",
    "/etc/hosts.allow",
    "/etc/hosts.deny",
    "/etc/machine-id",
    "/boot/",
    "/bin/",
    "/sbin/",
    "/lib/",
    "/lib64/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/lib/",
    "/proc/sysrq-trigger",
    "/proc/sys/kernel/",
    "/sys/firmware/",
];

/// Whether a normalised path raises the concern.
pub fn is(concern: Concern, path: &str, view: &View<'_>) -> bool {
    let parts: Vec<&str> = components(path).collect();
    match concern {
        Concern::Secret => is_secret(&parts, view) || by_name(&parts) || environ(&parts),
        Concern::Settings => settings(&parts) && !is_secret(&parts, view),
        Concern::Startup => any(STARTUP, &parts, view.home) || hooks(&parts),
        Concern::Guard => {
            any(GUARD, &parts, view.home)
                || parts.iter().any(|part| GUARD_NAMES.contains(part))
                || view.hosts.iter().any(|host| steers(host, &parts, view.home))
        }
        Concern::Vital => any(VITAL, &parts, view.home),
    }
}

fn is_secret(parts: &[&str], view: &View<'_>) -> bool {
    let below = below_home(parts, view.home);
    let is_login = |login: &&'static str| below.is_some_and(|rest| covers(login, rest, login.ends_with('/')));
    any(SECRETS, parts, view.home) || view.hosts.iter().flat_map(|host| host.logins).any(is_login)
}

/// Whether a path steers a host.
fn steers(host: &HostFiles, parts: &[&str], home: &str) -> bool {
    let below = below_home(parts, home);
    let is_at_home = |path: &&'static str| below.is_some_and(|rest| covers(path, rest, true));
    parts.iter().any(|part| host.names.contains(part))
        || host.names.iter().chain(host.paths).any(is_at_home)
        || any(host.system, parts, home)
}

/// Whether a bare file name, as given to a search, names a secret.
pub fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.len() > 2
        && SECRET_NAMES.iter().any(|pattern| glob::matches(pattern, &lower))
        && !SECRET_NAMES_NOT.iter().any(|pattern| glob::matches(pattern, &lower))
}

/// Variables whose value is a secret, by name.
pub fn is_secret_variable(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    ["SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "_TOKEN", "CREDENTIAL"]
        .iter()
        .any(|part| upper.contains(part))
        || upper == "TOKEN"
        || upper == "PGPASSWORD"
}

fn by_name(parts: &[&str]) -> bool {
    let Some(last) = parts.last() else { return false };
    if mark::has_wild(last) {
        // A wildcard in a name is judged only where it can meet a listed directory; see `any`.
        return false;
    }
    // `shadow` and `sudoers` are secrets of the system, not of a source tree.
    let plain = matches!(*last, "shadow" | "gshadow" | "sudoers" | "authorized_keys");
    if plain { parts.contains(&"etc") || parts.contains(&".ssh") } else { is_secret_name(last) }
}

fn settings(parts: &[&str]) -> bool {
    let last = parts.last().copied().unwrap_or_default();
    !mark::has_wild(last) && (last == ".env" || last.starts_with(".env.")) && is_secret_name(last)
}

/// `/proc/<pid>/environ` and memory of another process, also by one of its threads.
fn environ(parts: &[&str]) -> bool {
    matches!(parts, ["proc", _, .., "environ" | "mem" | "maps"])
}

/// Git runs whatever lies in `.git/hooks`.
fn hooks(parts: &[&str]) -> bool {
    parts.windows(2).any(|pair| matches!(pair, [".git", "hooks"] | [".git", "config"] | [".husky", _]))
}

/// Whether the path (maybe with wildcards) can mean an entry or something below it.
fn any(entries: &[&str], parts: &[&str], home: &str) -> bool {
    let below = below_home(parts, home);
    entries.iter().any(|entry| {
        let directory = entry.ends_with('/');
        match entry.strip_prefix('~') {
            Some(entry) => below.is_some_and(|rest| covers(entry, rest, directory)),
            None => covers(entry, parts, directory),
        }
    })
}

/// The part of the path below a home.
fn below_home<'a, 'b>(parts: &'a [&'b str], home: &str) -> Option<&'a [&'b str]> {
    let depth = components(home).count();
    let own_home = depth > 0 && parts.len() >= depth && components(home).zip(parts).all(|(name, part)| name == *part);
    match parts {
        _ if own_home => parts.get(depth..),
        ["home" | "Users", _, rest @ ..] | ["root", rest @ ..] => Some(rest),
        [first, rest @ ..] if first.starts_with('~') => Some(rest),
        _ => None,
    }
}

fn covers(entry: &str, parts: &[&str], directory: bool) -> bool {
    let mut own = parts.iter();
    for name in components(entry) {
        match own.next() {
            Some(part) if *part == name => {}
            Some(part) if mark::has_wild(part) && !part.starts_with(mark::STAR) && glob::matches(part, name) => {}
            Some(_) | None => return false,
        }
    }
    directory || own.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, concern: Concern, expected: bool) {
        let path = path.replace('*', "\u{E010}");
        let view = View { hosts: View::default().hosts, ..View::new("/w", "/home/me") };
        assert_eq!(is(concern, &path, &view), expected, "{path}");
    }

    #[test]
    fn concerns() {
        check("/etc/shadow", Concern::Secret, true);
        check("/etc/s*w", Concern::Secret, true);
        check("/etc/passwd.md", Concern::Secret, false);
        check("/home/me/.ss*/id_*", Concern::Secret, true);
        check("/home/me/.ssh", Concern::Secret, true);
        check("/home/you/.aws/credentials", Concern::Secret, true);
        check("/home/me/app/fixtures/.ssh", Concern::Secret, false);
        check("/home/me/app/.env", Concern::Secret, true);
        check("/home/me/app/.env.example", Concern::Secret, false);
        check("/home/me/notes.txt", Concern::Secret, false);
        check("/home/me/.bashrc", Concern::Startup, true);
        check("/home/me/app/.git/hooks/pre-commit", Concern::Startup, true);
        check("/home/me/app/.claude/settings.json", Concern::Guard, true);
        check("/etc/hosts", Concern::Vital, true);
        check("/proc/self/environ", Concern::Secret, true);
        check("/proc/1/task/1/environ", Concern::Secret, true);
        check("/proc/cpuinfo", Concern::Secret, false);
        check("/home/me/.config/gh", Concern::Secret, true);
        check("/home/me/.claude/.credentials.json", Concern::Secret, true);
        check("/home/me/.codex/auth.json", Concern::Secret, false);
        check("/home/me/.cl*/x", Concern::Guard, true);
        check("/home/me/.claude.json", Concern::Guard, true);
        check("/w/.claude.json", Concern::Guard, false);
        check("/etc/claude-code/managed.json", Concern::Guard, true);
        check("/home/me/.writkeeper/guard.db", Concern::Guard, true);
        check("/home/me/app/auth.json", Concern::Secret, false);
    }
}
