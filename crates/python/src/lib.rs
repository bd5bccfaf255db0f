//! The native half of the Python package: JSON text in, JSON text out, and everything between is the library's.
//!
//! Nothing here decides. Every call lets other Python threads run while it waits, and a store that was opened before a
//! fork refuses to be used after it. The typed half is `python/writkeeper`.

mod asking;
mod callbacks;
mod context;
mod deciding;
mod faults;
mod later;
mod performing;
mod proving;
mod reading;
mod store;

use pyo3::prelude::*;

/// What `writkeeper._native` holds.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::deciding::{Rehearsal, rehearse};
    #[pymodule_export]
    use super::later::Later;
    #[pymodule_export]
    use super::proving::verify;
    #[pymodule_export]
    use super::reading::{draft, explain, import_dir, reasons, sentences};
    #[pymodule_export]
    use super::store::Store;
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
