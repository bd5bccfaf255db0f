//! Enforcement: from a doubt about a call to what becomes of the call.
//!
//! A [`ladder`] says which interventions there are and what each does with the call. A [`gating`] policy picks the rung
//! from how sure the doubt is; gates may also name a rung outright. The [`Decision`](decision::Decision) is then shown
//! to a [`handler`], which may answer softer, never harder, and not at all differently where the rung is binding. What
//! the agent is told instead of a result is a [`corrective`], which is not evidence and cannot be made into it.

pub mod corrective;
pub mod decision;
pub mod gating;
pub mod handler;
pub mod ladder;
pub mod plan;
pub mod registry;
pub mod verdict;
