//! Programs that run the command they are given. How each is written stands in `act/wrapper.rs`.

use super::{Program, read, write};
use crate::act::{texts, wrapper};
use crate::answer::Capability::{Credentials, Exec, Network, Persistence};

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    read("env genv", "runs a program in another environment").act(wrapper::env),
    read("nice ionice chrt taskset numactl cpulimit prlimit nohup setsid timeout gtimeout stdbuf unbuffer time gtime strace ltrace perf valgrind catchsegv rlwrap setarch linux32 linux64 i386 x86_64 arch caffeinate xvfb-run dbus-run-session dbus-launch fakeroot proot firejail bwrap fakechroot systemd-inhibit systemd-cat torsocks torify proxychains proxychains4 tsocks chronic ts mispipe ifne pee softlimit chpst setuidgid envdir tini dumb-init watchexec busybox toybox flock script watch viddy ld.so ld-linux-x86-64.so tsp nq logsave entr nodemon direnv dotenv dotenvx", "runs a program").act(wrapper::unwrap),
    read("hyperfine", "measures commands").act(texts::hyperfine),
    read("concurrently", "runs commands side by side").can(&[Exec]).act(texts::concurrently),
    read("gdb", "runs a program step by step").act(crate::act::handed::debugger),
    read("systemd-run", "runs a program as a unit").act(wrapper::unwrap).can(&[Persistence, Exec]),
    read("sshpass", "runs ssh with a password").act(wrapper::unwrap).can(&[Credentials, Network]),
    read("aws-vault chamber teller infisical", "runs a program with secrets").act(wrapper::unwrap).can(&[Credentials, Exec]),
    write("ssh mosh autossh slogin rsh rexec gssh", "runs a command on another machine").act(wrapper::ssh).can(&[Network, Exec]),
    write("pssh parallel-ssh pdsh clush dsh ansible fab salt mco knife chef-client chef-solo puppet", "runs commands on other machines").can(&[Network, Exec]),
    write("ansible-playbook ansible-pull ansible-galaxy salt-call", "changes other machines").can(&[Network, Exec]),
    read("ansible-vault", "handles secrets").can(&[Credentials]),
    read("ansible-lint ansible-inventory ansible-doc ansible-config", "looks at automation"),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("env A=1 make", "write", &["exec"]);
        check("env -S 'rm -rf /'", "catastrophic", &[]);
        check("timeout 5 ls", "read", &[]);
        check("nohup nice -n 3 rm -rf / &", "catastrophic", &[]);
        check("watch 'rm -rf /'", "catastrophic", &[]);
        check("command -v rm", "read", &[]);
        check("busybox rm -rf /", "catastrophic", &[]);
        check("ssh host ls", "write", &["exec", "network"]);
        check("ssh root@host id", "write", &["exec", "network", "privilege"]);
        check("ssh host 'rm -rf /'", "catastrophic", &["exec", "network"]);
    }
}
