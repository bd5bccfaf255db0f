//! Who is signed in with a browser. Kept in memory: a restart signs everybody out.

use runtime::Minted;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use values::ids::Digest;

/// How long somebody stays signed in.
pub const LASTS: Duration = Duration::from_secs(8 * 60 * 60);

/// Everybody who is signed in at once; then the oldest is signed out.
const LOGINS_MAX: usize = 10_000;

/// How often one caller is signed in at once; then the oldest of these is signed out.
const OWN_MAX: usize = 16;

/// Somebody who is signed in.
///
/// What they showed is kept, and looked at again with every request: a key that is revoked is signed out with it.
#[derive(Clone)]
pub struct Login {
    /// What they showed.
    pub shown: Arc<str>,
    /// What every form of theirs must carry.
    pub token: Arc<str>,
    account: Digest,
    since: Instant,
}

/// Everybody who is signed in, by the hash of what their cookie holds.
#[derive(Default)]
pub struct Logins(Mutex<HashMap<Digest, Login>>);

impl Logins {
    /// Signs somebody in, and gives what the cookie holds.
    pub fn open(&self, shown: &str, account: Digest, now: Instant) -> String {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, login| login.lasts(now));
        while known.values().filter(|login| login.account == account).count() >= OWN_MAX {
            remove_oldest(&mut known, |login| login.account == account);
        }
        while known.len() >= LOGINS_MAX {
            remove_oldest(&mut known, |_| true);
        }
        let cookie = secret();
        let login = Login { shown: Arc::from(shown), token: Arc::from(secret()), account, since: now };
        known.insert(Digest::of(&cookie), login);
        cookie
    }

    /// Whom a cookie belongs to.
    pub fn get(&self, cookie: &str, now: Instant) -> Option<Login> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&Digest::of(cookie)).filter(|login| login.lasts(now)).cloned()
    }

    /// Signs somebody out.
    pub fn close(&self, cookie: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&Digest::of(cookie));
    }
}

impl Login {
    fn lasts(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < LASTS
    }
}

fn remove_oldest(known: &mut HashMap<Digest, Login>, of: impl Fn(&Login) -> bool) {
    let oldest = known.iter().filter(|(_, login)| of(login)).min_by_key(|(_, login)| login.since);
    if let Some(oldest) = oldest.map(|(hash, _)| *hash) {
        known.remove(&oldest);
    }
}

/// Two random ids: nobody guesses it.
fn secret() -> String {
    format!("{}{}", Minted::random_id(), Minted::random_id()).replace('-', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_ends_and_so_do_the_oldest_of_too_many() {
        let (logins, now, ann) = (Logins::default(), Instant::now(), Digest::of("ann"));
        let first = logins.open("key", ann, now);
        assert!(logins.get(&first, now).is_some_and(|login| &*login.shown == "key"));
        assert!(logins.get("another", now).is_none());
        assert!(logins.get(&first, now + LASTS).is_none());
        let rest: Vec<String> =
            (1..=OWN_MAX).map(|later| logins.open("key", ann, now + Duration::from_secs(later as u64))).collect();
        let other = logins.open("other", Digest::of("bob"), now);
        assert!(logins.get(&first, now).is_none(), "one too many of the same caller");
        assert!(rest.iter().chain([&other]).all(|cookie| logins.get(cookie, now).is_some()));
        logins.close(&other);
        assert!(logins.get(&other, now).is_none());
    }
}
