"""Runs schemathesis against a real service: `run.py BINARY`. Ends with `N passed, N failed`.

A check passes for an operation where schemathesis found no violation, where at least 200 cases were sent, and where at least
one of them was carried out. The document itself is one more check: no answer may have an empty schema.
"""

import json
import os
import subprocess
import sys
import tempfile

import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from service import Recipes, Service

CASES = 200

# What is drawn at random; what is derived from the schema comes on top, and what is still missing is asked again.
FUZZED = 160
SEED = 1794789015

# Each takes a part of the operations; more would only share the same two cores.
PARTS = 2

ALWAYS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def operations_of(document):
    return [operation for methods in document["paths"].values() for operation in methods.values()]


def empty_schemas(document):
    """Answers whose schema says nothing."""
    for operation in operations_of(document):
        for status, answer in operation["responses"].items():
            for media, content in answer.get("content", {}).items():
                if not content.get("schema"):
                    yield f"{operation['operationId']} {status} {media}: its schema is empty"


class Counts:
    """How often each operation was asked, and what was answered."""

    def __init__(self):
        self.known = {}

    def of(self, operation):
        return self.known.setdefault(operation, {})

    def add(self, operation, what, number=1):
        count = self.of(operation)
        count[what] = count.get(what, 0) + number

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            for operation, counts in json.load(file).items():
                for what, number in counts.items():
                    self.add(operation, what, number)


def main():
    binary, here = sys.argv[1], os.path.dirname(os.path.abspath(__file__))
    counts, failures = Counts(), []
    with tempfile.TemporaryDirectory() as folder:
        service = Service(binary, folder)
        try:
            document = service.ask("GET", "/v1/openapi.json")
            failures += empty_schemas(document)
            recipes = Recipes(service)
            recipes.fill()
            names = [operation["operationId"] for operation in operations_of(document)]
            parts = [["--phases", "coverage,fuzzing", *only(names[part::PARTS])] for part in range(PARTS)]
            failures += asked_at_once(service, (folder, here), parts, counts)
            failures += asked_at_once(service, (folder, here), [["--phases", "stateful"]], counts)
            few = [name for name in names if counts.of(name).get("cases", 0) < CASES or not counts.of(name).get("2xx")]
            failures += asked_again(service, recipes, few, counts)
        finally:
            code = service.stop()
        if code != 0:
            failures.append(f"the service ended with {code}")
    for name in names:
        count = counts.of(name)
        if count.get("cases", 0) < CASES:
            failures.append(f"{name}: {count.get('cases', 0)} cases")
        if not count.get("2xx"):
            failures.append(f"{name}: no request was carried out: {count}")
        if count.get("5xx"):
            failures.append(f"{name}: {count['5xx']} faults of the service")
    for failure in failures:
        print("failed:", failure)
    repeated = [f"{name} {counts.of(name)['repeated']}" for name in names if counts.of(name).get("repeated")]
    print("asked again with a valid request, to come to 200:", ", ".join(repeated))
    cases = [counts.of(name).get("cases", 0) for name in names]
    print(f"{len(names)} operations, {sum(cases)} cases, at least {min(cases)} each")
    print(f"{max(len(names) + 1 - len(failures), 0)} passed, {len(failures)} failed")
    return 1 if failures else 0


def only(names):
    return [word for name in names for word in ("--include-operation-id", name)]


def asked_at_once(service, places, runs, counts):
    """Runs schemathesis once for each list of words, at the same time; what was found."""
    started = [start(service, places, words, number) for number, words in enumerate(runs)]
    found = []
    for process, report, counted in started:
        code = process.wait()
        report.seek(0)
        text = report.read()
        report.close()
        if code != 0:
            print(text)
            found.append(f"schemathesis ended with {code}; its report is above")
        counts.read(counted)
    return found


def start(service, places, words, number):
    folder, here = places
    own = tempfile.mkdtemp(dir=folder)
    counted = f"{own}/counts.json"
    site = {"admin": service.admin, "address": service.address, "counts": counted}
    environment = {**os.environ, "WRITKEEPER_SITE": json.dumps(site), "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": here}
    with open(f"{own}/schemathesis.toml", "w", encoding="utf-8") as file:
        file.write(SETTINGS)
    program = os.path.join(os.path.dirname(sys.executable), "schemathesis")
    command = [program, "run", f"{service.address}/v1/openapi.json", *words]
    command += ["--max-examples", str(FUZZED), "--seed", str(SEED + number)]
    command += ["--checks", "all", "--exclude-checks", EXCLUDED, "--continue-on-failure", "--no-shrink"]
    command += ["--request-timeout", "20", "--suppress-health-check", "all", "--warnings", "off", "--workers", "1"]
    report = open(f"{own}/report.txt", "w+", encoding="utf-8")
    process = subprocess.Popen(command, env=environment, cwd=own, stdout=report, stderr=subprocess.STDOUT)
    return process, report, counted


def asked_again(service, recipes, names, counts):
    """Sends a request that is carried out, or any where the schema has only one, until each was asked often enough."""
    # Read as a value: by its address it would leave out the operation that it came from.
    loaded = schemathesis.openapi.from_dict(service.ask("GET", "/v1/openapi.json"))
    loaded.config.update(base_url=service.address)
    for result in loaded.get_all_operations():
        operation = result.ok()
        name = operation.definition.raw["operationId"]
        if name not in names:
            continue
        try:
            while counts.of(name).get("cases", 0) < CASES:
                ask_again(service, recipes, operation, name, counts)
            # Chance may have sent the requests that name what exists only where something else was wrong with them.
            if not counts.of(name).get("2xx"):
                ask_again(service, recipes, operation, name, counts)
        except Exception as problem:  # noqa: BLE001
            yield f"{name}: {problem}"


def ask_again(service, recipes, operation, name, counts):
    recipe = recipes.of(name) or {}
    case = operation.Case(path_parameters=recipe.get("path"), query=recipe.get("query"))
    if "body" in recipe:
        case.body, case.media_type = recipe["body"], "application/json"
    answer = case.call(headers={"Authorization": f"Bearer {recipe.get('key', service.admin)}"})
    counts.add(name, "cases")
    counts.add(name, "repeated")
    counts.add(name, f"{answer.status_code // 100}xx")
    case.validate_response(answer, checks=ALWAYS)


# 422 means that a request was read and cannot be carried out as it stands: what a contract, a name or a region may be is said by
# the kernel, not by a schema.
SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]
"""

# `ignored_auth` sends the request again without its key, which the hooks would put back. That is tested by
# the table of roles and routes.
EXCLUDED = "ignored_auth"

if __name__ == "__main__":
    sys.exit(main())
