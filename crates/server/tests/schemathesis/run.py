"""Runs schemathesis against a real service: `run.py BINARY`. Ends with `N passed, N failed`.

A check passes for an operation where schemathesis found no violation, where at least 200 cases were sent, and where at least
one of them was carried out. The document itself is one more check: no answer may have an empty schema.
"""

import json
import os
import subprocess
import sys
import tempfile

from service import Service

CASES = 200
SEED = 1794789015


def empty_schemas(document):
    """Answers whose schema says nothing."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                for media, content in answer.get("content", {}).items():
                    if not content.get("schema"):
                        yield f"{method} {path} {status} {media}: its schema is empty"


def main():
    binary, here = sys.argv[1], os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        service = Service(binary, folder)
        failures = []
        try:
            document = service.ask("GET", "/v1/openapi.json")
            failures += empty_schemas(document)
            found, counts = schemathesis(service, folder, here)
            failures += found
        finally:
            code = service.stop()
        if code != 0:
            failures.append(f"the service ended with {code}")
        operations = [op["operationId"] for methods in document["paths"].values() for op in methods.values()]
        for operation in operations:
            count = counts.get(operation, {})
            if count.get("cases", 0) < CASES:
                failures.append(f"{operation}: {count.get('cases', 0)} cases")
            if not count.get("2xx"):
                failures.append(f"{operation}: no request was carried out: {count}")
            if count.get("5xx"):
                failures.append(f"{operation}: {count['5xx']} faults of the service")
    for failure in failures:
        print("failed:", failure)
    cases = sum(count.get("cases", 0) for count in counts.values())
    print(f"{len(operations)} operations, {cases} cases")
    print(f"{max(len(operations) + 1 - len(failures), 0)} passed, {len(failures)} failed")
    return 1 if failures else 0


def schemathesis(service, folder, here):
    """What it found, and how often each operation was asked."""
    counts = f"{folder}/counts.json"
    site = {"admin": service.admin, "address": service.address, "counts": counts}
    environment = {**os.environ, "WRITKEEPER_SITE": json.dumps(site), "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": here}
    with open(f"{folder}/schemathesis.toml", "w", encoding="utf-8") as file:
        file.write(SETTINGS)
    program = os.path.join(os.path.dirname(sys.executable), "schemathesis")
    command = [program, "run", f"{service.address}/v1/openapi.json", "--header", f"Authorization: Bearer {service.admin}"]
    command += ["--phases", "coverage,fuzzing,stateful", "--max-examples", str(CASES), "--seed", str(SEED)]
    command += ["--checks", "all", "--exclude-checks", EXCLUDED, "--continue-on-failure", "--no-shrink"]
    command += ["--request-timeout", "20", "--suppress-health-check", "all", "--warnings", "off", "--workers", "1"]
    run = subprocess.run(command, env=environment, cwd=folder, text=True, check=False)
    found = [] if run.returncode == 0 else [f"schemathesis ended with {run.returncode}; its report is above"]
    with open(counts, encoding="utf-8") as file:
        return found, json.load(file)


# 422 means that a request was read and cannot be carried out as it stands: what a contract, a name or a region may be is said by
# the kernel, not by a schema. A proposal that is malformed is answered like any other, with a verdict.
SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[[operations]]
include-operation-id = ["propose", "propose_batch"]
checks.negative_data_rejection.enabled = false
"""

# `ignored_auth` sends the request again without its key, which the hooks would put back. That is tested by
# the table of roles and routes.
EXCLUDED = "ignored_auth"

if __name__ == "__main__":
    sys.exit(main())
