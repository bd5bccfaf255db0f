//! Executors that are functions of the embedding program.

use kernel::intent::Order;
use runtime::ports::executor::{Attempt, Executor, Missing, Observation};

/// A function as an executor: it is called once for every attempt, with the exact order the ledger holds.
///
/// ```
/// use writkeeper::{Function, Observation};
/// let refund = Function(|_attempt: &writkeeper::Attempt| Observation::positive("paid"));
/// # let _ = refund;
/// ```
pub struct Function<F>(pub F);

impl<F: Fn(&Attempt) -> Observation + Send + Sync> Executor for Function<F> {
    fn can_perform(&self, _order: &Order) -> Result<(), Missing> {
        Ok(())
    }

    fn perform(&self, attempt: &Attempt) -> Observation {
        self.0(attempt)
    }
}
