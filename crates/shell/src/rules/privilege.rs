//! Users and privilege.

use super::{Program, read, write};
use crate::act::{system, wrapper};
use crate::answer::Capability::{Credentials, Exec, Privilege};

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    read("sudo doas pkexec gosu su-exec dzdo please run0 su runuser nsenter setpriv capsh sudoedit", "acts as another user").act(wrapper::elevate),
    read("chroot unshare", "runs a program in another root").act(wrapper::elevate),
    read("useradd adduser usermod userdel deluser groupadd addgroup groupmod groupdel delgroup gpasswd newusers passwd chpasswd chage chsh chfn pw rmuser dscl sysadminctl dseditgroup dsenableroot pwpolicy newgrp pam-auth-update authselect faillock pam_tally2 realm samba-tool smbpasswd htpasswd ldapmodify ldapadd ldapdelete ldappasswd kadmin kpasswd", "changes accounts").act(system::account),
    read("id whoami who w users groups last lastb lastlog lastlogin finger pinky getent logins ac utmpdump lslogins klist ldapsearch ldapwhoami dscacheutil sesearch getenforce sestatus aa-status", "asks who is who"),
    write("setenforce setsebool aa-disable aa-complain auditctl augenrules", "changes mandatory access control").can(&[Privilege, crate::answer::Capability::GuardTampering]),
    read("security", "reads the key chain").can(&[Credentials]),
    write("ssh-keygen", "makes keys").can(&[Credentials]).valued("-f -t -b -C -N -P -m -R -F"),
    write("ssh-add ssh-agent ssh-copy-id keychain gpg gpg2 gpgconf gpg-agent gpgsm pinentry age age-keygen sops pass gopass secret-tool keyring kwallet-query lpass bw op-cli rbw keepassxc-cli kdbx gnome-keyring-daemon kinit kdestroy certutil update-ca-certificates update-ca-trust certctl trust mkcert certbot acme.sh step cfssl easyrsa minisign signify cosign", "handles keys and secrets").can(&[Credentials]),
    read("gpgv ssh-keyscan", "checks signatures and keys"),
    write("insmod rmmod modprobe kldload kldunload kextload kextunload depmod dkms kmod", "changes the kernel").can(&[Privilege, Exec]),
    read("lsmod modinfo kldstat kextstat", "looks at the kernel"),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("sudo ls", "read", &["privilege"]);
        check("sudo -u bob rm -rf /", "catastrophic", &["privilege"]);
        check("su -c 'rm -rf /'", "catastrophic", &["privilege"]);
        check("doas id", "read", &["privilege"]);
        check("id", "read", &[]);
        check("useradd bob", "write", &["privilege", "credentials"]);
        check("userdel -r bob", "destructive", &["privilege", "credentials"]);
        check("passwd bob", "write", &["privilege", "credentials"]);
    }
}
