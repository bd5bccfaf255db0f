"""A trading mesh (sample 31): agents hear news on a bus, propose, and the kernel lets one of them act.

News wakes agents; the loudest proposal wins by a fixed table; the contract judges the winner; every position gets an
agent of its own, whose flow is a child of the news that opened it. `python trading_mesh.py FOLDER` leaves `report.html`
there, which reads the tables with SQL.
"""

from __future__ import annotations

import html
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

from writkeeper.dir_core import (
    DecisionFlow,
    DecisionRuntime,
    EventBus,
    EventMetadata,
    EventType,
    FlowStatus,
    PolicyProposal,
    ValidationVerdict,
    WakeupPredicate,
    price_change_significant,
    select_winner,
    should_wake,
    sqlite_storage,
    transition,
)

NEWS: list[dict[str, Any]] = [
    {"instrument": "BTC-USD", "price_delta_pct": 0.021, "headline": "Fund buys bitcoin for its reserve"},
    {"instrument": "ETH-USD", "price_delta_pct": 0.001, "headline": "Quiet day for ether"},
    {"instrument": "ETH-USD", "price_delta_pct": 0.012, "headline": "Upgrade <fork> goes live, fees fall"},
    {"instrument": "BTC-USD", "price_delta_pct": -0.046, "headline": "Exchange halts withdrawals"},
    {"instrument": "DOGE-USD", "price_delta_pct": 0.3, "headline": "A joke coin doubles"},
]
NEWS_CONTRACT = {
    "agent_id": "news-agent",
    "authority": {
        "allowed_policy_types": ["OPEN_LONG", "HOLD"],
        "resource_scope": {"instruments": ["BTC-USD", "ETH-USD"]},
        "limits": {"max_order_size": 1_000},
    },
}


