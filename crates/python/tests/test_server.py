"""A server by its address: the same objects, and the role of the token decides what they may do."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pages
import pytest

import writkeeper

BINARY = os.environ.get("WRITKEEPER_BINARY")

pytestmark = pytest.mark.skipif(BINARY is None, reason="there is no binary of the server")


@dataclass
class Server:
    """A server of its own, and the key of its first admin."""

    process: subprocess.Popen[str]
    address: str
    admin: str

    def key(self, **wanted: Any) -> str:
        """A key for somebody else."""
        headers = {"Authorization": f"Bearer {self.admin}"}
        asked = urllib.request.Request(f"{self.address}/v1/keys", json.dumps(wanted).encode(), headers)
        with urllib.request.urlopen(asked) as answer:
            key: str = json.load(answer)["key"]
        return key

    def stop(self) -> None:
        """Ends it as an operator does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    words = [str(BINARY), "serve", "--store", str(tmp_path / "served.db"), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = admin = ""
    # It says where it listens once it does.
    for line in process.stdout:
        said, _, value = line.strip().partition(": ")
        admin = value if said == "admin key" else admin
        if line.startswith("listening on "):
            address = line.split()[2]
            break
    served = Server(process, address, admin)
    try:
        yield served
    finally:
        served.stop()
        process.stdout.close()


@pytest.fixture
def remote(server: Server, contract: str) -> Iterator[writkeeper.Keeper]:
    with writkeeper.open(server.address, token=server.admin, contract=contract) as keeper:
        keeper.people({"desk": ["ann"]})
        yield keeper


def guarded(server: Server, keeper: writkeeper.Keeper, agent: str) -> None:
    """Everything that may become of a guarded call: the tool runs where it may, once, and never on a guess."""
    paid: list[str] = []

    @keeper.guard(agent).tool
    def refund(order: str, amount: float) -> Any:
        paid.append(order)
        if order == "boom":
            raise ConnectionError("the bank did not answer")
        return f"paid {amount} for {order}"

    def said(answer: Any) -> dict[str, Any]:
        body: dict[str, Any] = answer["writkeeper"]
        return body

    assert refund("A-1", 5) == "paid 5 for A-1"
    assert said(refund("A-1", 5))["reasons"] == ["ALREADY_DONE"]
    assert said(refund("A-2", 500))["status"] == "denied"
    pending = said(refund("A-3", 50))
    assert pending["status"] == "pending"
    # Nobody else answers for a person, who has a key of their own.
    with pytest.raises(writkeeper.WritkeeperError):
        keeper.answer(pending["question"], "approve", by="ann", because="late")
    with writkeeper.open(server.address, token=server.key(role="approver", name="ann", groups=["desk"])) as ann:
        [question] = ann.questions()
        ann.answer(question, "approve", by="ann", because="late")
    assert refund("A-3", 50) == "paid 50 for A-3"
    # A guard that was not there when people were asked finds what they approved, and only for exactly that call.
    assert said(refund("A-4", 50))["status"] == "pending"
    with writkeeper.open(server.address, token=server.key(role="approver", name="bob", groups=["desk"])) as bob:
        [question] = bob.questions()
        bob.answer(question, "approve", by="bob", because="late")
    later = keeper.guard(agent).tool(lambda order, amount: paid.append(order) or "paid", name="refund")
    assert said(later(order="A-4", amount=10))["reasons"] == ["IN_PROGRESS"]
    assert later(order="A-4", amount=50) == "paid"
    with pytest.raises(ConnectionError):
        refund("boom", 5)
    assert said(refund("boom", 5))["status"] == "in_doubt"
    assert paid == ["A-1", "A-3", "A-4", "boom"]
    server.stop()
    assert said(refund("A-9", 5))["status"] == "unavailable"
    assert paid == ["A-1", "A-3", "A-4", "boom"]


def test_a_guarded_tool(server: Server, remote: writkeeper.Keeper) -> None:
    guarded(server, remote, "refund-bot")


def test_a_guarded_tool_with_an_agents_own_token(server: Server, remote: writkeeper.Keeper, contract: str) -> None:
    token = registered(server, contract.replace("refund-bot", "other-bot"))
    with writkeeper.open(server.address, token=token) as agent:
        guarded(server, agent, "other-bot")


def test_everything_that_a_keeper_reads_and_writes(remote: writkeeper.Keeper, tmp_path: Path) -> None:
    order = {"order": "A-1", "amount": 5}
    decision = remote.decide(agent="refund-bot", action="refund", params=order, idempotency_key="k")
    assert decision.accepted and decision.intent is not None
    same = asyncio.run(
        remote.decide_async(agent="refund-bot", action="refund", params=order, idempotency_key="k")
    )
    assert same.line == decision.line and decision.fresh and not same.fresh
    with remote.flow("refund-bot") as flow:
        flow.remember({"ticket": 7})
        assert flow.decide(action="look", params={"order": "A-1"}).accepted
    assert remote.state.merge({"accounts/7/balance": 100}) == {"accounts/7/balance": 1}
    assert remote.state.get("accounts/7/balance") == 100
    assert remote.snapshot(None, ["accounts/7/balance"]).id
    assert remote.report(decision.intent, "succeeded", result={"refund": "r-1"}) == "SUCCEEDED"
    assert remote.intent(decision.intent).state == "SUCCEEDED"
    assert remote.agent("refund-bot")["status"] == "ACTIVE"
    assert remote.receipt(decision).startswith("c2sp.org/tlog-proof@v1\n")
    assert remote.export(tmp_path / "ledger.export") > 0
    assert writkeeper.verify(tmp_path / "ledger.export")["whole"]


def test_each_token_is_a_caller_of_its_own(server: Server, remote: writkeeper.Keeper) -> None:
    with writkeeper.open(server.address, token=server.key(role="auditor", name="eve")) as eve:
        assert [agent["agent"] for agent in [eve.agent("refund-bot")]] == ["refund-bot"]
        with pytest.raises(writkeeper.WritkeeperError):
            eve.state.merge({"accounts/7/balance": 1})
    with pytest.raises(writkeeper.WritkeeperError):
        writkeeper.open(server.address, token="wk_default.nobody.nothing")


def test_nobody_listens(server: Server) -> None:
    server.stop()
    with pytest.raises(writkeeper.Unavailable):
        writkeeper.open(server.address, token=server.admin)


def test_the_page(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ann = server.key(role="approver", name="ann", groups=["desk"])
    pages.run("python/server.md", tmp_path, address=server.address, admin=server.admin, ann=ann)


def registered(server: Server, contract: str) -> str:
    """The token of an agent that an admin registers."""
    headers = {"Authorization": f"Bearer {server.admin}"}
    asked = urllib.request.Request(f"{server.address}/v1/agents", json.dumps({"contract": contract}).encode(), headers)
    with urllib.request.urlopen(asked) as answer:
        token: str = json.load(answer)["token"]
    return token


def acted(flow: writkeeper.Flow, other: writkeeper.Flow) -> None:
    """Asks, holds, lets go and notes in a flow of a server."""
    question = flow.ask("two accounts look alike", context={"accounts": ["A-1", "A-7"]})
    assert question.id and question.flow == flow.id
    assert flow.reserve({"cash": 60}, available={"cash": 100}) == {"cash": Decimal(60)}
    with pytest.raises(writkeeper.Refused) as refused:
        other.reserve({"cash": 60}, available={"cash": 100})
    assert refused.value.code == "RESOURCE_CONTENTION"
    assert flow.release() == ["cash"]
    assert asyncio.run(other.reserve_async({"cash": 60}, available={"cash": 100})) == {"cash": Decimal(60)}
    flow.note("PRICE_SEEN", {"price": Decimal("12.50")})


def test_acts_in_a_flow_with_an_admins_key(remote: writkeeper.Keeper) -> None:
    flow = remote.flow("refund-bot")
    acted(flow, remote.flow("refund-bot"))
    kinds = [entry["kind"] for entry in flow.timeline()["timeline"]]
    assert [kind for kind in ("ask", "reserve", "release", "note") if kind not in kinds] == [], kinds


def test_acts_in_a_flow_with_an_agents_own_token(server: Server, remote: writkeeper.Keeper, contract: str) -> None:
    token = registered(server, contract.replace("refund-bot", "b-bot"))

    def opened() -> str:
        asked = urllib.request.Request(f"{server.address}/v1/flows", b"{}", {"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked) as answer:
            flow: str = json.load(answer)["flow"]
        return flow

    with writkeeper.open(server.address, token=token) as agent:
        acted(writkeeper.Flow(agent, opened(), "b-bot"), writkeeper.Flow(agent, opened(), "b-bot"))
        # Flows of others are not there for it.
        foreign = writkeeper.Flow(agent, remote.flow("refund-bot").id, "b-bot")
        for act in (lambda: foreign.note("X"), lambda: foreign.ask("why"), foreign.release):
            with pytest.raises(writkeeper.WritkeeperError):
                act()


def test_acts_in_a_flow_on_the_command_line(server: Server, remote: writkeeper.Keeper) -> None:
    flow = remote.flow("refund-bot").id

    def command(*words: str) -> Any:
        environment = {**os.environ, "WRITKEEPER_KEY": server.admin}
        asked = [str(BINARY), "flows", words[0], *words[1:], "--server", server.address, "--json"]
        done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    assert command("ask", flow, "--reason", "two look alike")["question"]
    assert command("reserve", flow, "cash=60", "--available", "cash=100")["held"] == {"cash": "60"}
    command("note", flow, "SEEN", "--details", '{"price": 12.5}')
    assert command("release", flow)["resources"] == ["cash"]


def test_an_agent_with_a_token_of_its_own(server: Server, remote: writkeeper.Keeper, contract: str) -> None:
    """It proposes and acts in its own name, and in no other."""
    token = registered(server, contract.replace("refund-bot", "other-bot"))
    with writkeeper.open(server.address, token=token) as agent:
        assert agent.decide(agent="other-bot", action="look", params={"order": "Z-2"}).accepted
        assert not agent.decide(agent="other-bot", action="refund", params={"order": "Z-3", "amount": 500}).accepted
        with pytest.raises(writkeeper.WritkeeperError):
            agent.state.merge({"accounts/7/balance": 1})
        with pytest.raises(writkeeper.WritkeeperError):
            agent.decide(agent="refund-bot", action="look", params={"order": "A-1"}).raise_for_refusal()
        ran: list[str] = []
        foreign = agent.guard("refund-bot").tool(lambda order, amount: ran.append(order), name="refund")
        assert foreign(order="Z-1", amount=5)["writkeeper"]["status"] in ("denied", "unavailable") and not ran
