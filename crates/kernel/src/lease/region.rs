//! Regions: a path with everything below it, or a named thing. Equal regions have equal keys.
//!
//! Paths are compared component by component, so `/a/b` and `/a/bc` have nothing in common. `.` and `..` are resolved
//! by the text alone; who wants symbolic links followed resolves them before. **Case does not count**: on some file
//! systems `SRC` and `src` are the same folder, and a conflict too many costs a moment, one too few costs work.

use std::fmt;
use values::ids;

/// Longest path; what systems allow.
pub const PATH_BYTES_MAX: usize = 4_096;

/// Ends every component of a key, and is in no component: so a key that begins with another lies inside of it.
const END: char = '\0';

/// The character behind [`END`]. It is in no component either, for control characters are refused.
const BEHIND_END: char = '\u{1}';

const PATH: &str = "path";
const THING: &str = "thing";

/// What named things start with where they are written.
const THING_TEXT: &str = "thing:";

/// A part of the tree or a named thing.
///
/// ```
/// use kernel::lease::region::Region;
/// let region = |text| Region::path("/ws", text).unwrap();
/// assert_eq!(region("src/./api/../web"), region("/ws/src/web/"));
/// assert!(region("src").covers(&region("src/web/a.ts")));
/// assert!(!region("src/api").overlaps(&region("src/api2")));
/// assert_eq!(Region::glob("/ws", "src/**/*.rs").unwrap(), region("src"));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region {
    /// INVARIANT (prefix): every component is folded and followed by [`END`].
    key: Box<str>,
}

impl Region {
    /// The path and everything below it. Relative paths start at the base, which is absolute.
    pub fn path(base: &str, text: &str) -> Result<Region, RegionFault> {
        let components = resolved(base, text)?;
        Ok(Region::of_components(&components))
    }

    /// What a pattern may match: everything below the last folder that is certain.
    pub fn glob(base: &str, pattern: &str) -> Result<Region, RegionFault> {
        let is_wild = |component: &str| component.contains(['*', '?', '[', '{']);
        let certain: Vec<&str> = pattern.split('/').take_while(|component| !is_wild(component)).collect();
        let mut open = pattern.split('/').skip(certain.len());
        // Behind a wildcard `..` leads anywhere, and inside of braces it may be a component of its own.
        if open.any(|component| component.contains("..")) {
            return Err(RegionFault::Outside(pattern.to_owned()));
        }
        let folder = certain.join("/");
        let text = match (folder.is_empty(), pattern.starts_with('/')) {
            (true, true) => "/",
            (true, false) if !pattern.is_empty() => ".",
            (true | false, _) => &folder,
        };
        Region::path(base, text)
    }

    /// A thing with a name, for example `database:orders`.
    pub fn thing(name: &str) -> Result<Region, RegionFault> {
        match ids::identifier_problem(name) {
            Some(problem) => Err(RegionFault::Name(problem)),
            None => Ok(Region { key: format!("{THING}{END}{}{END}", folded(name)).into() }),
        }
    }

    /// Reads what [`Region::to_text`] wrote, or what someone typed in the same way: a path from the root, or `thing:NAME`.
    ///
    /// ```
    /// use kernel::lease::region::Region;
    /// for text in ["/ws/src", "/", "thing:database:orders"] {
    ///     assert_eq!(Region::from_text(text).unwrap().to_text(), text);
    /// }
    /// assert!(Region::from_text("src").is_err() && Region::from_text("thing:").is_err());
    /// ```
    pub fn from_text(text: &str) -> Result<Region, RegionFault> {
        match text.strip_prefix(THING_TEXT) {
            Some(name) => Region::thing(name),
            None if text.starts_with('/') => Region::path("/", text),
            None => Err(RegionFault::Base(text.to_owned())),
        }
    }

    /// A region out of our own rows: what was taken once is taken again, also where folding made what nobody may type.
    pub(super) fn kept(text: &str) -> Option<Region> {
        match text.strip_prefix(THING_TEXT) {
            Some(name) => Some(Region { key: format!("{THING}{END}{}{END}", folded(name)).into() }),
            None => {
                let components: Vec<&str> =
                    text.strip_prefix('/')?.split('/').filter(|part| !part.is_empty()).collect();
                Some(Region::of_components(&components))
            }
        }
    }

    /// One text for one region, for commands and rows.
    pub fn to_text(&self) -> String {
        match self.key.split_once(END) {
            Some((THING, _)) => format!("{THING_TEXT}{self}"),
            Some(_) | None => self.to_string(),
        }
    }

    fn of_components(components: &[&str]) -> Region {
        let mut key = format!("{PATH}{END}");
        for component in components {
            key.push_str(&folded(component));
            key.push(END);
        }
        Region { key: key.into() }
    }

    /// Whether the other lies wholly inside.
    pub fn covers(&self, other: &Region) -> bool {
        other.key.starts_with(&*self.key)
    }

    /// Whether they have anything in common.
    pub fn overlaps(&self, other: &Region) -> bool {
        self.covers(other) || other.covers(self)
    }

    /// Keys of everything that lies inside begin with this one.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The least key that is greater than all that begin with this one.
    pub(super) fn key_behind(&self) -> String {
        let mut behind = self.key.strip_suffix(END).unwrap_or(&self.key).to_owned();
        behind.push(BEHIND_END);
        behind
    }

    /// Keys of everything that this lies inside of, from the whole tree down to this itself.
    pub(super) fn keys_around(&self) -> impl Iterator<Item = &str> {
        self.key.match_indices(END).filter_map(|(at, end)| self.key.get(..at + end.len()))
    }
}

