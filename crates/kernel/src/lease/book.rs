//! The book of leases: who holds what, decided at an instant that is handed in.

use super::fence::Fence;
use super::index::{Entry, Index};
use super::region::Region;
use super::{End, EndedLease, Lease, Mode, Party, Request};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use values::bugs::{self, Bug};
use values::time::{Duration, Instant};

/// Leases in one book, the expired included; a book that is full first forgets those.
pub const LEASES_MAX: usize = 10_000;

/// Leases that a refusal names; more would be a list that nobody reads.
pub const HOLDERS_SHOWN_MAX: usize = 16;

/// Every lease that was given and neither given back nor taken away.
///
/// INVARIANT (apart): two leases of different holders overlap only if both are shared, the expired included.
///
/// A holder never stands in its own way: its leases may overlap.
///
/// ```
/// use kernel::lease::book::{Acquisition, LeaseBook};
/// use kernel::lease::region::Region;
/// use kernel::lease::{Mode, Party, Request};
/// use values::time::{Duration, Instant};
/// let (ada, bob) = (Party::parse("ada").unwrap(), Party::parse("bob").unwrap());
/// let request = |holder: &Party, path| {
///     let region = Region::path("/ws", path).unwrap();
///     Request::new(holder.clone(), Mode::Exclusive, [region], Duration::from_secs(60)).unwrap()
/// };
/// let (noon, later) = (Instant::from_micros(0), Instant::from_micros(61_000_000));
/// let mut book = LeaseBook::default();
/// let Acquisition::Granted { fence: first, .. } = book.acquire(&request(&ada, "src"), noon) else { panic!() };
/// assert!(matches!(book.acquire(&request(&bob, "src/api"), noon), Acquisition::Refused(_)));
/// let Acquisition::Granted { fence: second, .. } = book.acquire(&request(&bob, "src/api"), later) else { panic!() };
/// assert!(second > first);
/// assert!(book.heartbeat(&ada, first, later).is_err(), "what was not renewed in time went to who asked");
/// ```
#[derive(Clone, Debug)]
pub struct LeaseBook {
    leases: BTreeMap<Fence, Lease>,
    index: Index,
    holders: BTreeMap<Party, Holding>,
    holder_last: u64,
    fence_last: Fence,
}

/// A holder's number in the index, and how many leases carry it.
#[derive(Clone, Copy, Debug)]
struct Holding {
    number: u64,
    leases: usize,
}

impl Default for LeaseBook {
    fn default() -> LeaseBook {
        LeaseBook {
            leases: BTreeMap::new(),
            index: Index::default(),
            holders: BTreeMap::new(),
            holder_last: 0,
            fence_last: Fence::NONE,
        }
    }
}

/// Books are equal if they hold the same leases and go on with the same number.
impl PartialEq for LeaseBook {
    fn eq(&self, other: &LeaseBook) -> bool {
        self.leases == other.leases && self.fence_last == other.fence_last
    }
}

impl Eq for LeaseBook {}

/// Whether a request can be granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It can.
    Free {
        /// Expired leases that give way to it.
        gives_way: Vec<Fence>,
    },
    /// It cannot.
    Held {
        /// Leases that stand against it, at most [`HOLDERS_SHOWN_MAX`].
        by: Vec<Fence>,
        /// Whether there are more of them.
        more: bool,
    },
}

/// Why a lease is not given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Others hold it.
    Held {
        /// Leases that stand against it, at most [`HOLDERS_SHOWN_MAX`].
        by: Vec<Fence>,
        /// Whether there are more of them.
        more: bool,
    },
    /// The book has [`LEASES_MAX`] leases that have not expired.
    Full,
    /// There is no higher number.
    NoFenceLeft,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Held { by, more } => {
                let numbers: Vec<String> = by.iter().map(Fence::to_string).collect();
                let more = if *more { " and others" } else { "" };
                write!(formatter, "held under lease {}{more}", numbers.join(", "))
            }
            Refusal::Full => write!(formatter, "{LEASES_MAX} leases are held already"),
            Refusal::NoFenceLeft => formatter.write_str("no higher number is left"),
        }
    }
}

