//! Containers and clusters: what runs inside, and what of the host it can reach.

use crate::answer::{Capability, Class};
use crate::call::Call;
use crate::mark;
use crate::path::Path;
use crate::run::wrapped;
use crate::stream::Stream;
use crate::walk::{Arg, Walker};

/// Options of `docker run`, `exec` and `create` that take a value.
const RUN_VALUED: &str = "-a --add-host --annotation --attach --blkio-weight --cap-add --cap-drop --cgroup-parent --cidfile --cpus --cpu-shares -c --cpuset-cpus --detach-keys --device --dns --entrypoint -e --env --env-file --expose --gpus --group-add --health-cmd -h --hostname --ip --ipc --isolation -l --label --link --log-driver --log-opt --mac-address -m --memory --memory-swap --mount --name --net --network --network-alias --oom-score-adj --pid --pids-limit --platform -p --publish --pull --restart --runtime --security-opt --shm-size --stop-signal --stop-timeout --storage-opt --sysctl --tmpfs --ulimit -u --user --userns --uts -v --volume --volume-driver --volumes-from -w --workdir --index -f --file --project-name --profile --env-from-file";

/// Where a program in a container is taken to run.
pub(crate) const INSIDE: &str = "/app/inside";

pub(crate) fn docker(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let globals = wrapped(
        call.args,
        "-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey -f --file -p --project-name --profile --project-directory --env-file --connection --url",
    );
    let mut words: &[Arg] = &globals.operands;
    let mut compose = call.name.ends_with("compose");
    while let Some((first, rest)) = words.split_first() {
        match first.text.as_str() {
            "container" | "compose" => {
                compose |= first.text == "compose";
                words = rest;
                if compose {
                    let inner =
                        wrapped(words, "-f --file -p --project-name --profile --project-directory --env-file").operands;
                    return inside(walker, call, &inner);
                }
            }
            _ => break,
        }
    }
    inside(walker, call, words)
}

/// `run IMAGE cmd…` and `exec CONTAINER cmd…`.
fn inside(walker: &mut Walker<'_>, call: &Call<'_>, words: &[Arg]) -> Stream {
    let Some((sub, rest)) = words.split_first() else { return Stream::Opaque };
    if !matches!(sub.text.as_str(), "run" | "exec" | "create") {
        return Stream::Opaque;
    }
    walker.report.can(Capability::Exec);
    let options = wrapped(rest, RUN_VALUED);
    let mut host_root = false;
    for opt in &options.given {
        let value = opt.value.clone().unwrap_or_default();
        let reaches = match opt.name.as_str() {
            "--privileged" => true,
            "-v" | "--volume" | "--mount" => {
                let source = value
                    .split([':', ','])
                    .find_map(|part| {
                        part.strip_prefix("source=")
                            .or_else(|| part.strip_prefix("src="))
                            .or(part.starts_with(['/', '~']).then_some(part))
                    })
                    .unwrap_or_default()
                    .to_owned();
                let path = walker.resolve(&source);
                host_root |= !source.is_empty() && path == "/";
                !source.is_empty() && is_of_host(&path, walker.view.cwd)
            }
            "--pid" | "--net" | "--network" | "--userns" | "--ipc" | "--uts" => value == "host" && opt.name == "--pid",
            "--cap-add" => {
                matches!(value.to_ascii_uppercase().as_str(), "ALL" | "SYS_ADMIN" | "SYS_PTRACE" | "SYS_MODULE")
            }
            _ => false,
        };
        if reaches {
            walker.report.can_because(
                Capability::Privilege,
                format!("`{} {}` reaches the host", opt.name, mark::shown(&value)),
                opt.span,
            );
        }
    }
    let entry = options.value("--entrypoint").map(|text| Arg::new(text, call.span));
    let command: Vec<Arg> = entry.into_iter().chain(options.operands.iter().skip(1).cloned()).collect();
    if command.is_empty() {
        if options.has("-i -t --interactive --tty") && !options.has("-d --detach") {
            crate::act::typing::waiting(walker, call.name, call.span);
        }
        return Stream::Opaque;
    }
    contained(walker, call, command, host_root);
    Stream::Opaque
}

