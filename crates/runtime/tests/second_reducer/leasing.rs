//! Leases once more, as a plain list that is looked through from end to end.

use crate::commands::{Leasing, Who};
use crate::contracts::SECOND;
use crate::reducer::{Reducer, Said};

/// A lease on one path.
#[derive(Clone, Debug)]
pub struct Lease {
    pub fence: u64,
    pub holder: String,
    pub shared: bool,
    pub path: String,
    pub ttl: i64,
    pub acquired: i64,
    pub expires: i64,
}

fn overlap(one: &str, other: &str) -> bool {
    let inside = |outer: &str, inner: &str| inner == outer || inner.starts_with(&format!("{outer}/"));
    inside(one, other) || inside(other, one)
}

impl Reducer {
    pub fn lease(&mut self, who: &Who, what: &Leasing, at: i64) -> Said {
        let own = |name: &String, holder: &String| holder == name || holder.starts_with(&format!("{name}:"));
        let may = match (who, what) {
            (Who::Operator(_), _) => true,
            (
                Who::Agent(name),
                Leasing::Acquire { holder, .. } | Leasing::Heartbeat { holder, .. } | Leasing::Release { holder, .. },
            ) => own(name, holder),
            (Who::Agent(_) | Who::Monitor | Who::Kernel, _) => false,
        };
        if !may {
            return Said::reject("NOT_AUTHORIZED");
        }
        let said = match what {
            Leasing::Acquire { holder, shared, path, ttl } => self.acquire_lease(holder, *shared, path, *ttl, at),
            Leasing::Heartbeat { holder, fence } => match self.lease_of(holder, *fence) {
                Some(lease) => {
                    lease.expires = lease.expires.max(at + lease.ttl * SECOND);
                    Said::accept()
                }
                None => Said::reject("LEASE_LOST"),
            },
            Leasing::Release { holder, fence } => match self.lease_of(holder, *fence) {
                Some(_) => self.drop_lease(*fence),
                None => Said::reject("LEASE_LOST"),
            },
            Leasing::Evict { fence } => self.drop_lease(*fence),
            Leasing::Adopt { fence, heir } => self.adopt_lease(*fence, heir, at),
        };
        self.leases_said += u64::from(said == Said::accept());
        said
    }

    fn lease_of(&mut self, holder: &str, fence: u64) -> Option<&mut Lease> {
        self.leases.iter_mut().find(|lease| lease.fence == fence && lease.holder == holder)
    }

    fn drop_lease(&mut self, fence: u64) -> Said {
        let before = self.leases.len();
        self.leases.retain(|lease| lease.fence != fence);
        if self.leases.len() < before { Said::accept() } else { Said::reject("LEASE_LOST") }
    }

    fn acquire_lease(&mut self, holder: &str, shared: bool, path: &str, ttl: i64, at: i64) -> Said {
        if !(1..=86_400).contains(&ttl) {
            return Said::reject("PARAM_INVALID");
        }
        let same = |lease: &&mut Lease| lease.holder == holder && lease.shared == shared && lease.path == path;
        if let Some(lease) = self.leases.iter_mut().find(same) {
            lease.ttl = ttl;
            lease.expires = lease.expires.max(at + ttl * SECOND);
            return Said::accept();
        }
        self.give_lease(holder, shared, path, ttl, at, None)
    }

    fn adopt_lease(&mut self, fence: u64, heir: &str, at: i64) -> Said {
        let Some(old) = self.leases.iter().find(|lease| lease.fence == fence).cloned() else {
            return Said::reject("LEASE_LOST");
        };
        self.give_lease(heir, old.shared, &old.path, old.ttl, at, Some(fence))
    }

    /// Whoever is in the way either stops it or, where its time is over, gives way.
    fn give_lease(
        &mut self,
        holder: &str,
        shared: bool,
        path: &str,
        ttl: i64,
        at: i64,
        instead_of: Option<u64>,
    ) -> Said {
        let in_the_way = |lease: &Lease| {
            let apart = shared && lease.shared || lease.holder == holder || Some(lease.fence) == instead_of;
            !apart && overlap(&lease.path, path)
        };
        if self.leases.iter().any(|lease| in_the_way(lease) && at <= lease.expires) {
            return Said::reject("REGION_LEASED");
        }
        self.leases.retain(|lease| !in_the_way(lease) && Some(lease.fence) != instead_of);
        self.fence_last += 1;
        self.leases.push(Lease {
            fence: self.fence_last,
            holder: holder.to_owned(),
            shared,
            path: path.to_owned(),
            ttl,
            acquired: at,
            expires: at + ttl * SECOND,
        });
        Said::accept()
    }

    /// The row a store would hold.
    pub fn shown_leases(&self) -> Option<String> {
        if self.leases_said == 0 {
            return None;
        }
        let lease = |lease: &Lease| {
            let mode = if lease.shared { "shared" } else { "exclusive" };
            format!(
                r#"{{"acquired":{},"expires":{},"fence":"{}","holder":"{}","mode":"{mode}","regions":["{}"],"ttl_us":{}}}"#,
                lease.acquired,
                lease.expires,
                lease.fence,
                lease.holder,
                lease.path,
                lease.ttl * SECOND
            )
        };
        let leases: Vec<String> = self.leases.iter().map(lease).collect();
        Some(format!(r#"{{"last":"{}","leases":[{}]}} {}"#, self.fence_last, leases.join(","), self.leases_said))
    }
}
