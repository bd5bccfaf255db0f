//! Waiting for what becomes of a decision, without a thread for each who waits: every commit is a reason to look once.

use crate::listen;
use crate::problem::Problem;
use crate::site::Site;
use crate::tenants::Tenant;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout_at};
use writkeeper::FollowUp;

/// Between two looks of one request: what is committed in between is seen together.
const GATHER: Duration = Duration::from_millis(20);

/// For each request that waits, all look so much less often: together they look at most 2,000 times a second.
const GATHER_EACH: Duration = Duration::from_micros(500);

/// Looks at the same time, of all requests.
const LOOKS_MAX: usize = 4;

/// Who waits, and who may look.
pub struct Waits {
    waiting: AtomicU32,
    looks: Semaphore,
}

impl Default for Waits {
    fn default() -> Waits {
        Waits { waiting: AtomicU32::new(0), looks: Semaphore::new(LOOKS_MAX) }
    }
}

/// One request that waits, as long as it does.
struct Waiting<'a>(&'a AtomicU32);

impl<'a> Waiting<'a> {
    fn among(waits: &'a Waits) -> Waiting<'a> {
        waits.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(&waits.waiting)
    }

    fn gather(&self) -> Duration {
        GATHER + GATHER_EACH * self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What is waited for.
#[derive(Clone)]
pub struct Followed {
    /// A question to people, and then the intent that its answer accepted.
    pub question: Option<String>,
    /// An intent, where there is no question.
    pub intent: Option<String>,
}

/// Waits until it is known what became of it, until so long has passed, or until the service ends; how it stands then.
pub async fn follow(
    site: &Site,
    tenant: &Arc<Tenant>,
    followed: Followed,
    wait: Duration,
) -> Result<FollowUp, Problem> {
    let (deadline, mut ending) = (Instant::now() + wait, site.ending.subscribe());
    let commits = tenant.keeper.runtime().commits().clone();
    let waiting = Waiting::among(&site.waits);
    loop {
        // Read before the store is: whatever is committed after the look wakes.
        let seen = commits.size();
        let is_late = Instant::now() >= deadline || *ending.borrow();
        let stands = look(&site.waits, tenant, followed.clone()).await?;
        if is_late || stands.is_settled() {
            return Ok(stands);
        }
        tokio::select! {
            woken = timeout_at(deadline, commits.beyond(seen)) => {
                if woken.is_ok() {
                    sleep_until((Instant::now() + waiting.gather()).min(deadline)).await;
                }
            }
            () = listen::ended(&mut ending) => {}
        }
    }
}

/// How it stands now; the look itself may wait for the disk.
async fn look(
    waits: &Waits,
    tenant: &Arc<Tenant>,
    Followed { question, intent }: Followed,
) -> Result<FollowUp, Problem> {
    let broken = || Problem::unavailable("waiting broke off");
    let _turn = waits.looks.acquire().await.map_err(|_| broken())?;
    let tenant = tenant.clone();
    let looked = tokio::task::spawn_blocking(move || {
        let at_once = std::time::Instant::now();
        tenant.keeper.runtime().follow_up(question.as_deref(), intent.as_deref(), at_once)
    });
    Ok(looked.await.map_err(|_| broken())??)
}
