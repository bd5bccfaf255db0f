//! The book of leases against a model that looks at everything and is too simple to be wrong.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "everything here is a test")]

use kernel::lease::book::{Acquisition, HOLDERS_SHOWN_MAX, LeaseBook, Refusal, Verdict};
use kernel::lease::fence::Fence;
use kernel::lease::region::Region;
use kernel::lease::{Lease, Mode, Party, Request};
use proptest::prelude::*;
use values::time::{Duration, Instant};

/// A place as the model sees it: where it is, component by component.
type Place = Vec<String>;

#[derive(Clone, Debug)]
struct Asked {
    holder: usize,
    mode: Mode,
    paths: Vec<String>,
    ttl: i64,
}

#[derive(Clone, Debug)]
enum Step {
    Acquire(Asked),
    /// Holder and which of all leases ever given.
    Heartbeat(usize, usize),
    Release(usize, usize),
    Evict(usize),
    Adopt(usize, usize),
    Pass(i64),
}

#[derive(Clone, PartialEq, Debug)]
struct Held {
    fence: u64,
    holder: usize,
    mode: Mode,
    places: Vec<Place>,
    ttl: i64,
    expires: i64,
}

#[derive(Clone, Default, Debug)]
struct Model {
    held: Vec<Held>,
    last: u64,
    now: i64,
}

/// Written without the kernel: a stack of folders.
fn place(path: &str) -> Place {
    let mut stack: Place = vec!["ws".to_owned()];
    if path.starts_with('/') {
        stack.clear();
    }
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            stack.pop();
        } else {
            stack.push(part.to_lowercase());
        }
    }
    stack
}

fn overlap(left: &Place, right: &Place) -> bool {
    let shorter = left.len().min(right.len());
    left[..shorter] == right[..shorter]
}

impl Model {
    fn against(&self, holder: usize, mode: Mode, places: &[Place], except: Option<u64>) -> Vec<&Held> {
        let clashes = |held: &&Held| {
            held.holder != holder
                && Some(held.fence) != except
                && (held.mode == Mode::Exclusive || mode == Mode::Exclusive)
                && held.places.iter().any(|one| places.iter().any(|other| overlap(one, other)))
        };
        self.held.iter().filter(clashes).collect()
    }

    /// Numbers of the leases that give way, or of those that do not.
    fn verdict(&self, holder: usize, mode: Mode, places: &[Place], except: Option<u64>) -> Result<Vec<u64>, Vec<u64>> {
        let against = self.against(holder, mode, places, except);
        let numbers = |expired: bool| {
            against.iter().filter(|held| (self.now > held.expires) == expired).map(|held| held.fence).collect()
        };
        let live: Vec<u64> = numbers(false);
        if live.is_empty() { Ok(numbers(true)) } else { Err(live) }
    }

    fn give(&mut self, held: Held, gone: &[u64]) {
        self.held.retain(|other| !gone.contains(&other.fence));
        self.last = held.fence;
        self.held.push(held);
    }
}

fn paths() -> impl Strategy<Value = Vec<String>> {
    let part = prop::sample::select(vec!["a", "b", "ab", "A", ".", ".."]);
    let path = (any::<bool>(), prop::collection::vec(part, 1..5)).prop_map(|(absolute, parts)| {
        let path = parts.join("/");
        if absolute { format!("/ws/{path}") } else { path }
    });
    prop::collection::vec(path, 1..4)
}

fn step() -> impl Strategy<Value = Step> {
    let mode = prop::sample::select(vec![Mode::Shared, Mode::Exclusive]);
    let asked = (0..4_usize, mode, paths(), 1..20_i64).prop_map(|(holder, mode, paths, ttl)| Asked {
        holder,
        mode,
        paths,
        ttl,
    });
    prop_oneof![
        6 => asked.prop_map(Step::Acquire),
        1 => (0..4_usize, 0..40_usize).prop_map(|(holder, pick)| Step::Heartbeat(holder, pick)),
        1 => (0..4_usize, 0..40_usize).prop_map(|(holder, pick)| Step::Release(holder, pick)),
        1 => (0..40_usize).prop_map(Step::Evict),
        1 => (0..4_usize, 0..40_usize).prop_map(|(heir, pick)| Step::Adopt(heir, pick)),
        3 => (0..15_i64).prop_map(Step::Pass),
    ]
}

