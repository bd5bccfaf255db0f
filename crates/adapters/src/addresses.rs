//! Which addresses may be talked to: the public ones, and those of the inside that someone named.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses: `10.0.0.0/8`, `fd00::/8`, or one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    base: IpAddr,
    bits: u32,
}

impl Range {
    /// Reads a range; `None` if it is none.
    pub fn parse(text: &str) -> Option<Range> {
        let (base, bits) = match text.split_once('/') {
            Some((base, bits)) => (base, Some(bits.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let base: IpAddr = base.parse().ok()?;
        let width = if base.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(width);
        (bits <= width).then_some(Range { base, bits })
    }

    /// Whether the address lies in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let shift = 32 - self.bits;
                u64::from(base.to_bits()) >> shift == u64::from(address.to_bits()) >> shift
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let shift = 128 - self.bits;
                let head = |bits: u128| bits.checked_shr(shift).unwrap_or(0);
                head(base.to_bits()) == head(address.to_bits())
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// What is wrong with talking to an address; `None` if nothing is.
///
/// An IPv4 address inside of an IPv6 one is judged as what it is.
pub fn problem(address: IpAddr, allowed: &[Range]) -> Option<&'static str> {
    let address = plain(address);
    if allowed.iter().any(|range| range.contains(address)) {
        return None;
    }
    match address {
        IpAddr::V4(address) => v4_problem(address),
        IpAddr::V6(address) => v6_problem(address),
    }
}

/// Whether someone named the range it lies in.
pub fn is_named(address: IpAddr, allowed: &[Range]) -> bool {
    allowed.iter().any(|range| range.contains(plain(address)))
}

/// The IPv4 address that an IPv6 one stands for, where it does: mapped, translated (64:ff9b::/96), 6to4, compatible.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let bits = v6.to_bits();
    let low = u32::try_from(bits & 0xffff_ffff).unwrap_or(0);
    let high = bits >> 32;
    let is_mapped = high == 0xffff;
    let is_translated = high == 0x0064_ff9b_u128 << 64;
    let is_compatible = high == 0 && low > 1;
    if is_mapped || is_translated || is_compatible {
        return IpAddr::V4(Ipv4Addr::from_bits(low));
    }
    if bits >> 112 == 0x2002 {
        let inner = u32::try_from(bits >> 80 & 0xffff_ffff).unwrap_or(0);
        return IpAddr::V4(Ipv4Addr::from_bits(inner));
    }
    address
}

fn v4_problem(address: Ipv4Addr) -> Option<&'static str> {
    let within = |base: [u8; 4], bits: u32| Range { base: IpAddr::V4(base.into()), bits }.contains(address.into());
    const INSIDE: &[([u8; 4], u32, &str)] = &[
        ([0, 0, 0, 0], 8, "an address of this network"),
        ([127, 0, 0, 0], 8, "a loopback address"),
        ([10, 0, 0, 0], 8, "a private address"),
        ([172, 16, 0, 0], 12, "a private address"),
        ([192, 168, 0, 0], 16, "a private address"),
        ([100, 64, 0, 0], 10, "a carrier's private address"),
        ([169, 254, 0, 0], 16, "a link-local address, where clouds keep credentials"),
        ([192, 0, 0, 0], 24, "a reserved address"),
        ([192, 0, 2, 0], 24, "a reserved address"),
        ([192, 88, 99, 0], 24, "a reserved address"),
        ([198, 18, 0, 0], 15, "a reserved address"),
        ([198, 51, 100, 0], 24, "a reserved address"),
        ([203, 0, 113, 0], 24, "a reserved address"),
        ([224, 0, 0, 0], 3, "a multicast or reserved address"),
    ];
    INSIDE.iter().find(|(base, bits, _)| within(*base, *bits)).map(|(_, _, problem)| *problem)
}

fn v6_problem(address: Ipv6Addr) -> Option<&'static str> {
    let first = address.segments().first().copied().unwrap_or(0);
    if address.is_unspecified() || address.is_loopback() {
        return Some("a loopback address");
    }
    match first {
        0xfc00..=0xfdff => Some("a private address"),
        0xfe80..=0xfeff => Some("a link-local address"),
        0xff00..=0xffff => Some("a multicast address"),
        // Only global unicast is assigned; of it, Teredo and documentation hide or name nothing.
        0x2000..=0x3fff if address.to_bits() >> 96 == 0x2001_0000 => Some("a tunnelled address"),
        0x2000..=0x3fff if address.to_bits() >> 96 == 0x2001_0db8 => Some("a reserved address"),
        0x2000..=0x3fff => None,
        _ => Some("a reserved address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inside_is_refused_however_it_is_written() {
        let refused = [
            "127.0.0.1",
            "127.255.0.3",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.100.100.200",
            "198.19.0.1",
            "192.0.0.192",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:a00:1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "fd00:ec2::254",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "2001:0:1::1",
            "100::1",
            "4000::1",
        ];
        for text in refused {
            assert!(problem(text.parse().unwrap(), &[]).is_some(), "{text}");
        }
        for text in ["1.1.1.1", "172.32.0.1", "11.0.0.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"] {
            assert_eq!(problem(text.parse().unwrap(), &[]), None, "{text}");
        }
    }

    #[test]
    fn what_someone_named_is_allowed_and_nothing_else() {
        let allowed = [
            Range::parse("127.0.0.0/8").unwrap(),
            Range::parse("fd00::/8").unwrap(),
            Range::parse("10.0.0.7").unwrap(),
        ];
        for text in ["127.9.9.9", "::ffff:127.0.0.1", "fd12::1", "10.0.0.7"] {
            assert_eq!(problem(text.parse().unwrap(), &allowed), None, "{text}");
        }
        for text in ["10.0.0.8", "169.254.169.254", "::1", "fc00::1"] {
            assert!(problem(text.parse().unwrap(), &allowed).is_some(), "{text}");
        }
        for text in ["127.0.0.0/33", "x", "127.0.0.1/", "::1/129", "300.0.0.1"] {
            assert_eq!(Range::parse(text), None, "{text}");
        }
    }
}
