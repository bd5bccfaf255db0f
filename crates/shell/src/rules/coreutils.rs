//! Files and directories.

use super::{Files, Program, destroy, dry, flag, read, write};
use crate::act::{copy, filter, find, modes, patch, remove, system};
use crate::answer::Class;

/// Programs of this family.
pub const PROGRAMS: &[Program] = &[
    read("ls dir vdir exa eza lsd ll la l gls", "lists entries").act(filter::ls).valued("-I --ignore -w --width --hide --color --format --sort --time --time-style"),
    read("tree", "lists a tree").files(Files::Read).valued("-L -P -I -o -H --charset --filelimit").flags(&[flag("-o", Class::Write, "writes a file")]),
    read("stat file du df wc nl cksum sum md5sum md5 sha1sum sha224sum sha256sum sha384sum sha512sum shasum b2sum b3sum xxhsum crc32 gstat gdu gdf lsattr getfacl getfattr namei pathchk readelf objdump nm strings size ldd hexdump od hd cmp colordiff sdiff diff3 dircolors stat64 ncdu dust duf erd broot exiftool mediainfo identify pdfinfo isutf8 uchardet chardetect enca", "looks at files").files(Files::Read).valued("-m -F --from -c --format -f -t -A -j -N -S -w -d --max-depth --exclude -n -b -e --printf").flags(&[flag("-C --compile", Class::Write, "writes a compiled magic file")]),
    read("diff difft delta", "compares files").files(Files::Read).valued("-U -C -x -X -I -L --exclude --label --width -W -F").flags(&[flag("--output", Class::Write, "writes a file")]),
    read("basename dirname", "takes a path apart").act(filter::basename).valued("-s"),
    read("realpath readlink greadlink grealpath", "resolves a path").act(filter::realpath),
    read("mktemp tempfile", "makes a temporary file").act(filter::mktemp).valued("-p --suffix --tmpdir?"),
    write("mkdir gmkdir mkfifo mknod touch gtouch", "creates entries").files(Files::Create).valued("-m --mode -t -d -r --date --reference"),
    write("rmdir grmdir", "removes empty directories").files(Files::Create),
    write("rm grm del erase", "removes files").act(remove::rm),
    destroy("unlink", "removes a file").act(remove::shred),
    destroy("shred srm wipe scrub sfill bleachbit", "overwrites files so that they cannot be recovered").act(remove::shred).valued("-n -s --iterations --size --random-source"),
    write("truncate gtruncate", "changes the size of files").act(remove::truncate).valued("-s --size -r --reference"),
    write("rimraf del-cli", "removes trees").act(remove::trees).valued("--max-retries --retry-delay --backoff --impl --tmp"),
    write("trash trash-put trash-cli gio-trash rip", "moves files to the trash").act(remove::trees),
    write("trash-rm", "removes files from the trash"),
    destroy("trash-empty", "empties the trash"),
    write("cp gcp pcp ditto", "copies files").act(copy::cp).valued("-t --target-directory -S --suffix --sparse --reflink --backup"),
    write("mv gmv", "moves files").act(copy::mv).valued("-t --target-directory -S --suffix"),
    write("ln gln link", "makes links").act(copy::ln).valued("-t --target-directory -S --suffix"),
    write("install ginstall", "copies files and sets their mode").act(copy::install).valued("-m --mode -o --owner -g --group -t --target-directory -S"),
    write("dd gdd dcfldd ddrescue", "copies blocks").act(copy::dd),
    read("tee gtee sponge", "copies its input to files").act(copy::tee),
    read("rsync openrsync", "copies trees").act(copy::rsync).valued("-e --rsh --exclude --include --exclude-from --include-from --files-from -f --filter --rsync-path -T --temp-dir --bwlimit --max-size --min-size --log-file --out-format --port --password-file --partial-dir --backup-dir --suffix --timeout --info --compare-dest --link-dest --chmod --chown -B -M"),
    write("chmod gchmod", "changes modes").act(modes::chmod),
    write("chown gchown chgrp gchgrp", "changes owners").act(modes::chown).valued("--from"),
    write("chattr setfacl chflags setfattr setfile setcap chcon restorecon semanage", "changes attributes").act(modes::attributes),
    read("find gfind bfs", "searches files").act(find::find),
    read("fd fdfind", "searches files").act(find::fd),
    read("locate mlocate plocate mdfind", "searches an index of files"),
    write("updatedb", "refreshes an index of files"),
    write("rename prename mmv mcp zmv ipcrm perl-rename vidir detox", "renames files").flags(&[dry("-n --no-act --nono")]),
    write("split gsplit csplit", "cuts files into pieces").files(Files::Read).valued("-l -b -n -a -d -C --lines --bytes --suffix-length --additional-suffix"),
    read("xattr", "reads extended attributes").act(system::setter),
    write("sync fsync fallocate mkfile", "writes files out").files(Files::Create).valued("-l -o -n --length --offset"),
    write("patch", "changes files by a patch").act(patch::patch).valued("-i -p -d -o -r --input --strip --directory --output --reject-file").flags(&[dry("--dry-run")]),
    write("stow symlinks dos2unix unix2dos mac2unix fromdos todos recode convmv fdupes jdupes rdfind rmlint", "changes files").flags(&[flag("-d --delete -deleteduplicates", Class::Destructive, "removes duplicates")]),
];

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rows() {
        check("f=$(mktemp); echo x > $f", "write", &[]);
        check("f=$(mktemp /tmp/a.XXXX); echo x > $f", "write", &[]);
        check("mktemp -p .claude", "write", &["guard-tampering"]);
        check("mktemp .claude/XXXX", "write", &["guard-tampering"]);
        check("mktemp --tmpdir=.claude", "write", &["guard-tampering"]);
        check("mktemp -d -p /etc/cron.d", "write", &["privilege", "persistence"]);
        check("ls -la", "read", &[]);
        check("rm notes.txt", "write", &[]);
        check("rm -rf build", "destructive", &[]);
        check("rm -rf /", "catastrophic", &[]);
        check("rm -rf ~/", "catastrophic", &[]);
        check("rm -rf \"$PREFIX/\"", "catastrophic", &[]);
        check("rm -rf \"${PREFIX:?}/\"", "destructive", &[]);
        check("cd / && rm -rf *", "catastrophic", &[]);
        check("rm -rf .git", "catastrophic", &[]);
        check("cp a b", "write", &[]);
        check("cp disk.img /dev/nvme0n1", "catastrophic", &[]);
        check("cp ~/.ssh/id_rsa /tmp/k", "write", &["credentials"]);
        check("mv /usr /usr.old", "catastrophic", &["privilege"]);
        check("dd if=/dev/zero of=/dev/vda bs=1M", "catastrophic", &[]);
        check("dd if=in.bin of=out.bin", "write", &[]);
        check("chmod +x run.sh", "write", &[]);
        check("chmod -R 777 /", "catastrophic", &[]);
        check("chmod u+s tool", "write", &["privilege"]);
        check("chown -R root:root /etc", "catastrophic", &["privilege"]);
        check("find . -name '*.o' -delete", "destructive", &[]);
        check("find / -type f -exec rm {} +", "catastrophic", &[]);
        check("find . -name '*.rs' -exec grep -l foo {} +", "read", &[]);
        check("find . -type d -empty -delete", "write", &[]);
        check("truncate -s 0 app.db", "destructive", &[]);
        check("tee -a ~/.bashrc", "write", &["persistence"]);
        check("rsync -a --delete empty/ /", "catastrophic", &[]);
        check("rsync -an --delete a/ b/", "read", &[]);
        check("touch .claude/settings.json", "write", &["guard-tampering"]);
        check("ln -s a b", "write", &[]);
        check("shred -u key", "destructive", &[]);
    }
}