fn party(number: usize) -> Party {
    Party::parse(&format!("holder-{number}")).unwrap()
}

fn instant(second: i64) -> Instant {
    Instant::from_micros(second * 1_000_000)
}

fn request(asked: &Asked) -> Request {
    let regions = asked.paths.iter().map(|path| Region::path("/ws", path).unwrap());
    Request::new(party(asked.holder), asked.mode, regions, Duration::from_secs(asked.ttl)).unwrap()
}

fn numbers(fences: &[Fence]) -> Vec<u64> {
    fences.iter().map(|fence| fence.number()).collect()
}

/// A refusal names some of those that stand against it, and all of them if they are few.
fn assert_names(by: &[Fence], more: bool, live: &[u64]) {
    assert!(numbers(by).iter().all(|fence| live.contains(fence)), "{by:?} {live:?}");
    assert_eq!(by.len(), live.len().min(HOLDERS_SHOWN_MAX));
    assert_eq!(more, live.len() > HOLDERS_SHOWN_MAX);
}

fn assert_granted(acquired: &Acquisition, expected: &Result<Vec<u64>, Vec<u64>>, next: u64, also_gone: Option<u64>) {
    match (acquired, expected) {
        (Acquisition::Granted { fence, ended, .. }, Ok(gives_way)) => {
            assert_eq!(fence.number(), next, "numbers go up by one");
            let mut gone: Vec<u64> = ended.iter().map(|ended| ended.lease.fence.number()).collect();
            let mut expected: Vec<u64> = gives_way.iter().copied().chain(also_gone).collect();
            gone.sort_unstable();
            expected.sort_unstable();
            assert_eq!(gone, expected);
        }
        (Acquisition::Refused(Refusal::Held { by, more }), Err(live)) => assert_names(by, *more, live),
        (Acquisition::Granted { .. } | Acquisition::Renewed { .. } | Acquisition::Refused(_), _) => {
            panic!("{acquired:?} {expected:?}")
        }
    }
}

fn acquire(book: &mut LeaseBook, model: &mut Model, asked: &Asked) {
    let mut places: Vec<Place> = asked.paths.iter().map(|path| place(path)).collect();
    places.sort();
    places.dedup();
    let (asked_of_book, now) = (request(asked), instant(model.now));
    let expected = model.verdict(asked.holder, asked.mode, &places, None);
    match (book.decide(&asked_of_book, now), &expected) {
        (Verdict::Free { gives_way }, Ok(expired)) => assert_eq!(&numbers(&gives_way), expired),
        (Verdict::Held { by, more }, Err(live)) => assert_names(&by, more, live),
        (verdict @ (Verdict::Free { .. } | Verdict::Held { .. }), _) => panic!("{verdict:?} {expected:?}"),
    }
    let acquired = book.acquire(&asked_of_book, now);
    let expires = model.now + asked.ttl;
    let same = |held: &&mut Held| held.holder == asked.holder && held.mode == asked.mode && held.places == places;
    if let Some(held) = model.held.iter_mut().find(same) {
        held.ttl = asked.ttl;
        held.expires = held.expires.max(expires);
        assert!(matches!(acquired, Acquisition::Renewed { fence, .. } if fence.number() == held.fence));
        return;
    }
    assert_granted(&acquired, &expected, model.last + 1, None);
    if let Ok(gone) = expected {
        let fence = model.last + 1;
        model.give(Held { fence, holder: asked.holder, mode: asked.mode, places, ttl: asked.ttl, expires }, &gone);
    }
}

