//! Archives, compression and backups.

use super::{Files, Program, destroy, dry, read, verb, write};
use crate::act::{archive, patch};
use crate::answer::Capability::Network;
use crate::answer::Class;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    read("tar gtar bsdtar star pax", "packs or unpacks").act(archive::tar),
    write("zip", "packs files").act(archive::zip).valued("-b -i -n -t -tt -x --password -P -s"),
    write("unzip", "unpacks files").act(patch::unzip).valued("-d -x -P").flags(&[dry("-l -v -t -z -Z -p")]),
    write("7z 7za 7zr p7zip rar unrar unar atool aunpack apack dtrx unace arj cabextract lha zoo", "packs or unpacks").verbs(&[verb("l|t|i|h|lb|lt|v|vb", Class::Read, "lists an archive"), verb("d", Class::Destructive, "removes entries of an archive")]),
    read("gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4 unlz4 lzop compress uncompress pigz unpigz pbzip2 pixz brotli lzip plzip lrzip zopfli", "compresses files").act(archive::compress).valued("-S -b -p -T -o"),
    read("zcat gzcat bzcat xzcat lzcat zstdcat lz4cat zdiff zcmp bzdiff xzdiff zipinfo zipgrep lsar funzip zfile", "prints compressed files").files(Files::Read),
    write("cpio", "packs or unpacks").act(patch::cpio).valued("-F -O -I -D -H -R -E"),
    write("ar ranlib strip shar uuencode mkisofs genisoimage xorriso mksquashfs unsquashfs makeself createrepo rpm2cpio rpmbuild dpkg-deb dpkg-buildpackage debuild fpm makepkg upx", "builds archives").valued("-F -O -I -o"),
    write("cdrecord wodim growisofs brasero", "burns a disc"),
    write("restic", "backs up").can(&[Network]).valued("-r --repo --repository-file -p --password-file --tag --host --path --keep-last --keep-daily").verbs(&[verb("snapshots|ls|find|dump|stats|check|diff|cat|list|version|cache|mount, key list", Class::Read, "looks at backups"), verb("forget|prune|rewrite|repair", Class::Destructive, "drops backups"), verb("key remove", Class::Destructive, "drops a key")]).flags(&[dry("--dry-run")]),
    write("borg borgmatic", "backs up").can(&[Network]).verbs(&[verb("list|info|diff|check|mount|umount|version|rlist|repo-list|repo-info|rinfo, key export", Class::Read, "looks at backups"), verb("delete|prune|compact|recreate|repo-delete|rdelete|rcompress", Class::Destructive, "drops backups")]).flags(&[dry("-n --dry-run")]),
    write("rclone", "copies to storage elsewhere").can(&[Network]).valued("--config --include --exclude --filter --transfers --checkers --bwlimit --max-age --min-age").verbs(&[verb("ls|lsl|lsd|lsf|lsjson|size|md5sum|sha1sum|hashsum|check|cat|about|version|listremotes|tree|ncdu|cryptcheck|obscure|help, config show|dump", Class::Read, "looks at storage"), verb("delete|deletefile|purge|rmdir|rmdirs|sync|move|moveto|cleanup|dedupe|bisync", Class::Destructive, "removes files in storage")]).flags(&[dry("-n --dry-run")]),
    write("velero", "backs up clusters").can(&[Network]).verbs(&[verb("** get|describe|logs|download", Class::Read, "looks at backups"), verb("version|client|completion", Class::Read, "looks at backups"), verb("** delete", Class::Destructive, "drops backups"), verb("uninstall", Class::Destructive, "removes the backup system")]),
    write("duplicity duply rdiff-backup rsnapshot bacula bconsole tarsnap kopia duplicacy zbackup bup attic", "backs up").can(&[Network]).verbs(&[verb("** list*|collection-status|verify|show|ls|snapshots|status", Class::Read, "looks at backups"), verb("** remove*|cleanup|delete*|prune|purge|forget", Class::Destructive, "drops backups")]),
    destroy("wbadmin vssadmin", "manages backups"),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("tar tzf a.tgz", "read", &[]);
        check("tar xzf a.tgz", "write", &[]);
        check("tar cf a.tar src", "write", &[]);
        check("tar --remove-files -cf a.tar src", "destructive", &[]);
        check("tar cf a.tar --checkpoint=1 --checkpoint-action=exec='rm -rf /' x", "catastrophic", &["exec"]);
        check("zip -r a.zip src", "write", &[]);
        check("unzip -l a.zip", "read", &[]);
        check("gunzip a.gz", "write", &[]);
        check("restic snapshots", "read", &["network"]);
        check("restic forget --keep-last 1 --prune", "destructive", &["network"]);
        check("rclone sync a remote:b", "destructive", &["network"]);
        check("rclone ls remote:b", "read", &["network"]);
    }
}