impl std::error::Error for Refusal {}

/// What came of asking for a lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Acquisition {
    /// It is given.
    Granted {
        /// Its number.
        fence: Fence,
        /// From when on it gives way.
        expires_at: Instant,
        /// Leases that ended for it.
        ended: Vec<EndedLease>,
    },
    /// The holder had it already: an answer that got lost costs nothing.
    Renewed {
        /// Its number, the same as before.
        fence: Fence,
        /// From when on it gives way.
        expires_at: Instant,
    },
    /// It is not given, and nothing has changed.
    Refused(Refusal),
}

/// Why a number gives no right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaseLoss {
    /// No lease ever had it.
    NeverGiven,
    /// The lease ended.
    Ended,
    /// Somebody else has it.
    OtherHolder,
    /// It has to be renewed first.
    Expired,
    /// It does not cover the region.
    Elsewhere,
    /// It is shared, and the call changes something.
    SharedOnly,
}

impl fmt::Display for LeaseLoss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            LeaseLoss::NeverGiven => "no lease ever had this number",
            LeaseLoss::Ended => "the lease has ended",
            LeaseLoss::OtherHolder => "the lease is somebody else's",
            LeaseLoss::Expired => "the lease has expired and was not renewed",
            LeaseLoss::Elsewhere => "the lease does not cover this",
            LeaseLoss::SharedOnly => "the lease is shared, which does not allow changes",
        })
    }
}

impl std::error::Error for LeaseLoss {}

impl LeaseBook {
    /// A book as it was written down: its leases in any order and the last number that was given.
    ///
    /// What contradicts itself is refused with the number of the lease in question.
    pub fn restore(leases: impl IntoIterator<Item = Lease>, fence_last: Fence) -> Result<LeaseBook, Fence> {
        // Before all time nothing has expired: leases that stand against each other are damage, whatever the hour.
        let beginning = Instant::from_micros(i64::MIN);
        let mut book = LeaseBook { fence_last, ..LeaseBook::default() };
        for lease in leases {
            let fence = lease.fence;
            let is_known = fence > Fence::NONE && fence <= fence_last && !book.leases.contains_key(&fence);
            let verdict = book.judge(&lease.holder, lease.mode, &lease.regions, beginning, None);
            if !is_known || lease.regions.is_empty() || verdict != (Verdict::Free { gives_way: Vec::new() }) {
                return Err(fence);
            }
            book.insert(lease);
        }
        Ok(book)
    }

    /// The leases in the order of their numbers, the expired included.
    pub fn leases(&self) -> impl ExactSizeIterator<Item = &Lease> {
        self.leases.values()
    }

    /// The lease of that number.
    pub fn lease(&self, fence: Fence) -> Option<&Lease> {
        self.leases.get(&fence)
    }

    /// The last number that was given.
    pub fn fence_last(&self) -> Fence {
        self.fence_last
    }

    /// Whether the request could be granted now. Changes nothing.
    pub fn decide(&self, request: &Request, at: Instant) -> Verdict {
        self.judge(&request.holder, request.mode, &request.regions, at, None)
    }

    /// Gives the lease, or says who stands against it. Expired leases give way; a refusal changes nothing.
    pub fn acquire(&mut self, request: &Request, at: Instant) -> Acquisition {
        if let Some(fence) = self.same(request) {
            let expires_at = self.renew(fence, request.ttl, at);
            return Acquisition::Renewed { fence, expires_at };
        }
        let mut gives_way = match self.decide(request, at) {
            Verdict::Free { gives_way } => gives_way,
            Verdict::Held { by, more } => return Acquisition::Refused(Refusal::Held { by, more }),
        };
        if self.leases.len() - gives_way.len() >= LEASES_MAX {
            gives_way = self.leases.values().filter(|lease| lease.is_expired(at)).map(|lease| lease.fence).collect();
            if self.leases.len() - gives_way.len() >= LEASES_MAX {
                return Acquisition::Refused(Refusal::Full);
            }
        }
        let Some(fence) = self.fence_last.next() else { return Acquisition::Refused(Refusal::NoFenceLeft) };
        let ended = self.end_expired(&gives_way);
        let expires_at = at.plus(request.ttl);
        self.give(Lease {
            fence,
            holder: request.holder.clone(),
            mode: request.mode,
            regions: request.regions.clone(),
            ttl: request.ttl,
            acquired_at: at,
            expires_at,
        });
        Acquisition::Granted { fence, expires_at, ended }
    }