fn adopt(book: &mut LeaseBook, model: &mut Model, heir: usize, fence: u64) {
    let acquired =
        book.adopt(Fence::from_number(fence), &party(heir), &Party::parse("olga").unwrap(), instant(model.now));
    let Some(old) = model.held.iter().find(|held| held.fence == fence).cloned() else {
        assert!(acquired.is_err());
        return;
    };
    let expected = model.verdict(heir, old.mode, &old.places, Some(fence));
    assert_granted(&acquired.unwrap(), &expected, model.last + 1, Some(fence));
    if let Ok(mut gone) = expected {
        gone.push(fence);
        let next = Held { fence: model.last + 1, holder: heir, expires: model.now + old.ttl, ..old };
        model.give(next, &gone);
    }
}

fn take(book: &mut LeaseBook, model: &mut Model, step: &Step) {
    // One number in forty was never given.
    let fence = |pick: usize| pick as u64 % (model.last + 2);
    let now = model.now;
    match step {
        Step::Acquire(asked) => acquire(book, model, asked),
        Step::Heartbeat(holder, pick) => {
            let fence = fence(*pick);
            let renewed = book.heartbeat(&party(*holder), Fence::from_number(fence), instant(now));
            let held = model.held.iter_mut().find(|held| held.fence == fence && held.holder == *holder);
            let expected = held.map(|held| {
                held.expires = held.expires.max(now + held.ttl);
                instant(held.expires)
            });
            assert_eq!(renewed.ok(), expected);
        }
        Step::Release(holder, pick) => {
            let fence = fence(*pick);
            let is_held = model.held.iter().any(|held| held.fence == fence && held.holder == *holder);
            assert_eq!(book.release(&party(*holder), Fence::from_number(fence)).is_ok(), is_held);
            model.held.retain(|held| held.fence != fence || held.holder != *holder);
        }
        Step::Evict(pick) => {
            let fence = fence(*pick);
            let is_held = model.held.iter().any(|held| held.fence == fence);
            let operator = Party::parse("olga").unwrap();
            assert_eq!(book.evict(Fence::from_number(fence), &operator, "why not").is_ok(), is_held);
            model.held.retain(|held| held.fence != fence);
        }
        Step::Adopt(heir, pick) => {
            let fence = fence(*pick);
            adopt(book, model, *heir, fence);
        }
        Step::Pass(seconds) => model.now += seconds,
    }
}

/// The leases of the book in the words of the model.
fn told(lease: &Lease) -> (u64, String, Mode, Vec<Place>, Instant) {
    let mut places: Vec<Place> = lease.regions.iter().map(|region| place(&region.to_string())).collect();
    places.sort();
    (lease.fence.number(), lease.holder.to_string(), lease.mode, places, lease.expires_at)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn the_book_does_what_the_model_does(steps in prop::collection::vec(step(), 1..60)) {
        let (mut book, mut model) = (LeaseBook::default(), Model::default());
        for step in &steps {
            let before = book.fence_last();
            take(&mut book, &mut model, step);
            prop_assert!(book.fence_last() >= before);
            let of_model = |held: &Held| {
                let holder = party(held.holder).to_string();
                (held.fence, holder, held.mode, held.places.clone(), instant(held.expires))
            };
            let (ours, expected): (Vec<_>, Vec<_>) =
                (book.leases().map(told).collect(), model.held.iter().map(of_model).collect());
            prop_assert_eq!(ours, expected);
        }
        for one in book.leases() {
            for other in book.leases().filter(|other| other.holder != one.holder) {
                let overlaps = one.regions.iter().any(|left| other.regions.iter().any(|right| left.overlaps(right)));
                prop_assert!(!overlaps || one.mode.is_compatible(other.mode));
            }
        }
        let restored = LeaseBook::restore(book.leases().cloned(), book.fence_last());
        prop_assert_eq!(restored, Ok(book));
    }

    #[test]
    fn regions_are_what_the_model_says(left in paths(), right in paths()) {
        for (left, right) in left.iter().zip(&right) {
            let (one, other) = (Region::path("/ws", left).unwrap(), Region::path("/ws", right).unwrap());
            prop_assert_eq!(one.overlaps(&other), overlap(&place(left), &place(right)), "{} {}", left, right);
            prop_assert_eq!(one == other, place(left) == place(right), "{} {}", left, right);
            let again = Region::path("/", &one.to_string()).unwrap();
            prop_assert_eq!(again, one, "what is shown names the same region");
        }
    }
}
