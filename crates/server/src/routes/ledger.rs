//! The ledger: checkpoints, tiles, entries and receipts, as bytes that anybody can check.

use super::{Access, Answer, Param, ParamKind, READERS, READERS_AND_AGENT, Route, Run};
use crate::call::{Call, JSON, Reply};
use crate::problem::Problem;
use crate::schemas;
use axum::body::Body;
use axum::http::{StatusCode, header};
use kernel::api_key::KeyRole;
use ledger::bundle;
use ledger::checkpoint::Checkpoint;
use ledger::merkle::TreeHash;
use ledger::receipt::Receipt;
use ledger::tile_path::{TileKind, TilePath};
use runtime::seal;
use runtime::wire::serve::{self, ENTRIES_MAX};
use std::sync::PoisonError;
use values::ids::Digest;
use writkeeper::Error;
use writkeeper::signing::{SealedHead, SigningSite};

/// The media type of signed notes and receipts.
const NOTE: &str = "text/plain; charset=utf-8";

/// The media type of tiles.
const TILE: &str = "application/octet-stream";

/// What never changes may be kept for ever by whoever may see it.
const FOR_EVER: &str = "private, max-age=31536000, immutable";

/// Records read at once.
const PAGE: u64 = 256;

pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/v1/ledger/size",
        name: "ledger_size",
        summary: "How many entries the ledger has",
        access: READERS,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::ledger::size, summary: "The size" },
        run: Run::Blocking(size),
    },
    Route {
        method: "GET",
        path: "/v1/ledger/checkpoint",
        name: "checkpoint",
        summary: "A signed checkpoint over everything that is committed (c2sp.org/tlog-checkpoint)",
        access: READERS,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: NOTE, schema: schemas::text, summary: "The checkpoint" },
        run: Run::Blocking(checkpoint),
    },
    Route {
        method: "POST",
        path: "/v1/ledger/seal",
        name: "seal",
        summary: "Sign over everything that is committed; answers with the two lines that an export starts with",
        access: Access::Roles(&[KeyRole::Operator, KeyRole::Auditor, KeyRole::Admin]),
        query: &[],
        body: None,
        answer: Answer { status: 200, media: NOTE, schema: schemas::text, summary: "The header of an export" },
        run: Run::Blocking(seal_now),
    },
    Route {
        method: "GET",
        path: "/v1/ledger/tile/{rest}",
        name: "tile",
        summary: "A tile of the tree or a bundle of entries, by its path (c2sp.org/tlog-tiles)",
        access: READERS,
        query: &[],
        body: None,
        answer: Answer { status: 200, media: TILE, schema: schemas::ledger::bytes, summary: "The tile" },
        run: Run::Blocking(tile),
    },
    Route {
        method: "GET",
        path: "/v1/ledger/entries",
        name: "entries",
        summary: "Entries of the ledger with their bodies, from an index on",
        access: READERS,
        query: &[
            Param { name: "from", summary: "The index to begin with", kind: ParamKind::Whole(0, u64::MAX) },
            Param { name: "limit", summary: "Entries at most", kind: ParamKind::Whole(1, ENTRIES_MAX as u64) },
        ],
        body: None,
        answer: Answer { status: 200, media: JSON, schema: schemas::ledger::entries, summary: "The entries" },
        run: Run::Blocking(entries),
    },
    Route {
        method: "GET",
        path: "/v1/ledger/receipts/{id}",
        name: "receipt",
        summary: "A receipt of a proposal, an intent, a question or an entry, for `writkeeper verify`",
        access: READERS_AND_AGENT,
        query: &[Param {
            name: "agent",
            summary: "Whose proposal has the id; agents choose ids, so several may have the same",
            kind: ParamKind::Text,
        }],
        body: None,
        answer: Answer { status: 200, media: NOTE, schema: schemas::text, summary: "The receipt" },
        run: Run::Blocking(receipt),
    },
];

fn size(call: &Call) -> Result<Reply, Problem> {
    Ok(Reply::bytes(JSON, serve::size(call.keeper().runtime())?))
}

/// Signs over everything; one request at a time, because the keys are held for it.
fn sealed<T>(call: &Call, work: impl FnOnce(&SealedHead) -> Result<T, Problem>) -> Result<T, Problem> {
    let _turn = call.caller.tenant.sealing.lock().unwrap_or_else(PoisonError::into_inner);
    let head = call.caller.tenant.signing.head()?;
    work(&head)
}

/// An answer that is recognized when it is asked for again.
fn tagged(call: &Call, reply: Reply, bytes: &[u8]) -> Reply {
    let tag = format!("\"{}\"", Digest::of(bytes));
    let is_known = call.headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok()) == Some(tag.as_str());
    let reply = reply.with(header::ETAG, &tag);
    if !is_known {
        return reply;
    }
    Reply { status: StatusCode::NOT_MODIFIED, body: Body::empty(), ..reply }
}

