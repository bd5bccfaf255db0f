//! Disks and file systems.

use super::{Program, flag, read, ruin, verb, write};
use crate::act::system;
use crate::answer::Capability::Privilege;
use crate::answer::Class;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    ruin("mkfs mke2fs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.f2fs mkfs.exfat mkdosfs newfs newfs_hfs newfs_apfs mkswap mkntfs", "formats a disk").can(&[Privilege]),
    ruin("wipefs blkdiscard nwipe dban", "erases a disk").can(&[Privilege]).flags(&[super::dry("-n --no-act")]),
    read("fdisk sfdisk cfdisk gdisk sgdisk parted partx partprobe cgdisk diskutil diskpart", "partitions a disk").act(system::disk),
    read("cryptsetup", "encrypts disks").act(system::disk),
    read("hdparm", "tunes a disk").flags(&[flag("--security-erase --security-erase-enhanced --security-set-pass --trim-sector-ranges --format --yes-i-know-what-i-am-doing", Class::Catastrophic, "erases a disk")]).valued("--security-erase"),
    read("nvme", "manages NVMe disks").verbs(&[verb("format|sanitize|delete-ns|reset", Class::Catastrophic, "erases a disk")]),
    read("smartctl", "asks a disk about itself"),
    read("zpool zfs", "manages pools").verbs(&[verb("destroy|labelclear|split|remove|detach", Class::Catastrophic, "destroys a pool or its data"), verb("rollback", Class::Destructive, "drops newer snapshots"), verb("create|set|snapshot|clone|import|export|scrub|mount|unmount|add|attach|send|receive|recv|promote|rename|online|offline|upgrade|clear|replace", Class::Write, "changes a pool").can(&[Privilege])]),
    read("btrfs", "manages btrfs").verbs(&[verb("subvolume delete", Class::Catastrophic, "removes a volume"), verb("device remove|delete", Class::Catastrophic, "removes a disk"), verb("subvolume create|snapshot", Class::Write, "makes a volume"), verb("balance|scrub|filesystem", Class::Write, "maintains a file system")]),
    read("lvs vgs pvs lvdisplay vgdisplay pvdisplay lsblk blkid findmnt lsscsi lspci lsusb lshw hwinfo inxi dmidecode lscpu lsmem lsof fuser iostat vmstat mpstat sar iotop dumpe2fs e2label xfs_info mountpoint quota repquota biosdecode vpddecode ipcs lsns lslocks lsipc sensors acpi upower nvidia-smi rocm-smi intel_gpu_top radeontop", "looks at hardware and disks"),
    ruin("lvremove vgremove pvremove lvreduce", "removes a volume").can(&[Privilege]),
    write("lvcreate vgcreate pvcreate lvextend vgextend lvresize pvresize lvrename vgrename lvchange vgchange mdadm dmsetup multipath", "changes volumes").can(&[Privilege]).flags(&[flag("--zero-superblock --stop --remove --create", Class::Catastrophic, "takes an array apart")]),
    read("mount umount mount_nfs mount.cifs mount.nfs sshfs fusermount udisksctl losetup pmount pumount hdiutil kpartx", "mounts file systems").act(system::mount).valued("-t -o -L -U"),
    write("fsck e2fsck xfs_repair ntfsfix tune2fs resize2fs xfs_growfs btrfsck fsck.ext4 debugfs", "repairs file systems").can(&[Privilege]).flags(&[super::dry("-n -N"), flag("-z --undo", Class::Destructive, "rewrites a file system")]),
    read("swapon swapoff", "manages swap").act(system::setter),
    write("eject photorec testdisk foremost scalpel extundelete quotacheck edquota setquota quotaon quotaoff", "handles disks").can(&[]),
    write("badblocks", "tests a disk").flags(&[flag("-w", Class::Catastrophic, "overwrites a disk")]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("lsblk", "read", &[]);
        check("mkfs.ext4 /dev/sda1", "catastrophic", &["privilege"]);
        check("fdisk -l", "read", &[]);
        check("fdisk /dev/sda", "catastrophic", &["privilege"]);
        check("zpool list", "read", &[]);
        check("zpool destroy tank", "catastrophic", &[]);
        check("mount", "read", &[]);
        check("mount /dev/sdb1 /mnt", "write", &["privilege"]);
    }
}
