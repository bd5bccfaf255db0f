//! Addresses at which machines of a cloud are handed their credentials. Whoever reads one of them reads a secret.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names that clouds give the address.
const NAMES: &[&str] = &["metadata.google.internal", "metadata.goog", "metadata", "instance-data"];

/// The host of the first address in a text that hands out credentials.
pub fn named_in(text: &str) -> Option<String> {
    let starts = text.match_indices("//").filter_map(|(at, _)| text.get(at + 2..));
    // Without slashes before it a word is a word, and a number a number.
    let bare = Some(host(text)).filter(|host| host.contains(['.', ':']));
    starts.map(host).chain(bare).find(|host| hands_out(host))
}

/// From behind the `//` up to the path, without who logs in and without the port; as browsers read it.
fn host(text: &str) -> String {
    let end = text.find(|letter: char| matches!(letter, '/' | '\\' | '?' | '#') || letter.is_whitespace());
    let authority = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    let behind = authority.rsplit('@').next().unwrap_or_default();
    let plain = match behind.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inside, _)) => inside,
        None => behind.split(':').next().unwrap_or_default(),
    };
    plain.trim_end_matches('.').to_ascii_lowercase()
}

fn hands_out(host: &str) -> bool {
    let address = host.parse::<Ipv6Addr>().ok().map(|address| address.to_canonical());
    match address.or_else(|| v4(host).map(IpAddr::V4)) {
        None => NAMES.contains(&host),
        Some(IpAddr::V4(address)) => address.is_link_local() || address.octets() == [100, 100, 100, 200],
        // The one of Amazon, and link-local ones.
        Some(IpAddr::V6(address)) => {
            address.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] || address.is_unicast_link_local()
        }
    }
}

/// An address of four numbers or fewer, the last one filling the rest; each decimal, octal (`0…`) or hex (`0x…`).
fn v4(host: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = host.split('.').collect();
    let (last, first) = parts.split_last().filter(|(_, first)| first.len() < 4)?;
    let mut bits = number(last)?;
    let free = 8 * (4 - u32::try_from(first.len()).ok()?);
    if u64::from(bits) >> free != 0 {
        return None;
    }
    for (place, part) in first.iter().enumerate() {
        let octet = number(part).filter(|octet| *octet < 256)?;
        bits |= octet << (24 - 8 * u32::try_from(place).ok()?);
    }
    Some(Ipv4Addr::from_bits(bits))
}

fn number(part: &str) -> Option<u32> {
    match part.strip_prefix("0x") {
        Some("") => Some(0),
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None if part.len() > 1 && part.starts_with('0') => u32::from_str_radix(part, 8).ok(),
        None => part.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::named_in;

    #[test]
    fn every_way_to_write_the_address_is_found() {
        let check = |text: &str, expected: bool| assert_eq!(named_in(text).is_some(), expected, "{text}");
        for text in [
            "http://169.254.169.254/latest/meta-data/",
            "169.254.169.254",
            "http://169.254.169.254:80?x",
            "http://user:pass@169.254.169.254",
            "http://0xa9fea9fe/",
            "http://2852039166/",
            "http://0251.0376.0251.0376/",
            "http://169.254.43518/",
            "http://169.254.169.254./",
            "http://[::ffff:169.254.169.254]/",
            "http://[fd00:ec2::254]/latest",
            "http://METADATA.google.internal/computeMetadata/v1/",
            "http://100.100.100.200/latest/",
            "https:\\/\\/x//169.254.170.2/v2/credentials",
            "summarise http://169.254.169.254/latest for me",
        ] {
            check(text, true);
        }
        for text in [
            "https://docs.rs/serde",
            "https://example.com/169.254.169.254",
            "https://169.254.169.254.example.com/",
            "http://localhost:3000/",
            "http://127.0.0.1:8080/",
            "https://1.2.3.4.5/",
            "what is metadata",
            "metadata of a crate",
            "2852039166",
            "",
        ] {
            check(text, false);
        }
    }
}
