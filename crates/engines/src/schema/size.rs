//! How large a schema is with all its references followed, which bounds the work of judging with it.
//!
//! A reference that leads back to itself, or many alternatives that share their parts, make the work grow with a power
//! of the proposal's size. Such schemas are refused before any agent can send the proposal.

use super::lint::{MANY, NAMED, ONE};
use crate::declared;
use crate::fault::CompileFault;
use std::collections::{BTreeMap, BTreeSet};
use values::json::Json;

/// Subschemas in all.
const PARTS_MAX: usize = 5_000;
/// Subschemas inside subschemas: validation recurses.
const DEPTH_MAX: usize = 256;
/// To know what is unevaluated, the validator judges everything beside the keyword again, at every level.
const UNEVALUATED_FACTOR: usize = 3;

/// The size of a schema with all references followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) parts: usize,
    /// Parts that stand inside alternatives: each may fail on its own, so each may have its own error.
    pub(super) alternatives: usize,
    depth: usize,
}

/// Measures a schema, or says why it has no bounded size.
pub(super) fn measure(schema: &Json) -> Result<Size, CompileFault> {
    let mut gauge = Gauge { root: schema, positions: BTreeSet::new(), sizes: BTreeMap::new(), open: BTreeSet::new() };
    gauge.find_positions(schema, &mut BTreeSet::new()).map_err(CompileFault::whole)?;
    gauge.size(schema, 1).map_err(CompileFault::whole)
}

struct Gauge<'s> {
    root: &'s Json,
    /// Where schemas stand. A reference to anything else would bring in keywords that nobody looked at.
    positions: BTreeSet<*const Json>,
    sizes: BTreeMap<*const Json, Size>,
    /// The schemas around the one being measured.
    open: BTreeSet<*const Json>,
}

impl<'s> Gauge<'s> {
    /// Recursion is bounded: contract documents are at most 32 deep.
    fn find_positions(&mut self, schema: &'s Json, anchors: &mut BTreeSet<&'s str>) -> Result<(), String> {
        self.positions.insert(schema);
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            if let ("$anchor" | "$dynamicAnchor", Some(name)) = (keyword.as_str(), value.as_text())
                && !anchors.insert(name)
            {
                return Err(format!("the anchor `{name}` stands twice"));
            }
            children(keyword, value).try_for_each(|child| self.find_positions(child, anchors))?;
        }
        Ok(())
    }

    fn size(&mut self, schema: &'s Json, depth: usize) -> Result<Size, String> {
        let key = std::ptr::from_ref(schema);
        if let Some(size) = self.sizes.get(&key) {
            return Ok(*size);
        }
        if depth > DEPTH_MAX {
            return Err(too("nests", DEPTH_MAX, "levels deep"));
        }
        self.open.insert(key);
        let mut size = Size { parts: 1, alternatives: 0, depth: 1 };
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            self.add_keyword(keyword, value, depth, &mut size)?;
        }
        if schema.get("unevaluatedProperties").or(schema.get("unevaluatedItems")).is_some() {
            size.parts = size.parts.saturating_mul(UNEVALUATED_FACTOR);
        }
        if size.parts > PARTS_MAX {
            return Err(too("expands to", PARTS_MAX, "parts"));
        }
        if size.depth > DEPTH_MAX {
            return Err(too("nests", DEPTH_MAX, "levels deep"));
        }
        self.open.remove(&key);
        self.sizes.insert(key, size);
        Ok(size)
    }

    fn add_keyword(&mut self, keyword: &str, value: &'s Json, depth: usize, size: &mut Size) -> Result<(), String> {
        // Definitions count where they are used.
        if keyword == "$defs" {
            return Ok(());
        }
        if let ("$ref" | "$dynamicRef", Some(reference)) = (keyword, value.as_text()) {
            let target = self.target(keyword, reference)?;
            let below = self.size(target, depth + 1)?;
            size.add(below, false);
        }
        for child in children(keyword, value) {
            let below = self.size(child, depth + 1)?;
            size.add(below, matches!(keyword, "anyOf" | "oneOf"));
        }
        Ok(())
    }

    fn target(&self, keyword: &str, reference: &str) -> Result<&'s Json, String> {
        let Some(target) = declared::target(self.root, reference) else {
            return Err(format!("`{keyword}` points to `{reference}`, where there is nothing"));
        };
        let key = std::ptr::from_ref(target);
        if !self.positions.contains(&key) {
            return Err(format!("`{keyword}` points to `{reference}`, which is not a schema"));
        }
        if self.open.contains(&key) {
            return Err(format!("`{reference}` refers to itself; {UNBOUNDED}"));
        }
        Ok(target)
    }
}

const UNBOUNDED: &str = "such a schema cannot be judged in bounded time";

fn too(verb: &str, max: usize, noun: &str) -> String {
    let max = if max == PARTS_MAX { "5,000".to_owned() } else { max.to_string() };
    format!("the schema {verb} more than {max} {noun} with its references followed; {UNBOUNDED}")
}

impl Size {
    fn add(&mut self, below: Size, alternative: bool) {
        self.parts = self.parts.saturating_add(below.parts);
        let branching = if alternative { below.parts } else { below.alternatives };
        self.alternatives = self.alternatives.saturating_add(branching);
        self.depth = self.depth.max(below.depth.saturating_add(1));
    }
}

/// The schemas directly under a keyword.
fn children<'s>(keyword: &str, value: &'s Json) -> Box<dyn Iterator<Item = &'s Json> + 's> {
    if ONE.contains(&keyword) {
        return Box::new(std::iter::once(value));
    }
    let listed = value.as_list().filter(|_| MANY.contains(&keyword));
    let named = value.as_object().filter(|_| NAMED.contains(&keyword));
    Box::new(listed.into_iter().flatten().chain(named.into_iter().flat_map(|named| named.values())))
}