class Mesh:
    """The bus, the agents on it, and the kernel behind it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runtime = DecisionRuntime(sqlite_storage(path))
        self.bus = EventBus("mesh")
        self.positions: dict[str, str] = {}
        self.proposed: list[PolicyProposal] = []
        self.told: list[tuple[str, str, str]] = []
        self.flow = DecisionFlow(dfid="none")
        self.runtime.register_agent("news-agent", NEWS_CONTRACT, "1.0.0", priority=5)
        self.bus.subscribe(EventType.NEWS, self._read_news)
        self.bus.subscribe(EventType.POLICY_PROPOSAL, self.proposed.append)

    def _read_news(self, news: dict[str, Any]) -> None:
        if not should_wake(news, [WakeupPredicate("it moved", price_change_significant)]):
            return
        kind = "OPEN_LONG" if news["price_delta_pct"] > 0 else "HOLD"
        params = {"instrument": news["instrument"], "order_value": 500}
        self._propose(PolicyProposal(dfid=self.flow.dfid, agent_id="news-agent", policy_kind=kind, params=params))

    def _propose(self, proposal: PolicyProposal) -> None:
        self.bus.publish(EventType.POLICY_PROPOSAL, proposal, EventMetadata(dfid=self.flow.dfid))

    def spawn(self, instrument: str) -> str:
        """An agent for one position: it may close it and nothing else."""
        agent = f"position-{instrument.lower()}"
        scope = {"instruments": [instrument]}
        authority = {"allowed_policy_types": ["CLOSE_LONG"], "resource_scope": scope}
        self.runtime.register_agent(agent, {"agent_id": agent, "authority": authority}, "1.0.0", priority=1)
        self.runtime.audit.record(self.flow.dfid, "AGENT_SPAWNED", details={"agent": agent}, agent_id="news-agent")

        def watch(news: dict[str, Any]) -> None:
            if instrument in self.positions and news["price_delta_pct"] < -0.03:
                params = {"instrument": instrument}
                self._propose(
                    PolicyProposal(dfid=self.flow.dfid, agent_id=agent, policy_kind="CLOSE_LONG", params=params)
                )

        self.bus.subscribe(EventType.NEWS, watch, scope=instrument)
        return agent

    def hear(self, news: dict[str, Any]) -> None:
        """One piece of news, from the bus to its end."""
        dfid = f"flow-{len(self.told) + 1}"
        self.flow = DecisionFlow(dfid=dfid)
        self._move(FlowStatus.CREATED, FlowStatus.ACTIVE)
        self.proposed.clear()
        self.bus.publish(EventType.NEWS, news, EventMetadata(dfid=dfid, target_scope=news["instrument"]))
        winner = select_winner(list(self.proposed))
        if winner is None:
            self._end(news, "NOBODY WOKE", "", FlowStatus.ACTIVE, FlowStatus.CLOSED)
            return
        self.flow.record_proposal(winner)
        self._move(FlowStatus.ACTIVE, FlowStatus.VALIDATING)
        verdict, reason = self.runtime.evaluate_proposal(winner, {"news": news})
        if verdict != ValidationVerdict.ACCEPT:
            self._end(news, str(verdict), str(reason), FlowStatus.VALIDATING, FlowStatus.ABORTED)
            return
        self._move(FlowStatus.VALIDATING, FlowStatus.ACCEPTED)
        self._move(FlowStatus.ACCEPTED, FlowStatus.EXECUTING)
        self._execute(winner)
        self._end(news, str(verdict), winner.policy_kind, FlowStatus.EXECUTING, FlowStatus.CLOSED)

    def _execute(self, winner: PolicyProposal) -> None:
        instrument = winner.params["instrument"]
        if winner.policy_kind == "OPEN_LONG":
            child = f"{self.flow.dfid}-{instrument.lower()}"
            self.flow.create_child_flow(child)
            transition(child, FlowStatus.CREATED, FlowStatus.ACTIVE, db_path=self.path, root_dfid=self.flow.dfid)
            self.positions[instrument] = child
            self.spawn(instrument)
        elif winner.policy_kind == "CLOSE_LONG":
            transition(self.positions.pop(instrument), FlowStatus.ACTIVE, FlowStatus.CLOSED, db_path=self.path)
        details = {"instrument": instrument, "kind": winner.policy_kind}
        self.runtime.audit.record(self.flow.dfid, "EXECUTED", details=details, agent_id=winner.agent_id)

    def _end(self, news: dict[str, Any], verdict: str, why: str, before: FlowStatus, after: FlowStatus) -> None:
        self._move(before, after)
        details = {"headline": news["headline"], "verdict": verdict, "why": why}
        self.runtime.audit.record(self.flow.dfid, "NEWS_DONE", details=details, agent_id="news-agent")
        self.told.append((news["headline"], verdict, why))

    def _move(self, before: FlowStatus, after: FlowStatus) -> None:
        transition(self.flow.dfid, before, after, db_path=self.path)


def report(path: Path) -> str:
    """A page about everything that happened, from the tables alone."""
    connection = sqlite3.connect(path)
    try:
        steps = connection.execute(
            "SELECT dfid, group_concat(to_status, ' → ') FROM"
            " (SELECT * FROM flow_transitions ORDER BY id) GROUP BY dfid ORDER BY min(id)"
        ).fetchall()
        events = connection.execute(
            "SELECT dfid, event_type, detail_json, created_at FROM decision_audit_events ORDER BY id"
        ).fetchall()
    finally:
        connection.close()
    return (
        "<!doctype html>\n<html lang='en'><meta charset='utf-8'><title>Trading mesh</title>"
        "<style>body{font:15px system-ui;margin:2rem}td,th{padding:.3rem .8rem;text-align:left;"
        "border-bottom:1px solid #ddd}</style><h1>Trading mesh</h1>"
        f"<h2>Flows</h2>{table(('flow', 'states'), steps)}"
        f"<h2>Events</h2>{table(('flow', 'event', 'details', 'at'), events)}</html>\n"
    )


def table(heads: tuple[str, ...], rows: list[Any]) -> str:
    """A table whose cells are text, whatever they hold."""

    def row(cells: Any, tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + row(heads, "th") + "".join(row(cells, "td") for cells in rows) + "</table>"


def run(folder: Path) -> list[tuple[str, str, str]]:
    """Every piece of news: its headline, the verdict and why; the report lies in the folder."""
    mesh = Mesh(folder / "mesh.db")
    for news in NEWS:
        mesh.hear(news)
    (folder / "report.html").write_text(report(folder / "mesh.db"), encoding="utf-8")
    return mesh.told


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for line in run(Path(sys.argv[1] if len(sys.argv) > 1 else scratch)):
            print("{:40} {:12} {}".format(*line))
