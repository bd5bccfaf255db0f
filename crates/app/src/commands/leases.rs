//! `writkeeper leases …`: who holds which region, asking for one, and taking one away.

use crate::cli::leases::{HeldArgs, LeasesArgs, LeasesCommand};
use crate::exit::{Exit, Failure, UsageError};
use crate::hint;
use crate::store;
use crate::terminal::{self, ATTENTION, FAINT, STRONG, echo, paint, say};
use guard::{hard_links, place};
use kernel::change::Act;
use kernel::change::leasing::Leasing;
use kernel::event::{Event, GrantedLease, LeaseEnd, LeaseTerms};
use kernel::finding::visible;
use kernel::lease::book::LeaseBook;
use kernel::lease::fence::Fence;
use kernel::lease::kept::BOOK;
use kernel::lease::region::Region;
use kernel::lease::{Lease, Mode, TTL_MAX, TTL_MIN};
use kernel::reasons::Reason;
use kernel::world::{Entity, Row};
use runtime::Runtime;
use std::path::Path;
use values::time::{Duration, Instant};

/// Lists and changes.
pub fn run(args: &LeasesArgs) -> anyhow::Result<Exit> {
    let (location, json) = (args.kept.store.as_str(), args.kept.json);
    let leasing = match args.command.as_ref().unwrap_or(&LeasesCommand::List) {
        LeasesCommand::List => {
            list(&store::view(location)?, json)?;
            return Ok(Exit::Fine);
        }
        LeasesCommand::Acquire { regions, holder, shared, ttl } => Leasing::Acquire {
            holder: holder.clone(),
            mode: if *shared { Mode::Shared } else { Mode::Exclusive },
            regions: regions.iter().map(|text| region(text)).collect::<anyhow::Result<_>>()?,
            ttl: lasting(ttl)?,
        },
        LeasesCommand::Heartbeat(HeldArgs { fence, holder }) => {
            Leasing::Heartbeat { holder: holder.clone(), fence: Fence::from_number(*fence) }
        }
        LeasesCommand::Release(HeldArgs { fence, holder }) => {
            Leasing::Release { holder: holder.clone(), fence: Fence::from_number(*fence) }
        }
        LeasesCommand::Evict { fence, because } => {
            Leasing::Evict { fence: Fence::from_number(*fence), because: because.clone() }
        }
        LeasesCommand::Adopt { fence, to, because } => {
            Leasing::Adopt { fence: Fence::from_number(*fence), heir: to.clone(), because: because.clone() }
        }
    };
    let runtime = store::open(location)?;
    let event = store::told(runtime.change(store::operator(), Act::Lease(leasing)))?;
    tell(&event, json)?;
    Ok(Exit::Fine)
}

/// How long a lease may last, said before the store is asked.
fn lasting(text: &str) -> anyhow::Result<Duration> {
    let ttl = super::run::duration("--ttl", text)?;
    if (TTL_MIN..=TTL_MAX).contains(&ttl) {
        return Ok(ttl);
    }
    Err(UsageError(format!("--ttl `{}` is out of bounds: a lease lasts {TTL_MIN} to {TTL_MAX}", echo(text))).into())
}

/// A path as it really lies, links followed: two names of one folder are one region.
fn region(text: &str) -> anyhow::Result<String> {
    if text.starts_with("thing:") {
        return Ok(text.to_owned());
    }
    if text.trim().is_empty() {
        let said = "a region is a path with everything below it, or `thing:NAME`; for the whole folder write `.`";
        return Err(UsageError(said.to_owned()).into());
    }
    let typed = std::env::current_dir()?.join(Path::new(text));
    // What is not there yet lies where the last folder that is there really is.
    let there = typed.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let behind = typed.strip_prefix(there).unwrap_or(Path::new(""));
    let path = place::canonical(there).join(behind);
    let region = Region::path("/", &path.to_string_lossy());
    let region = region.map_err(|fault| UsageError(format!("`{}` is no region: it {fault}", echo(text))))?;
    Ok(region.to_text())
}

/// The book in a store; nothing was ever held where there is none.
pub fn book(runtime: &Runtime) -> anyhow::Result<LeaseBook> {
    match runtime.read(Entity::State(BOOK.to_owned())).map_err(store::unread)? {
        Some(Row::State(row)) => LeaseBook::from_json(&row.value).ok_or_else(|| {
            let entry = Reason::StoreDamaged.entry();
            let message = "the book of leases cannot be read".to_owned();
            let (code, fix) = (entry.code.to_owned(), entry.fix_operator.to_owned());
            Failure { exit: Exit::Invalid, code, message, fix }.into()
        }),
        Some(_) | None => Ok(LeaseBook::default()),
    }
}

fn list(runtime: &Runtime, json: bool) -> anyhow::Result<()> {
    let now = store::now();
    let book = book(runtime)?;
    for lease in book.leases() {
        if json {
            say!("{}", LeaseTerms::of(lease).to_json(lease.fence).to_canonical());
        } else {
            say!("{}", line(lease, now));
        }
    }
    if book.leases().len() == 0 && !json {
        say!("nothing is held; next: {}", hint::next("writkeeper leases acquire PATH --holder AGENT:SESSION"));
    }
    Ok(())
}

fn line(lease: &Lease, now: Instant) -> String {
    let regions: Vec<String> = lease.regions.iter().map(|region| visible(&spelled(region))).collect();
    let until = match lease.is_expired(now) {
        true => paint(ATTENTION, format!("over since {}, gives way to who asks", terminal::at(lease.expires_at))),
        false => paint(FAINT, format!("until {}", terminal::at(lease.expires_at))),
    };
    let number = paint(STRONG, format!("{:>4}", lease.fence.number()));
    let holder = visible(lease.holder.as_str());
    format!("{number}  {:<9} {holder}  {}  {until}", lease.mode.word(), regions.join(" "))
}

/// A region as it is spelled on disk: for comparing it is kept without case.
fn spelled(region: &Region) -> String {
    let text = region.to_text();
    let there = Path::new(&text).is_absolute().then(|| hard_links::on_disk(Path::new(&text))).flatten();
    there.map_or(text, |path| path.to_string_lossy().into_owned())
}

fn tell(event: &Event, json: bool) -> anyhow::Result<()> {
    if json {
        say!("{}", event.to_json().to_canonical());
        return Ok(());
    }
    if let Event::LeaseReleased(end) = event {
        return ended(end, "released");
    }
    if let Event::LeaseEvicted(end) = event {
        return ended(end, "evicted");
    }
    let Event::LeaseGranted(GrantedLease { fence, renewed, terms: Some(terms), ended, .. }) = event else {
        return Err(store::other_event());
    };
    let (number, holder) = (paint(STRONG, fence), visible(&terms.holder));
    let renewed = if *renewed { "renewed " } else { "" };
    let until = terminal::at(terms.expires_at);
    say!("{renewed}lease {number}: {holder} holds it {} until {until}", terms.mode.word());
    for fence in ended {
        say!("  lease {fence} ended for it");
    }
    Ok(())
}

fn ended(end: &LeaseEnd, how: &str) -> anyhow::Result<()> {
    say!("lease {} of {} is {how}", paint(STRONG, end.fence), visible(&end.holder));
    Ok(())
}
