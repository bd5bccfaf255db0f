//! Waiting for what becomes of a decision, without a thread for each who waits: every commit is a reason to look once.

use crate::listen;
use crate::problem::Problem;
use crate::site::Site;
use crate::tenants::Tenant;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use writkeeper::FollowUp;

/// Between two looks of one request: what is committed in between is seen together.
const GATHER: Duration = Duration::from_millis(20);

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
    loop {
        // Read before the store is: whatever is committed after the look wakes.
        let seen = commits.size();
        let is_late = Instant::now() >= deadline || *ending.borrow();
        let stands = look(tenant, followed.clone()).await?;
        if is_late || stands.is_settled() {
            return Ok(stands);
        }
        tokio::select! {
            woken = timeout_at(deadline, commits.beyond(seen)) => {
                if woken.is_ok() {
                    sleep(GATHER).await;
                }
            }
            () = listen::ended(&mut ending) => {}
        }
    }
}

/// How it stands now; the look itself may wait for the disk.
async fn look(tenant: &Arc<Tenant>, Followed { question, intent }: Followed) -> Result<FollowUp, Problem> {
    let tenant = tenant.clone();
    let looked = tokio::task::spawn_blocking(move || {
        let at_once = std::time::Instant::now();
        tenant.keeper.runtime().follow_up(question.as_deref(), intent.as_deref(), at_once)
    });
    Ok(looked.await.map_err(|_| Problem::unavailable("waiting broke off"))??)
}
