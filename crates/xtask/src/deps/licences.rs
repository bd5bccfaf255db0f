//! Licences against the allow-list of `deny.toml`, also where cargo-deny is not installed.

use super::graph::Graph;

/// Every package whose licence the list does not allow, and every dependency without a version.
pub fn findings(graph: &Graph, deny: &str) -> Vec<String> {
    let allowed = allow_list(deny);
    let mut findings = Vec::new();
    if allowed.is_empty() {
        findings.push("deny.toml allows no licence at all".to_owned());
    }
    for package in &graph.packages {
        match &package.licence {
            Some(licence) if is_allowed(licence, &allowed) => {}
            Some(licence) => {
                findings.push(format!("`{}` is under `{licence}`, which deny.toml does not allow", package.name))
            }
            None => findings.push(format!("`{}` names no licence", package.name)),
        }
        if package.is_member {
            let any_version = package.wildcards.iter();
            findings.extend(any_version.map(|name| format!("`{}` takes any version of `{name}`", package.name)));
        }
    }
    findings
}

/// The quoted names of `allow = [ … ]` under `[licenses]`.
fn allow_list(deny: &str) -> Vec<&str> {
    let section = deny.split("\n[licenses]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let list = section.split("\nallow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    list.split('"').skip(1).step_by(2).collect()
}

/// SPDX: `OR` needs one allowed side, `AND` both; `/` is an old way to write `OR`.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    any_of(&mut words, allowed) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut one = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        one |= all_of(words, allowed);
    }
    one
}

fn all_of(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut all = single(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        all &= single(words, allowed);
    }
    all
}

fn single(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let inner = any_of(words, allowed);
        return words.next_if_eq(&")").is_some() && inner;
    }
    let Some(name) = words.next() else { return false };
    if words.next_if_eq(&"WITH").is_none() {
        return allowed.contains(&name);
    }
    let exception = words.next().unwrap_or_default();
    allowed.contains(&format!("{name} WITH {exception}").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let check = |expression: &str, expected: bool| {
            let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"];
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        };
        check("MIT", true);
        check("GPL-3.0-only", false);
        check("MIT OR GPL-3.0-only", true);
        check("MIT AND GPL-3.0-only", false);
        check("MIT/Apache-2.0", true);
        check("Apache-2.0 / MIT", true);
        check("(MIT OR GPL-3.0-only) AND Unicode-3.0", true);
        check("(MIT OR Apache-2.0) AND GPL-3.0-only", false);
        check("Apache-2.0 WITH LLVM-exception", true);
        check("MIT WITH LLVM-exception", false);
        check("", false);
        check("MIT MIT", false);
    }

    #[test]
    fn the_list_is_read_from_its_own_section() {
        let deny = "[bans]\nallow = [\"x\"]\n\n[licenses]\nversion = 2\nallow = [\n  \"MIT\", # why\n  \"Zlib\",\n]\n\n[sources]\nallow = [\"y\"]\n";
        assert_eq!(allow_list(deny), ["MIT", "Zlib"]);
        assert!(allow_list("[bans]\n").is_empty());
    }
}
