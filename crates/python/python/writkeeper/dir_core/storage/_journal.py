"""The Writkeeper store beside a file, in which the kernel keeps what is true.

Beside `x.db` lies `x.db.writkeeper`. Every change of a row is written there first, as a value of the state in the
tamper-evident ledger; holds of resources and guarded steps are acts of the kernel's own. The tables of `x.db` follow: they
are brought up to the end of the ledger before every act, and made again from it where the file is gone.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ... import _json
from ..._errors import Refused
from ..._keeper import Keeper
from ..._keeper import open as open_store

AGENT = "dir-core"
STEP_ACTION = "run_step"
# The group that may say what became of a step in doubt: the program itself, which has asked a person or looked.
SETTLERS = "dir-programs"

_OPERATOR = "dir_core"
_CONTRACT = f"""
agent: {AGENT}
mission: Run each step of a flow once, and hold resources for flows.
actions:
  {STEP_ACTION}:
    impact: LOW
    once: "step:{{key}}"
    params: {{ key: text, owner: text, step: text }}
approvers: [{SETTLERS}]
"""

# The tables whose rows are state, each with its key. Holds are acts of their own.
TABLES = {
    "agent_registry": "agent_id",
    "decision_flows": "dfid",
    "flow_context": "dfid",
    "agent_state": "agent_id",
    "idempotency_cache": "idempotency_key",
    "saga_dirty_state": "dfid",
    "intent_retry": "dfid",
    "escalation_budget": "id",
    "escalation_requests": "id",
    "flow_transitions": "id",
    "decision_ledger_entries": "id",
    "decision_audit_events": "id",
    "wk_flows": "flow",
}

_PREFIX = "dir/"
_MOST = 1e20
# Rows that one act writes, and records that are read at once.
_ROWS_MAX = 256
_PAGE = 512

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS wk_flows (flow TEXT PRIMARY KEY, dfid TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS wk_changed (place TEXT NOT NULL, key, PRIMARY KEY (place, key))",
    "CREATE TABLE IF NOT EXISTS wk_cursor (one INTEGER PRIMARY KEY CHECK (one = 1), next INTEGER NOT NULL)",
)


class _Open:
    """The stores that this process has open, by the file they lie beside."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.stores: dict[str, tuple[Keeper, tuple[int, int]]] = {}


_open = _Open()


def store_path(path: str) -> str:
    """Where the store of a file is."""
    return f"{os.path.realpath(path)}.writkeeper"


def store(path: str) -> Keeper:
    """The store of a file, opened once in a process; anew if somebody removed it meanwhile."""
    place = store_path(path)
    with _open.lock:
        known = _open.stores.get(place)
        if known is not None and known[1] == _identity(place):
            return known[0]
        if known is not None:
            known[0].close()
        keeper = open_store(place, contract=_CONTRACT, operator=_OPERATOR)
        identity = _identity(place)
        if identity is not None:
            _open.stores[place] = (keeper, identity)
        return keeper


def _identity(place: str) -> tuple[int, int] | None:
    try:
        found = os.stat(place)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def watch(connection: sqlite3.Connection) -> None:
    """From now on note which rows change; rows that are there already count as changed."""
    for statement in SCHEMA:
        connection.execute(statement)
    for table, key in TABLES.items():
        for event, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
            connection.execute(
                f"CREATE TRIGGER IF NOT EXISTS wk_{table}_{event.lower()} AFTER {event} ON {table}"
                f" BEGIN INSERT OR IGNORE INTO wk_changed VALUES ('{table}', {row}.{key}); END"
            )
        connection.execute(f"INSERT OR IGNORE INTO wk_changed SELECT '{table}', {key} FROM {table}")
    connection.execute("INSERT OR IGNORE INTO wk_cursor VALUES (1, 0)")


def keep(connection: sqlite3.Connection, path: str) -> None:
    """Write the rows that changed into the store. It comes before the commit: what is true is there first."""
    changed = connection.execute("SELECT place, key FROM wk_changed").fetchall()
    if not changed:
        return
    keeper = store(path)
    for start in range(0, len(changed), _ROWS_MAX):
        part = changed[start : start + _ROWS_MAX]
        keeper.state.merge({_name(place, key): _row(connection, place, key) for place, key in part})
    connection.execute("DELETE FROM wk_changed")
    _come_to(connection, keeper._native.size())


def catch_up(connection: sqlite3.Connection, path: str) -> None:
    """Bring the tables to the end of the ledger: a process may have died before it wrote them."""
    native = store(path)._native
    following, end = _cursor(connection), native.size()
    if following >= end:
        return
    while following < end:
        page = native.records(following, _PAGE)
        if not page:
            break
        for _index, body in page:
            _apply(connection, body)
        following = page[-1][0] + 1
    _come_to(connection, max(following, end))


def flow_of(connection: sqlite3.Connection, path: str, dfid: str) -> str:
    """The kernel's flow of a flow of the reference's, opened at its first use."""
    flow = str(uuid.uuid5(uuid.NAMESPACE_URL, f"dir_core:{dfid}"))
    if _dfid(connection, flow) is None:
        try:
            store(path)._native.open_flow(AGENT, None, flow)
        except Refused as refused:
            # A process opened it and died before it could write so.
            if refused.code != "STEP_REFUSED":
                raise
        connection.execute("INSERT INTO wk_flows VALUES (?, ?)", (flow, dfid))
        # Whoever reads the ledger meets the name of a flow before its holds.
        keep(connection, path)
    return flow