fn checkpoint(call: &Call) -> Result<Reply, Problem> {
    let note = sealed(call, |head| Ok(head.note.to_string()))?;
    let reply = Reply::bytes(NOTE, note.clone().into_bytes()).with(header::CACHE_CONTROL, "private, no-cache");
    Ok(tagged(call, reply, note.as_bytes()))
}

fn seal_now(call: &Call) -> Result<Reply, Problem> {
    let lines = sealed(call, |head| Ok(head.header.to_lines()))?;
    Ok(Reply::bytes(NOTE, lines.into_bytes()))
}

fn tile(call: &Call) -> Result<Reply, Problem> {
    let path = TilePath::parse(&format!("tile/{}", call.part("rest"))).ok_or_else(Problem::not_found)?;
    let (from, size) = sealed(call, |head| {
        let size = Checkpoint::parse(head.note.text()).map_or(0, |checkpoint| checkpoint.size());
        Ok((head.from, size))
    })?;
    let first = path.index().saturating_mul(PAGE);
    let last = first.saturating_add(u64::from(path.width()));
    let bytes = match path.kind() {
        TileKind::Entries | TileKind::Hashes { level: 0 } => {
            let records = call.keeper().runtime().records(from.saturating_add(first), usize::from(path.width()))?;
            if last > size || records.len() != usize::from(path.width()) {
                return Err(Problem::not_found());
            }
            let leaves: Vec<&[u8]> = records.iter().map(|record| record.leaf.as_bytes()).collect();
            match path.kind() {
                TileKind::Entries => bundle::to_bytes(&leaves).map_err(|_| Problem::not_found())?,
                TileKind::Hashes { .. } => {
                    let hashes: Vec<TreeHash> = leaves.into_iter().map(TreeHash::of_leaf).collect();
                    ledger::tiles::to_bytes(&hashes)
                }
            }
        }
        TileKind::Hashes { level } => higher(call, path, (from, size), (last, level))?,
    };
    let reply = Reply::bytes(TILE, bytes.clone()).with(header::CACHE_CONTROL, FOR_EVER);
    Ok(tagged(call, reply, &bytes))
}

/// A tile above the leaves, out of all entries below it.
fn higher(call: &Call, path: TilePath, (from, size): (u64, u64), (last, level): (u64, u8)) -> Result<Vec<u8>, Problem> {
    let below = (0..level).try_fold(last, |covered, _| covered.checked_mul(PAGE));
    let below = below.filter(|below| *below <= size).ok_or_else(Problem::not_found)?;
    let mut found = None;
    let mut reader = call.caller.tenant.signing.reader()?;
    let sought = seal::tiles(reader.as_mut(), from, below, &mut |tile| {
        if tile.path == path {
            found = Some(tile.bytes.clone());
        }
        Ok(())
    });
    sought.map_err(Error::from)?;
    found.ok_or_else(Problem::not_found)
}

fn entries(call: &Call) -> Result<Reply, Problem> {
    let limit = call.whole("limit").and_then(|limit| usize::try_from(limit).ok()).unwrap_or(256);
    Ok(Reply::bytes(JSON, serve::entries(call.keeper().runtime(), call.whole("from").unwrap_or_default(), limit)?))
}

fn receipt(call: &Call) -> Result<Reply, Problem> {
    let id = call.part("id");
    let (own, asked) = (call.caller.own_agent(), call.asked("agent"));
    if own.is_some() && asked.is_some_and(|asked| own != Some(asked)) {
        return Err(Problem::not_found());
    }
    match own.or(asked) {
        Some(agent) => receipt_of_agent(call, agent, id),
        None => proved(call, |signing, head| {
            let made = match signing.receipts(head, &[id.to_owned()]) {
                // A program has whole ids: others that only begin with one are not meant.
                Err(ambiguous @ Error::Ambiguous { .. }) => signing.receipts(head, &[whole(id)]).or(Err(ambiguous)),
                made => made,
            };
            Ok(made?.pop())
        }),
    }
}

/// A whole id, as people type one.
fn whole(id: &str) -> String {
    if id.starts_with('=') { id.to_owned() } else { format!("={id}") }
}

/// The receipt of what an agent sent, by its whole id.
pub(crate) fn receipt_of_agent(call: &Call, agent: &str, id: &str) -> Result<Reply, Problem> {
    proved(call, |signing, head| Ok(signing.receipts_of_agent(head, agent, &[id.to_owned()])?.pop()))
}

/// A receipt as it goes out; what no record tells of is not there.
fn proved(
    call: &Call,
    make: impl FnOnce(&SigningSite, &SealedHead) -> Result<Option<Receipt>, Error>,
) -> Result<Reply, Problem> {
    let receipt = sealed(call, |head| {
        make(&call.caller.tenant.signing, head).map_err(|error| {
            let is_missing = matches!(error, Error::Invalid(_) | Error::EntryMissing(_));
            if is_missing { Problem::not_found() } else { Problem::from(error) }
        })
    })?;
    let text = receipt.ok_or_else(Problem::not_found)?.to_string();
    Ok(Reply::bytes(NOTE, text.into_bytes()))
}