/// Whether a mounted folder is the machine's own. Work may lie in root's home; what is mounted of it is no more than
/// the agent has anyway.
fn is_of_host(path: &str, cwd: &str) -> bool {
    let is_under = |folder: &str| Path::from_resolved(path).is_under(&Path::from_resolved(folder));
    let is_work = cwd != "/root" && is_under(cwd);
    path == "/" || path.ends_with("docker.sock") || is_under("/etc") || is_under("/root") && !is_work
}

/// The command lives in another file system; a mounted host root makes its deletions ours.
fn contained(walker: &mut Walker<'_>, call: &Call<'_>, command: Vec<Arg>, host_root: bool) {
    let before = walker.report.class;
    let saved = std::mem::replace(&mut walker.state.cwd, INSIDE.to_owned());
    // An unknown program of an image is local to that image.
    let known = command
        .first()
        .is_some_and(|first| crate::rules::lookup(first.text.rsplit('/').next().unwrap_or_default()).is_some());
    if known || !mark::is_literal(&command.first().map(|arg| arg.text.clone()).unwrap_or_default()) {
        walker.run(command, call.stdin.clone(), call.span);
    }
    walker.state.cwd = saved;
    if host_root && walker.report.class >= Class::Destructive && before < Class::Destructive {
        walker.report.raise(
            Class::Catastrophic,
            "HOST_ROOT",
            "removes files below the mounted root of the host",
            call.span,
        );
    }
}

/// `kubectl exec pod -- cmd`, and secrets among the resources.
pub(crate) fn kubectl(walker: &mut Walker<'_>, call: &Call<'_>) -> Stream {
    let texts = call.texts();
    let verb = call.options.operands.first().map(|operand| operand.text.clone()).unwrap_or_default();
    let secret = call
        .options
        .operands
        .iter()
        .skip(1)
        .take(2)
        .any(|operand| matches!(operand.text.split('/').next().unwrap_or_default(), "secret" | "secrets"));
    if secret && matches!(verb.as_str(), "get" | "describe" | "edit" | "create" | "delete" | "patch" | "apply")
        || texts.starts_with(&["config", "view"]) && call.options.has("--raw")
    {
        walker.report.can_because(Capability::Credentials, "the resource is a secret", call.span);
    }
    if matches!(verb.as_str(), "exec" | "run" | "debug") {
        walker.report.can(Capability::Exec);
        let command = match call.args.iter().position(|arg| arg.text == "--") {
            Some(at) => call.args.get(at + 1..).unwrap_or_default().to_vec(),
            None => call.options.operands.iter().skip(2).cloned().collect(),
        };
        if !command.is_empty() {
            contained(walker, call, command, false);
        }
    }
    for opt in &call.options.given {
        if matches!(opt.name.as_str(), "-f" | "--filename") {
            let value = opt.value.clone().unwrap_or_default();
            if !value.starts_with("http") {
                walker.read_file(&value, opt.span);
            }
        }
    }
    Stream::Opaque
}

#[cfg(test)]
mod tests {
    use super::is_of_host;

    #[test]
    fn work_may_lie_in_the_home_of_root() {
        for (path, cwd, expected) in [
            ("/", "/root/work", true),
            ("/etc", "/etc", true),
            ("/etcetera", "/srv", false),
            ("/var/run/docker.sock", "/var/run", true),
            ("/root", "/root", true),
            ("/root/.ssh", "/root", true),
            ("/root/.ssh", "/root/work", true),
            ("/root/work", "/root/work", false),
            ("/root/work/src", "/root/work", false),
            ("/root/works", "/root/work", true),
            ("/rootfs", "/srv", false),
        ] {
            assert_eq!(is_of_host(path, cwd), expected, "{path} from {cwd}");
        }
    }
}
