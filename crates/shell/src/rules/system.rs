//! System and power.

use super::{Program, destroy, read, ruin, verb, write};
use crate::act::system;
use crate::answer::Capability::{Exec, Network, Privilege};
use crate::answer::Class;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    ruin("shutdown reboot halt poweroff telinit init pm-suspend pm-hibernate rtcwake kexec", "stops the machine").can(&[Privilege]),
    write("kill pkill killall skill snice xkill fkill", "stops processes").act(system::kill).valued("-s --signal -u -U -t -g -G -P"),
    write("renice", "changes priorities"),
    read("ps top htop btop atop glances pgrep pidof pstree pmap free uptime uname nproc tty stty tload slabtop procs bottom btm gotop vtop nmon pidstat dstat pwdx prtstat lsinitramfs system_profiler sw_vers vm_stat fs_usage kstat psrinfo prtconf hostid hostinfo machine getprop osqueryi neofetch fastfetch screenfetch cpuid x86info rpcinfo showmount nfsstat numastat turbostat acpi_listen arch_status xrandr xset xdpyinfo xwininfo xprop xev xlsclients getxattr lsappinfo tzdata chronyc ntpq ntpstat bashbug dpkg-architecture runlevel sockstat procstat", "looks at the machine"),
    read("date hostname domainname nisdomainname sysctl timedatectl localectl hostnamectl loginctl hwclock dmesg journalctl sysrc tmutil defaults", "asks or sets the machine").act(system::setter).valued("-d --date -r --reference -f -n -u -p -o -S -U --since --until -t"),
    read("ip ifconfig route arp iwconfig ethtool nmcli networksetup tc iw brctl bridge netplan", "asks or sets the network").act(system::setter),
    read("iptables ip6tables nft ufw firewall-cmd pfctl ebtables arptables iptables-restore iptables-save ipset ipfw", "manages the firewall").act(system::firewall),
    write("logger wall write notify-send osd_cat zenity dialog whiptail yad kdialog xmessage say espeak spd-say beep aplay arecord paplay amixer pactl alsamixer terminal-notifier speaker-test", "talks to people"),
    write("lp lpr lprm cancel lpadmin cupsenable cupsdisable accept reject", "prints"),
    read("lpstat lpq lpinfo lpoptions", "looks at printers"),
    write("mail mailx sendmail mutt neomutt msmtp swaks ssmtp exim postfix postsuper postqueue telegram-send slackcat", "sends messages").can(&[Network]),
    write("xdotool wmctrl xte ydotool screencapture scrot gnome-screenshot maim flameshot grim xwd xbacklight brightnessctl setxkbmap xmodmap loadkeys setterm chvt openvt deallocvt setfont dconf gsettings gconftool-2 xfconf-query kwriteconfig5 kreadconfig5 pmset nvram scutil csrutil spctl xcode-select softwareupdate systemsetup launchd mdutil mdimport plutil PlistBuddy plistbuddy lipo codesign xcrun xcodebuild instruments simctl dsymutil otool install_name_tool iconutil sips textutil afplay automator shortcuts caffeine", "changes the session").can(&[Exec]),
    write("logrotate savelog newsyslog mandb ldconfig catman makewhatis gtk-update-icon-cache glib-compile-schemas update-desktop-database update-alternatives alternatives select-editor locale-gen dpkg-reconfigure debconf-set-selections tzconfig ntpdate chronyd sntp timesyncd udevadm udevtrigger", "maintains the system").can(&[Privilege]),
    destroy("log", "manages the system log").verbs(&[verb("show|stream|stats|config", Class::Read, "shows the system log")]),
    write("mdatp falconctl sentinelctl cbagentd", "manages a guard").can(&[crate::answer::Capability::GuardTampering]),
    read("tcpdump tshark wireshark dumpcap ngrep termshark ettercap dsniff", "listens to the network").can(&[Network, Privilege]),
    write("faillog systemd-notify tmpreaper tmpwatch stopwatch wtmpclean", "cleans up"),
    read("writkeeper", "the guard").verbs(&[verb("contract activate|import", Class::Write, "changes the guard").can(&[crate::answer::Capability::GuardTampering]), verb("operator|break-glass|daemon|init|uninstall|key|agent|switch|amend", Class::Write, "changes the guard").can(&[crate::answer::Capability::GuardTampering])]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("ps aux", "read", &[]);
        check("kill 123", "write", &[]);
        check("kill -9 -1", "catastrophic", &[]);
        check("shutdown -h now", "catastrophic", &["privilege"]);
        check("date -u", "read", &[]);
        check("hostname newname", "write", &["privilege"]);
        check("iptables -L", "read", &[]);
        check("iptables -F", "catastrophic", &["privilege"]);
        check("ip addr", "read", &[]);
    }
}