    /// Renews a lease, also an expired one for which nobody has asked since. Returns from when on it gives way.
    pub fn heartbeat(&mut self, holder: &Party, fence: Fence, at: Instant) -> Result<Instant, LeaseLoss> {
        let ttl = self.held(holder, fence)?.ttl;
        Ok(self.renew(fence, ttl, at))
    }

    /// Gives a lease back.
    pub fn release(&mut self, holder: &Party, fence: Fence) -> Result<EndedLease, LeaseLoss> {
        self.held(holder, fence)?;
        self.end(fence, End::Released).ok_or(LeaseLoss::Ended)
    }

    /// Whether the holder may act on a region now, by the number it shows.
    pub fn confirm(
        &self,
        holder: &Party,
        fence: Fence,
        region: &Region,
        needs: Mode,
        at: Instant,
    ) -> Result<(), LeaseLoss> {
        let lease = self.held(holder, fence)?;
        if lease.is_expired(at) {
            return Err(LeaseLoss::Expired);
        }
        if !lease.covers(region) {
            return Err(LeaseLoss::Elsewhere);
        }
        match (needs, lease.mode) {
            (Mode::Exclusive, Mode::Shared) => Err(LeaseLoss::SharedOnly),
            (Mode::Shared, Mode::Shared | Mode::Exclusive) | (Mode::Exclusive, Mode::Exclusive) => Ok(()),
        }
    }

    /// An operator takes a lease away, expired or not.
    pub fn evict(&mut self, fence: Fence, operator: &Party, reason: &str) -> Result<EndedLease, LeaseLoss> {
        let end = End::Evicted { operator: operator.clone(), reason: reason.to_owned() };
        let lost = self.lost(fence);
        self.end(fence, end).ok_or(lost)
    }

    /// An operator gives a lease to somebody else. It gets a new number, so that the old holder is out at once.
    pub fn adopt(
        &mut self,
        fence: Fence,
        heir: &Party,
        operator: &Party,
        at: Instant,
    ) -> Result<Acquisition, LeaseLoss> {
        let Some(old) = self.leases.get(&fence) else { return Err(self.lost(fence)) };
        // The former holder may have other leases that overlap this one; between two holders they could not stand.
        let gives_way = match self.judge(heir, old.mode, &old.regions, at, Some(fence)) {
            Verdict::Free { gives_way } => gives_way,
            Verdict::Held { by, more } => return Ok(Acquisition::Refused(Refusal::Held { by, more })),
        };
        let Some(next) = self.fence_last.next() else { return Ok(Acquisition::Refused(Refusal::NoFenceLeft)) };
        let expires_at = at.plus(old.ttl);
        let heirs = Lease { fence: next, holder: heir.clone(), acquired_at: at, expires_at, ..old.clone() };
        let mut ended = self.end_expired(&gives_way);
        ended.extend(self.end(fence, End::Adopted { operator: operator.clone(), fence: next }));
        self.give(heirs);
        Ok(Acquisition::Granted { fence: next, expires_at, ended })
    }