def hold(
    connection: sqlite3.Connection,
    path: str,
    dfid: str,
    requests: Mapping[str, float],
    capacities: Mapping[str, float] | None,
) -> bool:
    """Hold amounts for a flow, all or none, of what there is; without capacities of any amount."""
    flow = flow_of(connection, path, dfid)
    available = {
        resource_name(name): _exact(math.inf if capacities is None else capacities[name]) for name in requests
    }
    resources = {resource_name(name): _exact(amount) for name, amount in requests.items()}
    try:
        store(path)._native.reserve(flow, _json.encode({"resources": resources, "available": available}))
    except Refused as refused:
        if refused.code in ("RESOURCE_CONTENTION", "RESOURCE_INSUFFICIENT"):
            return False
        raise
    catch_up(connection, path)
    return True


def let_go(connection: sqlite3.Connection, path: str, dfid: str) -> None:
    """Drop all holds of a flow."""
    if connection.execute("SELECT 1 FROM resource_locks WHERE dfid = ?", (dfid,)).fetchone() is not None:
        store(path)._native.release(flow_of(connection, path, dfid), [])
        catch_up(connection, path)


def doubt_step(path: str, key: str) -> None:
    """A step that somebody began before there was a store: nobody knows whether it happened."""
    keeper = store(path)
    params = {"key": key, "owner": "", "step": "begun before there was a store"}
    decision = keeper.decide(agent=AGENT, action=STEP_ACTION, params=params)
    if decision.intent is not None:
        keeper.report(decision.intent, "doubt", detail="begun before there was a store")


def _exact(amount: float) -> str:
    """An amount as the kernel reads it; there is never more than `_MOST` of anything."""
    return format(Decimal(str(min(max(amount, -_MOST), _MOST))), "f")


def _name(place: str, key: object) -> str:
    return f"{_PREFIX}{place}/{key}"


def _row(connection: sqlite3.Connection, place: str, key: object) -> dict[str, Any]:
    """The row by its columns; an empty one is gone."""
    found = connection.execute(f"SELECT * FROM {place} WHERE {TABLES[place]} = ?", (key,)).fetchone()
    return {} if found is None else dict(found)


def _cursor(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT next FROM wk_cursor").fetchone()[0])


def _come_to(connection: sqlite3.Connection, following: int) -> None:
    connection.execute("UPDATE wk_cursor SET next = ?", (following,))


def _apply(connection: sqlite3.Connection, body: str) -> None:
    """What one record means for the tables."""
    if '"merge_state"' not in body and '"reserve"' not in body and '"release"' not in body:
        return
    record = _json.decode(body)
    if record.get("verdict") != "ACCEPT":
        return
    command, result = record["command"], record.get("result") or {}
    if record["kind"] == "merge_state":
        for write in command["writes"]:
            _apply_row(connection, write["key"], write["value"])
    elif record["kind"] == "reserve":
        _apply_holds(connection, command["flow"], result["held"], record["at"])
    elif record["kind"] == "release":
        _apply_release(connection, command["flow"], result["resources"])


def _apply_row(connection: sqlite3.Connection, name: str, row: Any) -> None:
    place, _, key = name.removeprefix(_PREFIX).partition("/")
    if not name.startswith(_PREFIX) or place not in TABLES:
        return
    column = TABLES[place]
    if not row:
        connection.execute(f"DELETE FROM {place} WHERE {column} = ?", (key,))
    else:
        columns = list(row)
        updates = ", ".join(f"{one} = excluded.{one}" for one in columns)
        connection.execute(
            f"INSERT INTO {place} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
            f" ON CONFLICT({column}) DO UPDATE SET {updates}",
            [_column(value) for value in row.values()],
        )
    connection.execute("DELETE FROM wk_changed WHERE place = ? AND CAST(key AS TEXT) = ?", (place, key))


def _column(value: Any) -> Any:
    return value if value is None or isinstance(value, int | str | float) else float(value)


def _dfid(connection: sqlite3.Connection, flow: str) -> str | None:
    row = connection.execute("SELECT dfid FROM wk_flows WHERE flow = ?", (flow,)).fetchone()
    return None if row is None else str(row[0])


def _apply_holds(connection: sqlite3.Connection, flow: str, held: dict[str, Any], at: str) -> None:
    dfid = _dfid(connection, flow)
    if dfid is None:
        return
    for name, amount in held.items():
        connection.execute(
            "INSERT INTO resource_locks (resource_id, dfid, amount, acquired_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT(resource_id, dfid) DO UPDATE SET amount = excluded.amount,"
            " acquired_at = excluded.acquired_at",
            (resource_of(name), dfid, float(amount), at),
        )


def _apply_release(connection: sqlite3.Connection, flow: str, resources: list[str]) -> None:
    dfid = _dfid(connection, flow)
    for name in resources:
        connection.execute(
            "DELETE FROM resource_locks WHERE dfid = ? AND resource_id = ?", (dfid, resource_of(name))
        )


def resource_name(resource_id: str) -> str:
    """A resource as the kernel names it: any text as one word."""
    return "r:" + _json.encode(resource_id)[1:-1].replace(" ", "\\u0020")


def resource_of(name: str) -> str:
    """The resource of a name."""
    told: str = _json.decode(f'"{name.removeprefix("r:")}"')
    return told


def _start_anew_in_child() -> None:
    """A forked child opens stores of its own."""
    global _open
    _open = _Open()


os.register_at_fork(after_in_child=_start_anew_in_child)
