"""What schemathesis does around each request: some valid ones are made to name things that exist, and all carry a key."""

import atexit
import json
import os
import sys
import threading

import schemathesis

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from service import Recipes, Service  # noqa: E402

SITE = json.loads(os.environ["WRITKEEPER_SITE"])

# Of so many valid requests one names things that exist; making them takes requests of its own.
NAMED_EVERY = 4


class Attached(Service):
    """The service that another process started."""

    def __init__(self, site):
        self.admin, self.address = site["admin"], site["address"]
        self.lock, self.last = threading.Lock(), 0

    def name(self, kind):
        with self.lock:
            self.last += 1
            return f"{kind}-{os.getpid()}-{self.last}"


RECIPES = Recipes(Attached(SITE))
COUNTS: dict[str, dict[str, int]] = {}
LOCK = threading.Lock()


def is_valid(case):
    return case.meta is None or case.meta.generation.mode.value == "positive"


def is_chained(case):
    """Whether it goes on from the answer to another request."""
    return case.meta is not None and case.meta.phase.name.value == "stateful"


def is_about_headers(case):
    """Whether it is sent to see what becomes of a key that is missing or wrong."""
    components = {} if case.meta is None else case.meta.components
    return any(where.name == "HEADER" and info.mode.value == "negative" for where, info in components.items())


def recipe_of(operation, case, number):
    """The request that names things that exist, where it is the turn of one."""
    if not is_valid(case) or is_chained(case) or number % NAMED_EVERY:
        return {}
    try:
        return RECIPES.of(operation) or {}
    except AssertionError:
        # What another request changed stands in the way; the next one is made anew.
        return {}


@schemathesis.hook
def before_call(context, case, kwargs):
    operation = case.operation.definition.raw["operationId"]
    with LOCK:
        count = COUNTS.setdefault(operation, {})
        number = count["cases"] = count.get("cases", 0) + 1
    recipe = recipe_of(operation, case, number)
    if "path" in recipe:
        case.path_parameters = recipe["path"]
    if "query" in recipe:
        case.query = recipe["query"]
    if "body" in recipe:
        case.body, case.media_type = recipe["body"], "application/json"
    if operation == "revoke_key" and case.path_parameters == {"id": SITE["admin"].split(".")[1]}:
        # Without the key of this test nothing more could be asked.
        case.path_parameters = {"id": "0123456789ab"}
    if is_valid(case):
        # A stream without an end and a wait of half a minute would only cost time.
        if operation == "events":
            case.query = {"after": 0, "limit": 5}
        if case.query and "wait" in case.query:
            case.query["wait"] = "10ms"
    if not is_about_headers(case):
        case.headers["Authorization"] = f"Bearer {recipe.get('key', SITE['admin'])}"


@schemathesis.hook
def after_call(context, case, response):
    operation = case.operation.definition.raw["operationId"]
    if operation == "halt" and response.status_code == 200:
        RECIPES.service.ask("POST", "/v1/resume", {"because": "the test goes on"})
    with LOCK:
        count = COUNTS.setdefault(operation, {})
        status = f"{response.status_code // 100}xx"
        count[status] = count.get(status, 0) + 1


@atexit.register
def write_counts():
    with open(SITE["counts"], "w", encoding="utf-8") as file:
        json.dump(COUNTS, file)
