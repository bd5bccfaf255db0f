//! The names in an archive, read from its headers: plain tar and zip. What is packed any further is not looked into.

use shell::Member;
use std::io::{Read, Seek, SeekFrom};

/// Entries of one archive that are read.
const MEMBERS_MAX: usize = 10_000;

/// A header of tar, and the unit in which it counts.
const BLOCK: usize = 512;

/// Longest name that an entry may bring in a block of its own.
const NAME_BYTES_MAX: u64 = 16 * 1024;

/// Longest directory of a zip file that is read.
const DIRECTORY_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The end record of a zip file without its comment, and the longest comment.
const END_BYTES: usize = 22;
const COMMENT_BYTES_MAX: u64 = 65_535;

/// The entries, if all of them can be read.
pub fn of(file: &mut (impl Read + Seek)) -> Option<Vec<Member>> {
    file.rewind().ok()?;
    let mut start = [0_u8; 4];
    let is_long = file.read_exact(&mut start).is_ok();
    file.rewind().ok()?;
    if is_long && start.starts_with(b"PK") { zip(file) } else { tar(file) }
}

fn tar(file: &mut (impl Read + Seek)) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    let (mut name, mut link) = (None, None);
    for _ in 0..MEMBERS_MAX * 2 {
        let mut header = [0_u8; BLOCK];
        match file.read_exact(&mut header) {
            Ok(()) => {}
            // An archive that was cut short ends here for whoever unpacks it.
            Err(_) => return (!members.is_empty()).then_some(members),
        }
        if header.iter().all(|byte| *byte == 0) {
            return Some(members);
        }
        if !has_right_sum(&header) || members.len() >= MEMBERS_MAX {
            return None;
        }
        let size = octal(header.get(124..136)?)?;
        let padded = size.div_ceil(BLOCK as u64).checked_mul(BLOCK as u64)?;
        match header.get(156).copied()? {
            kind @ (b'L' | b'K' | b'x') => {
                if size > NAME_BYTES_MAX {
                    return None;
                }
                let mut data = vec![0_u8; usize::try_from(padded).ok()?];
                file.read_exact(&mut data).ok()?;
                let data = data.get(..usize::try_from(size).ok()?)?;
                match kind {
                    b'L' => name = Some(until_zero(data)),
                    b'K' => link = Some(until_zero(data)),
                    _ => {
                        name = extended(data, "path").or(name);
                        link = extended(data, "linkpath").or(link);
                    }
                }
                continue;
            }
            b'g' => {}
            kind => {
                let short = until_zero(header.get(..100)?);
                let folder = until_zero(header.get(345..500)?);
                let is_posix = header.get(257..262) == Some(b"ustar");
                let plain = if is_posix && !folder.is_empty() && header.get(262) == Some(&0) {
                    format!("{folder}/{short}")
                } else {
                    short
                };
                let target = link.take().unwrap_or_else(|| until_zero(header.get(157..257).unwrap_or_default()));
                // A second name of a file is as good as a link to it.
                let link = matches!(kind, b'1' | b'2').then_some(target);
                members.push(Member { name: name.take().unwrap_or(plain), link });
            }
        }
        file.seek(SeekFrom::Current(i64::try_from(padded).ok()?)).ok()?;
    }
    None
}

fn until_zero(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// A number in octal digits; numbers in any other form are of archives that are not looked into.
fn octal(bytes: &[u8]) -> Option<u64> {
    let text = until_zero(bytes);
    let digits = text.trim();
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// A header's sum is that of its bytes with blanks in place of the sum.
fn has_right_sum(header: &[u8; BLOCK]) -> bool {
    let own = |at: usize| (148..156).contains(&at);
    let sum: u64 = header.iter().enumerate().map(|(at, byte)| u64::from(if own(at) { b' ' } else { *byte })).sum();
    header.get(148..156).and_then(octal) == Some(sum)
}

/// The value of a key in `LENGTH KEY=VALUE` lines.
fn extended(data: &[u8], key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(data);
    let mut values = text.lines().filter_map(|line| line.split_once(' ')?.1.split_once('='));
    values.find(|(name, _)| *name == key).map(|(_, value)| value.to_owned())
}

fn zip(file: &mut (impl Read + Seek)) -> Option<Vec<Member>> {
    let size = file.seek(SeekFrom::End(0)).ok()?;
    let looked_at = size.min(COMMENT_BYTES_MAX + END_BYTES as u64);
    file.seek(SeekFrom::Start(size - looked_at)).ok()?;
    let mut tail = Vec::new();
    file.take(looked_at).read_to_end(&mut tail).ok()?;
    let at = tail.windows(4).rposition(|bytes| bytes == b"PK\x05\x06")?;
    let end = tail.get(at..at + END_BYTES)?;
    let (count, length, start) = (short(end, 10)?, long(end, 12)?, long(end, 16)?);
    // Archives over 4 GiB say so with these.
    if count == u16::MAX || start == u32::MAX || u64::from(length) > DIRECTORY_BYTES_MAX {
        return None;
    }
    file.seek(SeekFrom::Start(u64::from(start))).ok()?;
    let mut directory = Vec::new();
    file.take(u64::from(length)).read_to_end(&mut directory).ok()?;
    let mut rest = directory.as_slice();
    let mut members = Vec::new();
    for _ in 0..usize::from(count).min(MEMBERS_MAX) {
        if !rest.starts_with(b"PK\x01\x02") {
            return None;
        }
        let (name, extra, comment) = (short(rest, 28)?, short(rest, 30)?, short(rest, 32)?);
        // Where a link leads is packed with its content.
        if long(rest, 38)? >> 28 == 0o12 {
            return None;
        }
        let name_end = 46 + usize::from(name);
        members.push(Member { name: String::from_utf8_lossy(rest.get(46..name_end)?).into_owned(), link: None });
        rest = rest.get(name_end + usize::from(extra) + usize::from(comment)..)?;
    }
    (members.len() == usize::from(count)).then_some(members)
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn header(name: &str, kind: u8, link: &str, size: usize) -> Vec<u8> {
        let mut header = vec![0_u8; BLOCK];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        header[156] = kind;
        header[157..157 + link.len()].copy_from_slice(link.as_bytes());
        header[257..263].copy_from_slice(b"ustar\0");
        header[148..156].fill(b' ');
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        header
    }

    #[test]
    fn tar_names_its_entries() {
        let mut bytes = header("a.txt", b'0', "", 3);
        bytes.extend(b"abc".iter().chain([0_u8; 509].iter()));
        bytes.extend(header("long", b'L', "", 6));
        bytes.extend(b"x/y/z\0".iter().chain([0_u8; 506].iter()));
        bytes.extend(header("cut", b'0', "", 0));
        bytes.extend(header("l", b'2', "/etc", 0));
        bytes.extend([0_u8; 1024]);
        let found = of(&mut Cursor::new(bytes.clone())).unwrap();
        let found: Vec<(&str, Option<&str>)> =
            found.iter().map(|member| (member.name.as_str(), member.link.as_deref())).collect();
        assert_eq!(found, [("a.txt", None), ("x/y/z", None), ("l", Some("/etc"))]);
        bytes[0] = b'b';
        assert_eq!(of(&mut Cursor::new(bytes)), None);
        assert_eq!(of(&mut Cursor::new(b"\x1f\x8b".repeat(600))), None);
        assert_eq!(of(&mut Cursor::new(Vec::new())), None);
    }
}