    /// The decision: looks at nothing but what overlaps.
    fn judge(
        &self,
        holder: &Party,
        mode: Mode,
        regions: &BTreeSet<Region>,
        at: Instant,
        except: Option<Fence>,
    ) -> Verdict {
        let own = self.holders.get(holder).map(|holding| holding.number);
        let (mut gives_way, mut by) = (Vec::new(), Vec::new());
        for entry in regions.iter().flat_map(|region| self.index.against(region, mode)) {
            if Some(entry.holder) == own || Some(entry.fence) == except {
                continue;
            }
            if bugs::on(Bug::LeaseGivenTwice) {
                continue;
            }
            if at > entry.expires_at {
                gives_way.push(entry.fence);
            } else if !by.contains(&entry.fence) {
                if by.len() == HOLDERS_SHOWN_MAX {
                    return Verdict::Held { by, more: true };
                }
                by.push(entry.fence);
            }
        }
        if !by.is_empty() {
            return Verdict::Held { by, more: false };
        }
        gives_way.sort_unstable();
        gives_way.dedup();
        Verdict::Free { gives_way }
    }

    /// The holder's own lease of the same mode on the same regions.
    fn same(&self, request: &Request) -> Option<Fence> {
        let own = self.holders.get(&request.holder)?.number;
        let on_first = self.index.on(request.regions.first()?, request.mode);
        let mut candidates = on_first.filter(|entry| entry.holder == own).map(|entry| entry.fence);
        candidates.find(|fence| self.leases.get(fence).is_some_and(|lease| lease.regions == request.regions))
    }

    fn held(&self, holder: &Party, fence: Fence) -> Result<&Lease, LeaseLoss> {
        match self.leases.get(&fence) {
            Some(lease) if lease.holder == *holder => Ok(lease),
            Some(_) => Err(LeaseLoss::OtherHolder),
            None => Err(self.lost(fence)),
        }
    }

    fn lost(&self, fence: Fence) -> LeaseLoss {
        if fence == Fence::NONE || fence > self.fence_last { LeaseLoss::NeverGiven } else { LeaseLoss::Ended }
    }

    /// A late heartbeat never takes time away that an earlier one gave.
    fn renew(&mut self, fence: Fence, ttl: Duration, at: Instant) -> Instant {
        let Some(lease) = self.leases.get_mut(&fence) else { return at };
        lease.ttl = ttl;
        lease.expires_at = lease.expires_at.max(at.plus(ttl));
        for region in &lease.regions {
            self.index.renew(region, lease.mode, fence, lease.expires_at);
        }
        lease.expires_at
    }

    fn give(&mut self, lease: Lease) {
        self.fence_last = lease.fence;
        self.insert(lease);
    }

    fn insert(&mut self, lease: Lease) {
        if !self.holders.contains_key(&lease.holder) {
            self.holder_last += 1;
            self.holders.insert(lease.holder.clone(), Holding { number: self.holder_last, leases: 0 });
        }
        let Some(holding) = self.holders.get_mut(&lease.holder) else { return };
        holding.leases += 1;
        let entry = Entry { fence: lease.fence, holder: holding.number, expires_at: lease.expires_at };
        for region in &lease.regions {
            self.index.insert(region, lease.mode, entry);
        }
        self.leases.insert(lease.fence, lease);
    }

    fn end_expired(&mut self, fences: &[Fence]) -> Vec<EndedLease> {
        fences.iter().filter_map(|fence| self.end(*fence, End::GaveWay)).collect()
    }

