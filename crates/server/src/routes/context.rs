//! context.

use super::Route;

pub const ROUTES: &[Route] = &[];