impl fmt::Display for Region {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inside = self.key.strip_suffix(END).unwrap_or(&self.key);
        match inside.split_once(END) {
            Some((PATH, path)) => write!(formatter, "/{}", path.replace(END, "/")),
            Some((_, name)) => formatter.write_str(name),
            None => formatter.write_str("/"),
        }
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Up and down again, character by character: letters with two small forms, or none, come out the same as well.
fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

fn resolved<'t>(base: &'t str, text: &'t str) -> Result<Vec<&'t str>, RegionFault> {
    if text.is_empty() {
        return Err(RegionFault::Empty);
    }
    if !base.starts_with('/') {
        return Err(RegionFault::Base(base.to_owned()));
    }
    if text == "~" || text.starts_with("~/") {
        return Err(RegionFault::Home(text.to_owned()));
    }
    if base.len() + text.len() > PATH_BYTES_MAX {
        return Err(RegionFault::Long);
    }
    if base.chars().chain(text.chars()).any(ids::is_deceptive) {
        return Err(RegionFault::Deceptive);
    }
    let start = if text.starts_with('/') { "" } else { base };
    let mut components = Vec::new();
    for component in start.split('/').chain(text.split('/')) {
        match component {
            "" | "." => {}
            // Above the root is the root.
            ".." => _ = components.pop(),
            other => components.push(other),
        }
    }
    Ok(components)
}

/// Why text names no region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RegionFault {
    /// Nothing could mean everything.
    Empty,
    /// The base is not absolute.
    Base(String),
    /// Whose home it is, the text does not say.
    Home(String),
    /// Longer than [`PATH_BYTES_MAX`].
    Long,
    /// Characters that make two names look the same.
    Deceptive,
    /// A pattern that climbs out of what it seems to name.
    Outside(String),
    /// A thing without a proper name.
    Name(&'static str),
}

impl fmt::Display for RegionFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegionFault::Empty => formatter.write_str("the path is empty"),
            RegionFault::Base(base) => write!(formatter, "the base `{base}` is not absolute"),
            RegionFault::Home(path) => write!(formatter, "`{path}` starts at a home that only a shell knows"),
            RegionFault::Long => write!(formatter, "the path is longer than {PATH_BYTES_MAX} bytes"),
            RegionFault::Deceptive => {
                formatter.write_str("the path contains control, bidirectional, zero-width or combining characters")
            }
            RegionFault::Outside(pattern) => write!(formatter, "`{pattern}` climbs up behind a wildcard"),
            RegionFault::Name(problem) => write!(formatter, "the name of the thing {problem}"),
        }
    }
}

impl std::error::Error for RegionFault {}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(region: Result<Region, RegionFault>) -> String {
        region.map_or_else(|fault| fault.to_string(), |region| region.to_string())
    }

    #[test]
    fn paths_are_canonical() {
        let check = |text: &str, expected: &str| assert_eq!(shown(Region::path("/ws", text)), expected, "{text}");
        check("src/api", "/ws/src/api");
        check("./src//api/", "/ws/src/api");
        check("src/api/../../etc", "/ws/etc");
        check("../../../etc/passwd", "/etc/passwd");
        check("/", "/");
        check("..", "/");
        check(".", "/ws");
        check("SRC/Api", "/ws/src/api");
        check("app/[id]/page.tsx", "/ws/app/[id]/page.tsx");
        check("a/...", "/ws/a/...");
        check("", "the path is empty");
        check("~/x", "`~/x` starts at a home that only a shell knows");
        check("a\0b", "the path contains control, bidirectional, zero-width or combining characters");
        check(&"x".repeat(5_000), "the path is longer than 4096 bytes");
        assert_eq!(shown(Region::path("ws", "a")), "the base `ws` is not absolute");
    }

    #[test]
    fn patterns_are_cut_at_the_first_wildcard() {
        let check = |text: &str, expected: &str| assert_eq!(shown(Region::glob("/ws", text)), expected, "{text}");
        check("src/api/**", "/ws/src/api");
        check("src/ap*", "/ws/src");
        check("**/*.py", "/ws");
        check("/**", "/");
        check("/etc/*", "/etc");
        check("src/a.py", "/ws/src/a.py");
        check("", "the path is empty");
        check("src/*/../../etc", "`src/*/../../etc` climbs up behind a wildcard");
        check("src/{a,../../etc}/x", "`src/{a,../../etc}/x` climbs up behind a wildcard");
        check("src/{a,..}/x", "`src/{a,..}/x` climbs up behind a wildcard");
        check("src/{b,..,a}/x", "`src/{b,..,a}/x` climbs up behind a wildcard");
    }

    #[test]
    fn nothing_is_shared_by_names_that_only_begin_alike() {
        let check = |left: &str, right: &str, expected: bool| {
            let region = |text: &str| Region::path("/", text).unwrap();
            assert_eq!(region(left).overlaps(&region(right)), expected, "{left} {right}");
            assert_eq!(region(right).overlaps(&region(left)), expected, "{right} {left}");
        };
        check("/a/b", "/a/bc", false);
        check("/a/b", "/a/b/c", true);
        check("/a/b", "/A/B", true);
        check("/STRASSE", "/Straße", true);
        check("/ΟΔΟΣ", "/οδος", true);
        check("/a/b", "/a/b", true);
        check("/a/b-c", "/a/b", false);
        check("/", "/a", true);
        check("/a", "/b", false);
    }

    #[test]
    fn things_are_not_paths() {
        let thing = |name: &str| Region::thing(name).unwrap();
        assert!(thing("Db").overlaps(&thing("db")));
        assert!(!thing("db").overlaps(&thing("db2")));
        assert!(!thing("a").overlaps(&Region::path("/", "a").unwrap()));
        assert!(!thing("a").overlaps(&Region::path("/", "/").unwrap()));
        assert_eq!(shown(Region::thing("")), "the name of the thing is empty");
    }
}
