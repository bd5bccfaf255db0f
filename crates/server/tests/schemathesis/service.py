"""A running service with something in it: agents, questions, intents, leases, and one valid request for every operation."""

import itertools
import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request

# Entries of one tile.
TILE = 256

CONTRACT = """
agent: {agent}
actions:
  look: {{ reads: true, params: {{ what: text }} }}
  pay:
    params: {{ order: text, amount: money EUR }}
    limits: {{ amount: {{ max: 100 }} }}
    amendable: {{ amount: {{ max: {{ floor: 0, ceiling: 200 }}, ttl: 24h }} }}
    allow: amount <= 25
    ask: amount <= 100
    once: "pay:{{order}}"
    run: POST http://127.0.0.1:9/pay
    undo: ALERT_HUMAN
escalation: {{ approvers: [desk], timeout: {{ after: 2d, then: ABORT }} }}
"""


class Service:
    """The process, its keys, and requests to it."""

    def __init__(self, binary, folder):
        self.log = open(f"{folder}/serve.log", "w", encoding="utf-8")
        command = [binary, "serve", "--store", f"{folder}/store.db", "--listen", "127.0.0.1:0", "--rate", "100000"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.admin = self._line("admin key: ")
        self.address = self._line("listening on ")
        self.names = itertools.count(1)

    def _line(self, start):
        for line in self.process.stdout:
            if line.startswith(start):
                return line[len(start) :].strip()
        raise SystemExit(f"the service ended before it said `{start}`")

    def stop(self):
        self.process.terminate()
        code = self.process.wait(timeout=30)
        self.log.close()
        return code

    def ask(self, method, path, body=None, key=None):
        """One request that must be carried out; its answer as JSON."""
        return json.loads(self.ask_text(method, path, body, key) or "null")

    def ask_text(self, method, path, body=None, key=None):
        """The same; its answer as text."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {key or self.admin}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}{path}", data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{method} {path}: {refused.code} {refused.read().decode()}") from refused

    def name(self, kind):
        return f"{kind}-{next(self.names)}"

    def agent(self):
        name = self.name("agent")
        self.ask("POST", "/v1/agents", {"contract": CONTRACT.format(agent=name)})
        return name

    def proposal(self, agent, amount):
        return {"agent": agent, "action": "pay", "params": {"order": self.name("order"), "amount": amount}}

    def propose(self, agent, amount, expected):
        answer = self.ask("POST", "/v1/proposals", self.proposal(agent, amount))
        assert answer["verdict"] == expected, answer
        return answer


def quoted(text):
    return urllib.parse.quote(text, safe="")


class Recipes:
    """For each operation a request that is carried out: path parameters, query, body, and whose key."""

    def __init__(self, service):
        self.service = service
        self.main = service.agent()
        new = lambda role, **more: service.ask("POST", "/v1/keys", {"role": role, "name": f"the-{role}", **more})["key"]
        self.approver = new("approver", groups=["desk"])
        self.service.ask("PUT", "/v1/people/the-other-approver", {"groups": ["desk"]})

    def question(self):
        return self.service.propose(self.service.agent(), 50, "ESCALATE")["question"]

    def intent(self):
        return self.service.propose(self.service.agent(), 5, "ACCEPT")["intent"]["id"]

    def claimed(self):
        intent = self.intent()
        return intent, self.service.ask("POST", f"/v1/intents/{intent}/claim", {})

    def started(self):
        intent, claimed = self.claimed()
        self.service.ask("POST", f"/v1/intents/{intent}/start", {"epoch": claimed["epoch"]})
        return intent, claimed

    def succeeded(self):
        intent, claimed = self.started()
        body = {"epoch": claimed["epoch"], "observed": "POSITIVE"}
        self.service.ask("POST", f"/v1/intents/{intent}/finish", body)
        return intent

    def flow(self):
        return self.service.ask("POST", "/v1/flows", {"agent": self.main})["flow"]

    def lease(self):
        held = self.service.ask("POST", "/v1/leases", {"holder": "anna", "regions": ["/" + self.service.name("region") + "/**"]})
        return str(held["fence"])

    def tenant(self):
        name = self.service.name("tenant")
        self.service.ask("POST", "/v1/tenants", {"name": name})
        return name

    def fill(self):
        """Makes the first tile of the ledger full."""
        for number in range(TILE):
            self.service.ask("PUT", f"/v1/state/filling-{number}", {"value": number})
        self.service.ask_text("POST", "/v1/ledger/seal")

    def of(self, operation):
        """The request of an operation; nothing where any generated one will do."""
        found = getattr(self, f"_{operation}", None)
        return found() if found else None

    def _register_agent(self):
        return {"body": {"contract": CONTRACT.format(agent=self.service.name("agent"))}}

    def _agent(self):
        return {"path": {"name": self.main}}

    _contract = _renew_token = _agent

    def _action_schema(self):
        return {"path": {"name": self.main, "action": "pay"}}

    def _renew_token(self):
        return {"path": {"name": self.service.agent()}, "body": {}}

    def _revoke_token(self):
        return {"path": {"name": self.service.agent()}}

    def _activate_contract(self):
        name = self.service.agent()
        return {"path": {"name": name}, "body": {"contract": CONTRACT.format(agent=name).replace("25", "20")}}

    def _start_canary(self):
        name = self.service.agent()
        contract = CONTRACT.format(agent=name).replace("25", "20")
        return {"path": {"name": name}, "body": {"contract": contract, "share": "5%", "because": "a test"}}

    def canary(self):
        """An agent some of whose flows are under a candidate."""
        recipe = self._start_canary()
        name = recipe["path"]["name"]
        self.service.ask("POST", f"/v1/agents/{name}/canary", recipe["body"])
        return name

    def _promote_canary(self):
        name = self.canary()
        candidate = self.service.ask("GET", f"/v1/agents/{name}")["canary"]["contract"]
        return {"path": {"name": name}, "body": {"contract": candidate, "because": "a test"}}

    def _roll_back_canary(self):
        return {"path": {"name": self.canary()}, "body": {"because": "a test"}}

    def _restrict_agent(self):
        return {"path": {"name": self.service.agent()}, "body": {"status": "SUSPENDED", "because": "a test"}}

    def _lift_restriction(self):
        name, body = self.service.agent(), {"status": "SUSPENDED", "because": "a test"}
        self.service.ask("POST", f"/v1/agents/{name}/restrict", body)
        return {"path": {"name": name}, "body": body}

    def _retire_agent(self):
        return {"path": {"name": self.service.agent()}, "body": {"because": "a test"}}

    def _amend_limit(self):
        body = {"action": "pay", "param": "amount", "max": 150, "because": "a test", "ttl": "1h"}
        return {"path": {"name": self.service.agent()}, "body": body}

    def _state(self):
        key = self.service.name("place")
        self.service.ask("PUT", f"/v1/state/{key}", {"value": 1})
        return {"path": {"rest": key}}

    def _set_state(self):
        return {"path": {"rest": self.service.name("place")}, "body": {"value": {"a": [1, "b", None]}}}

    def _session(self):
        return {"path": {"id": self.flow()}}

    _flow = _session

    def _extend_session(self):
        return {"path": {"id": self.flow()}, "body": {"values": {"seen": True}}}

    def _take_snapshot(self):
        return {"body": {"flow": self.flow(), "keys": []}}

    def _snapshot(self):
        return {"path": {"id": self.service.ask("POST", "/v1/snapshots", {"flow": self.flow()})["snapshot"]}}

    def _question(self):
        return {"path": {"id": self.question()["id"]}}

    def _answer(self):
        question = self.question()
        body = {"decision": "approve", "because": "a test", "digest": question["digest"]}
        return {"path": {"id": question["id"]}, "body": body, "key": self.approver}

    def _hand_over(self):
        body = {"to": "the-other-approver", "because": "a test"}
        return {"path": {"id": self.question()["id"]}, "body": body, "key": self.approver}

    def _snooze(self):
        return {"path": {"id": self.question()["id"]}, "body": {"for": "1h"}, "key": self.approver}

    def _open_flow(self):
        return {"body": {"agent": self.main}}

    def _close_flow(self):
        return {"path": {"id": self.flow()}}

    _abort_flow = _close_flow

    def _ask_person(self):
        flow = self.service.ask("POST", "/v1/flows", {"agent": self.service.agent()})["flow"]
        return {"path": {"id": flow}, "body": {"reason": "two accounts look alike", "context": {"seen": [1, 2]}}}

    def _reserve(self):
        resource = self.service.name("resource")
        return {"path": {"id": self.flow()}, "body": {"resources": {resource: "2"}, "available": {resource: "5"}}}

    def _release(self):
        recipe = self._reserve()
        self.service.ask("POST", f"/v1/flows/{recipe['path']['id']}/reservations", recipe["body"])
        return {"path": recipe["path"], "body": {}}

    def _note(self):
        return {"path": {"id": self.flow()}, "body": {"name": "PRICE_SEEN", "details": {"price": 12}}}

    def _intent(self):
        return {"path": {"id": self.intent()}}

    def _claim(self):
        return {"path": {"id": self.intent()}, "body": {"worker": "w", "lease": "30s"}}

    def _start(self):
        intent, claimed = self.claimed()
        return {"path": {"id": intent}, "body": {"epoch": claimed["epoch"]}}

    def _finish(self):
        intent, claimed = self.started()
        result = {"status": 200, "content_type": "application/json", "body": "{}"}
        return {"path": {"id": intent}, "body": {"epoch": claimed["epoch"], "observed": "POSITIVE", "result": result}}

    def _settle(self):
        return {"path": {"id": self.intent()}, "body": {"event": "FAIL"}}

    def _undo(self):
        return {"path": {"id": self.succeeded()}, "body": {"because": "a test"}}

    def _new_key(self):
        return {"body": {"role": "auditor", "name": self.service.name("eve")}}

    def _revoke_key(self):
        made = self.service.ask("POST", "/v1/keys", {"role": "auditor", "name": self.service.name("eve")})
        return {"path": {"id": made["id"]}}

    def _set_person(self):
        return {"path": {"name": self.service.name("ann")}, "body": {"groups": ["desk"]}}

    def _new_tenant(self):
        return {"body": {"name": self.service.name("tenant")}}

    def _close_tenant(self):
        return {"path": {"name": self.tenant()}}

    def _open_tenant(self):
        name = self.tenant()
        self.service.ask("POST", f"/v1/tenants/{name}/close", {})
        return {"path": {"name": name}}

    def _acquire_lease(self):
        return {"body": {"holder": "anna", "regions": ["/" + self.service.name("region") + "/**"], "ttl": "30s"}}

    def _keep_lease(self):
        return {"path": {"fence": self.lease()}, "body": {"holder": "anna"}}

    _release_lease = _keep_lease

    def _evict_lease(self):
        return {"path": {"fence": self.lease()}, "body": {"because": "a test"}}

    def _adopt_lease(self):
        return {"path": {"fence": self.lease()}, "body": {"to": "bert", "because": "a test"}}

    def _tile(self):
        return {"path": {"rest": "0/000"}}

    def _receipt(self):
        return {"path": {"id": self.service.propose(self.service.agent(), 5, "ACCEPT")["id"]}}

    def _propose(self):
        return {"body": self.service.proposal(self.main, 5)}

    def _propose_batch(self):
        return {"body": [self.service.proposal(self.main, 5), self.service.proposal(self.main, 500)]}

    def _explain(self):
        return {"path": {"code": "NOT_ALLOWED"}}

    def _halt(self):
        return {"body": {"because": "a test"}}

    _resume = _halt

    def _change(self):
        command = {"agent": self.service.agent(), "status": "PASSIVE", "because": "a test", "actions": []}
        return {"body": {"act": "restrict", "command": command}}

    def _rows(self):
        return {"path": {"kind": "agent"}}

    def _row(self):
        return {"path": {"kind": "agent", "name": self.main}}

    def _follow(self):
        return {"query": {"intent": self.intent(), "wait": "10ms"}}

    def _events(self):
        return {"query": {"after": 0, "limit": 5}}