    fn end(&mut self, fence: Fence, end: End) -> Option<EndedLease> {
        let lease = self.leases.remove(&fence)?;
        for region in &lease.regions {
            self.index.remove(region, lease.mode, fence);
        }
        if let Some(holding) = self.holders.get_mut(&lease.holder) {
            holding.leases -= 1;
            if holding.leases == 0 {
                self.holders.remove(&lease.holder);
            }
        }
        Some(EndedLease { lease, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(name: &str) -> Party {
        Party::parse(name).unwrap()
    }

    fn at(second: i64) -> Instant {
        Instant::from_micros(second * 1_000_000)
    }

    /// `a x src web` asks for both folders exclusively for one minute; `s` shares; `:db` is a thing.
    fn request(text: &str) -> Request {
        let mut words = text.split_whitespace();
        let (holder, mode) = (words.next().unwrap(), words.next().unwrap());
        let mode = if mode == "x" { Mode::Exclusive } else { Mode::Shared };
        let region = |word: &str| match word.strip_prefix(':') {
            Some(name) => Region::thing(name).unwrap(),
            None => Region::path("/ws", word).unwrap(),
        };
        Request::new(party(holder), mode, words.map(region), Duration::from_secs(60)).unwrap()
    }

    fn shown(acquired: &Acquisition) -> String {
        match acquired {
            Acquisition::Granted { fence, ended, .. } => {
                let ended: Vec<String> = ended.iter().map(|ended| format!(" -{}", ended.lease.fence)).collect();
                format!("{fence}{}", ended.join(""))
            }
            Acquisition::Renewed { fence, .. } => format!("again {fence}"),
            Acquisition::Refused(refusal) => refusal.to_string(),
        }
    }

    /// Each line: second, request, expected answer.
    fn check(lines: &[(i64, &str, &str)]) -> LeaseBook {
        let mut book = LeaseBook::default();
        for (second, asked, expected) in lines {
            assert_eq!(shown(&book.acquire(&request(asked), at(*second))), *expected, "{second} {asked}");
        }
        book
    }

    #[test]
    fn an_exclusive_region_tolerates_no_overlap() {
        check(&[
            (0, "a x src/api", "1"),
            (1, "b x src/api/v1.rs", "held under lease 1"),
            (1, "b x src", "held under lease 1"),
            (1, "b s .", "held under lease 1"),
            (1, "b x src/api2 docs", "2"),
            // That most of what is asked for is free does not help.
            (1, "c x web x y z src/api/a", "held under lease 1"),
        ]);
    }

    #[test]
    fn sharers_stand_beside_sharers() {
        check(&[
            (0, "a s src", "1"),
            (0, "b s src/api", "2"),
            (0, "c x src/api", "held under lease 1, 2"),
            (0, "a x src", "held under lease 2"),
            (0, "c x :db", "3"),
            (0, "a s :DB", "held under lease 3"),
        ]);
    }

    #[test]
    fn what_expired_gives_way_to_who_asks_and_to_nobody_else() {
        let mut book = check(&[
            (0, "a x src", "1"),
            (60, "b x src", "held under lease 1"),
            (61, "b x docs", "2"),
            (61, "b x src/api", "3 -1"),
            (61, "a x src", "held under lease 3"),
        ]);
        assert_eq!(book.heartbeat(&party("a"), Fence::from_number(1), at(61)), Err(LeaseLoss::Ended));
        assert_eq!(book.heartbeat(&party("b"), Fence::from_number(2), at(500)), Ok(at(560)), "nobody has asked since");
    }

    #[test]
    fn a_refusal_changes_nothing() {
        let mut book = check(&[(0, "a x src", "1"), (50, "b x web", "2")]);
        let before = book.clone();
        assert_eq!(shown(&book.acquire(&request("c x src web"), at(70))), "held under lease 2");
        assert_eq!(book, before, "lease 1 has expired, but nobody got what it held");
    }

    #[test]
    fn asking_again_renews() {
        let book = check(&[(0, "a x src web", "1"), (30, "a x web src", "again 1"), (31, "a x src", "2")]);
        assert_eq!(book.lease(Fence::from_number(1)).unwrap().expires_at, at(90));
    }

    #[test]
    fn a_late_heartbeat_takes_nothing_away() {
        let mut book = check(&[(100, "a x src", "1")]);
        assert_eq!(book.heartbeat(&party("a"), Fence::from_number(1), at(50)), Ok(at(160)));
    }

    #[test]
    fn a_number_alone_gives_no_right() {
        let mut book = check(&[(0, "a x src", "1"), (0, "b s docs", "2")]);
        let region = |path: &str| Region::path("/ws", path).unwrap();
        let check = |book: &LeaseBook, holder: &str, fence: u64, path: &str, second: i64, expected: &str| {
            let confirmed =
                book.confirm(&party(holder), Fence::from_number(fence), &region(path), Mode::Exclusive, at(second));
            assert_eq!(confirmed.map_or_else(|lost| lost.to_string(), |()| "yes".to_owned()), expected);
        };
        check(&book, "a", 1, "src/x.rs", 60, "yes");
        check(&book, "a", 1, "src/x.rs", 61, "the lease has expired and was not renewed");
        check(&book, "a", 1, "src2", 0, "the lease does not cover this");
        check(&book, "a", 1, ".", 0, "the lease does not cover this");
        check(&book, "b", 1, "src", 0, "the lease is somebody else's");
        check(&book, "b", 2, "docs", 0, "the lease is shared, which does not allow changes");
        check(&book, "a", 9, "src", 0, "no lease ever had this number");
        book.release(&party("a"), Fence::from_number(1)).unwrap();
        check(&book, "a", 1, "src", 0, "the lease has ended");
    }

    #[test]
    fn operators_evict_and_let_others_inherit() {
        let mut book = check(&[(0, "a x src", "1"), (0, "a x src/api", "2"), (0, "b x web", "3")]);
        let refused = book.adopt(Fence::from_number(2), &party("c"), &party("olga"), at(1)).unwrap();
        assert_eq!(shown(&refused), "held under lease 1", "what `a` still holds around it");
        let adopted = book.adopt(Fence::from_number(3), &party("c"), &party("olga"), at(1)).unwrap();
        assert_eq!(shown(&adopted), "4 -3");
        assert_eq!(book.heartbeat(&party("b"), Fence::from_number(3), at(2)), Err(LeaseLoss::Ended));
        assert_eq!(book.heartbeat(&party("c"), Fence::from_number(4), at(2)), Ok(at(62)));
        let ended = book.evict(Fence::from_number(1), &party("olga"), "went home").unwrap();
        assert_eq!(ended.end, End::Evicted { operator: party("olga"), reason: "went home".to_owned() });
        assert_eq!(book.evict(Fence::from_number(1), &party("olga"), "again"), Err(LeaseLoss::Ended));
        assert_eq!(book.evict(Fence::from_number(8), &party("olga"), "typo"), Err(LeaseLoss::NeverGiven));
    }

    #[test]
    fn numbers_end_before_they_repeat() {
        let mut book = LeaseBook::restore([], Fence::from_number(u64::MAX)).unwrap();
        assert_eq!(shown(&book.acquire(&request("a x src"), at(0))), "no higher number is left");
    }

    #[test]
    fn a_full_book_forgets_the_expired_first() {
        let mut book = LeaseBook::default();
        for number in 0..LEASES_MAX {
            book.acquire(&request(&format!("a x f{number}")), at(0));
        }
        assert_eq!(shown(&book.acquire(&request("b x new"), at(60))), "10000 leases are held already");
        assert!(
            matches!(book.acquire(&request("b x new"), at(61)), Acquisition::Granted { ended, .. } if ended.len() == LEASES_MAX)
        );
        assert_eq!(book.leases().len(), 1);
    }

    #[test]
    fn a_refusal_names_only_some() {
        let mut book = LeaseBook::default();
        for number in 0..40 {
            book.acquire(&request(&format!("h{number} s src/{number}")), at(0));
        }
        let Verdict::Held { by, more } = book.decide(&request("me x src"), at(0)) else { panic!("it is held") };
        assert_eq!((by.len(), more), (HOLDERS_SHOWN_MAX, true));
    }

    #[test]
    fn a_book_that_contradicts_itself_is_not_restored() {
        let book = check(&[(0, "a x src", "1"), (0, "b x web", "2")]);
        let mut leases: Vec<Lease> = book.leases().cloned().collect();
        leases.reverse();
        assert_eq!(LeaseBook::restore(leases.clone(), Fence::from_number(2)), Ok(book));
        assert_eq!(LeaseBook::restore(leases.clone(), Fence::from_number(1)), Err(Fence::from_number(2)));
        let [mut second, first] = <[Lease; 2]>::try_from(leases).unwrap();
        second.regions.clone_from(&first.regions);
        assert_eq!(LeaseBook::restore([first, second], Fence::from_number(2)), Err(Fence::from_number(2)));
    }
}
