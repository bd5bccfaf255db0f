//! The target of a fetching tool, read as clients read it: percent signs, wide digits, numbers for dots, tabs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// A target that is not an ordinary page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FetchTarget {
    /// A metadata service, which hands out the credentials of a cloud machine.
    CredentialService(String),
    /// A file of this machine.
    File(String),
}

/// Names that clouds give the address.
const NAMES: &[&str] = &[
    "metadata.google.internal",
    "metadata.goog",
    "metadata",
    "metadata.tencentyun.com",
    "metadata.platformequinix.com",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Networks of single addresses that hand out credentials: of Alibaba, of Oracle, of Amazon (twice), of Google.
const V4: &[[u8; 4]] = &[[100, 100, 100, 200], [192, 0, 0, 192]];
const V6: &[[u16; 8]] = &[
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23],
    [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254],
];

/// The targets a text names: the whole text as an address, and each word of it.
pub fn targets(text: &str) -> Vec<FetchTarget> {
    // In a sentence only what says how to get there is an address.
    let words = text.split_whitespace().filter(|word| word.contains(':'));
    // Browsers skip tabs and line ends inside an address.
    let candidates = std::iter::once(text).chain(words);
    candidates
        .filter_map(|candidate| target(candidate.trim_matches(['<', '>', '"', '\'', '(', ')', ',', '`'])))
        .collect()
}

fn target(text: &str) -> Option<FetchTarget> {
    // What no scheme says is a page.
    let url = match Url::parse(text) {
        Ok(url) if url.has_host() || url.scheme() == "file" => url,
        Ok(_) | Err(_) => Url::parse(&format!("http://{text}")).ok()?,
    };
    if url.scheme() == "file" {
        return url.to_file_path().ok().map(|path| FetchTarget::File(path.to_string_lossy().into_owned()));
    }
    let host = url.host()?;
    hands_out(&host).then(|| FetchTarget::CredentialService(host.to_string()))
}

fn hands_out(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            // Names that stand for the address in them: `169.254.169.254.nip.io`, `169-254-169-254.sslip.io`.
            NAMES.contains(&name) || ["169.254.169.", "169-254-169-", "a9fea9fe"].iter().any(|part| name.contains(part))
        }
        Host::Ipv4(address) => of_v4(*address),
        Host::Ipv6(address) => match address.to_canonical() {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        },
    }
}

fn of_v4(address: Ipv4Addr) -> bool {
    address.is_link_local() || V4.contains(&address.octets())
}

fn of_v6(address: Ipv6Addr) -> bool {
    let [first, second, .., high, low] = address.segments();
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    // IPv4 addresses embedded in IPv6: IPv4-compatible ones, and those of NAT64.
    let is_inside = address.segments().iter().take(6).all(|part| *part == 0) || (first, second) == (0x64, 0xff9b);
    V6.contains(&address.segments()) || address.is_unicast_link_local() || is_inside && of_v4(Ipv4Addr::new(a, b, c, d))
}

#[cfg(test)]
mod tests {
    use super::{FetchTarget, targets};

    #[test]
    fn every_way_to_write_the_address_is_found() {
        let check = |text: &str, expected: bool| {
            let found = targets(text).iter().any(|target| matches!(target, FetchTarget::CredentialService(_)));
            assert_eq!(found, expected, "{text}");
        };
        for text in [
            "http://169.254.169.254/latest/meta-data/",
            "169.254.169.254",
            "169.254.169.254/latest",
            "http://169.254.169.254:80?x",
            "http://user:pass@169.254.169.254",
            "http://0xa9fea9fe/",
            "http://2852039166/",
            "http://0251.0376.0251.0376/",
            "http://169.254.43518/",
            "http://169.254.169.254./",
            "http://[::ffff:169.254.169.254]/",
            "http://[::169.254.169.254]/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://[fd00:ec2::254]/latest",
            "http://[fd00:ec2::23]/v1/credentials",
            "http://[fd20:ce::254]/",
            "http://METADATA.google.internal/computeMetadata/v1/",
            "http://metadata%2egoogle.internal/",
            "https://ⓜetadata.google.internal/",
            "http://metadata/",
            "http://100.100.100.200/latest/",
            "http://192.0.0.192/opc/v2/",
            "http://１６９.254.169.254/",
            "http://169。254。169。254/",
            "http://%31%36%39.254.169.254/",
            "http:/169.254.169.254/",
            "http:169.254.169.254",
            "http:\\\\169.254.169.254\\x",
            "http://\t169.254.169.254",
            "http://169.254\n.169.254/",
            "http://169.254.169.254.nip.io/",
            "http://a.169-254-169-254.sslip.io/",
            "summarise http://169.254.169.254/latest for me",
            "look at <http://１６９.254.169.254/>, please",
        ] {
            check(text, true);
        }
        for text in [
            "https://docs.rs/serde",
            "https://example.com/169.254.169.254",
            "http://localhost:3000/",
            "http://127.0.0.1:8080/",
            "https://1.2.3.4.5/",
            "how does 1.2.3 differ from 1.2.4?",
            "how does 169.254.169.254 work",
            "what is metadata",
            "metadata of a crate",
            "2852039166x",
            "",
        ] {
            check(text, false);
        }
        assert_eq!(
            targets("file:///w/.env"),
            [FetchTarget::File("/w/.env".to_owned()), FetchTarget::File("/w/.env".to_owned())]
        );
    }
}
