//! What makes programs start by themselves.

use super::{Program, read, verb, write};
use crate::act::system;
use crate::answer::Capability::{Exec, Persistence, Privilege};
use crate::answer::Class;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    read("systemctl service", "manages services").act(system::systemctl).valued("-t --type -p --property --state -n --lines -o --output -H --host -M --machine --root --job-mode"),
    write("chkconfig update-rc.d rc-update insserv rcctl svcadm initctl start-stop-daemon rc-service invoke-rc.d sv svc supervisorctl pm2 forever monit runit s6-svc", "manages services").can(&[Persistence]).verbs(&[verb("** list|status|show|logs|ls|info|describe|monit", Class::Read, "looks at services"), verb("** delete|remove|kill|disable", Class::Write, "stops services")]),
    write("systemd-tmpfiles systemd-sysusers systemd-nspawn machinectl bootctl efibootmgr grub-install update-grub grub-mkconfig grub2-mkconfig update-initramfs mkinitcpio dracut kernel-install", "changes how the machine starts").can(&[Persistence, Privilege]),
    read("systemd-analyze systemd-detect-virt systemd-path systemd-escape systemd-cgls systemd-cgtop systemd-delta", "looks at the service manager"),
    write("anacron fcrontab cronsh", "schedules jobs").can(&[Persistence, Exec]),
    write("desktop-file-install xdg-autostart xdg-settings", "changes what starts with a session").can(&[Persistence]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("systemctl status nginx", "read", &[]);
        check("systemctl restart nginx", "write", &["privilege"]);
        check("systemctl enable nginx", "write", &["privilege", "persistence"]);
        check("systemctl poweroff", "catastrophic", &["privilege"]);
        check("systemctl disable --now sshd", "catastrophic", &["privilege"]);
    }
}
