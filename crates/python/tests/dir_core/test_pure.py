"""Arbitration, wake-up, drift, events, identifiers, logging, configuration."""

import io
import logging
import math
import uuid
from pathlib import Path

import pytest

from writkeeper.dir_core import (
    DEFAULT_PRIORITY_MATRIX,
    Event,
    EventBus,
    EventMetadata,
    EventType,
    JITStateVerifier,
    LoggingEventBus,
    PolicyProposal,
    ValidationVerdict,
    WakeupPredicate,
    create_event_bus,
    is_relevant_instrument,
    new_dfid,
    new_dfid_with_parent,
    price_change_significant,
    select_winner,
    should_wake,
    verify_drift,
    volatility_elevated,
)
from writkeeper.dir_core.utils import (
    GeminiClient,
    LLMClient,
    OllamaClient,
    check_ollama,
    format_dfid_prefix,
    load_yaml_config,
    log_with_dfid,
)
from writkeeper.dir_core.utils.logging_utils import (
    CONSOLE_FORMAT,
    DEFAULT_DFID,
    DfidContextFilter,
    configure_console_logging,
    log_context,
)


def proposal(kind: str) -> PolicyProposal:
    return PolicyProposal(dfid="d", agent_id="a", policy_kind=kind)


def test_the_lowest_number_wins_and_the_first_of_equals() -> None:
    hold, close, close_long = proposal("HOLD"), proposal("CLOSE"), proposal("CLOSE_LONG")
    assert select_winner([hold, close, close_long]) is close
    assert select_winner([hold, close_long, close]) is close_long
    assert select_winner([]) is None
    unknown = proposal("SOMETHING")
    assert select_winner([unknown, hold]) is unknown
    assert select_winner([hold, close], {"HOLD": 1}) is hold
    assert select_winner([hold, close], {}) is close


def test_the_default_matrix_has_thirteen_kinds() -> None:
    assert len(DEFAULT_PRIORITY_MATRIX) == 13
    assert DEFAULT_PRIORITY_MATRIX["RISK_ALERT"] == 1
    assert DEFAULT_PRIORITY_MATRIX["SENTIMENT_NEUTRAL"] == 7


def test_wake_up_questions_are_strict() -> None:
    assert not price_change_significant({"price_delta_pct": 0.005})
    assert price_change_significant({"price_delta_pct": -0.0051})
    assert not price_change_significant({})
    assert not volatility_elevated({"volatility": 0.03})
    assert volatility_elevated({"volatility": 0.031})
    assert volatility_elevated({"volatility": 0.2}, 0.1)
    assert is_relevant_instrument({"instrument": "BTC"}, ["BTC"])
    assert not is_relevant_instrument({}, ["BTC"])


def test_waking_stops_at_the_first_no() -> None:
    asked = []

    def says(name: str, answer: bool) -> WakeupPredicate:
        return WakeupPredicate(name, lambda _payload: asked.append(name) or answer)

    assert not should_wake({}, [says("a", True), says("b", False), says("c", True)])
    assert asked == ["a", "b"]
    assert should_wake({}, [])


@pytest.mark.parametrize(
    ("snapshot", "live", "keys", "tolerance", "text"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, None, None, ""),
        ({"a": 1}, {"a": 2}, None, None, "STATE_DRIFT: a changed (snapshot=1, live=2)"),
        ({"a": 1, "b": 1}, {"a": 1, "b": 2}, ["a"], None, ""),
        ({"a": 1}, {"a": 2}, [], None, ""),
        ({"p": 100.0}, {"p": 100.5}, None, {"p": 0.5}, ""),
        (
            {"p": 100.0},
            {"p": 101.0},
            None,
            {"p": 0.5},
            "STATE_DRIFT: p changed beyond tolerance (snapshot=100.0, live=101.0)",
        ),
        ({"p": "x"}, {"p": "y"}, None, {"p": 1}, "STATE_DRIFT: p mismatch (snapshot=x, live=y)"),
        ({"p": "x"}, {"p": "x"}, None, {"p": 1}, ""),
        (
            {"p": 0.4},
            {},
            None,
            {"p": 0.5},
            "STATE_DRIFT: p changed beyond tolerance (snapshot=0.4, live=None)",
        ),
        (
            {"p": 1.0},
            {"p": math.nan},
            None,
            {"p": 5.0},
            "STATE_DRIFT: p changed beyond tolerance (snapshot=1.0, live=nan)",
        ),
        ({"p": None}, {}, None, None, "STATE_DRIFT: p changed (snapshot=None, live=None)"),
        ({"p": math.nan}, {"p": 1}, None, None, "STATE_DRIFT: p changed (snapshot=nan, live=1)"),
    ],
)
def test_drift(snapshot: dict, live: dict, keys: list | None, tolerance: dict | None, text: str) -> None:
    assert verify_drift(snapshot, live, keys, tolerance) == (text == "", text)
    verdict, said = JITStateVerifier().verify(snapshot, live, keys, tolerance)
    if text:
        assert (verdict, said) == (ValidationVerdict.REJECT, text)
    else:
        assert (verdict, said) == (ValidationVerdict.ACCEPT, "no state drift")


def test_events_reach_listeners_of_their_scope_in_order() -> None:
    bus, seen = EventBus("mesh"), []
    bus.subscribe("NEWS", lambda payload: seen.append(("all", payload)))
    bus.subscribe(EventType.NEWS, lambda payload: seen.append(("*", payload)), scope="*")
    bus.subscribe(EventType.NEWS, lambda payload: seen.append(("btc", payload)), scope="BTC")
    assert bus.publish(EventType.NEWS, {"n": 1}, EventMetadata(target_scope="BTC")) == 3
    assert bus.publish("NEWS", {"n": 2}, EventMetadata(target_scope="ETH")) == 2
    assert bus.publish("NEWS", {"n": 3}) == 2
    assert bus.publish("NEWS", {"n": 4}, EventMetadata(target_scope="*")) == 2
    assert [who for who, _ in seen[:3]] == ["all", "*", "btc"]
    assert bus.event_count == 4
    assert bus.subscription_count == 3


def test_a_listener_that_fails_is_not_counted_and_stops_nobody() -> None:
    bus, seen = EventBus(), []
    bus.subscribe("X", lambda _payload: 1 / 0)
    bus.subscribe("X", seen.append)
    assert bus.publish("X", {"k": 1}) == 1
    assert seen == [{"k": 1}]


def test_a_listener_may_publish() -> None:
    bus, seen = EventBus(), []
    bus.subscribe("A", lambda payload: bus.publish("B", payload))
    bus.subscribe("B", seen.append)
    assert bus.publish("A", {"k": 1}) == 1
    assert seen == [{"k": 1}]
    assert bus.event_count == 2


def test_unsubscribing_removes_every_scope() -> None:
    bus, seen = EventBus(), []
    bus.subscribe("A", seen.append)
    bus.subscribe("A", seen.append, scope="S")
    bus.unsubscribe("A", seen.append)
    bus.unsubscribe("A", seen.append)
    assert bus.subscription_count == 0
    assert bus.publish("A", {}) == 0


def test_known_types_become_the_enum_and_others_stay() -> None:
    assert Event("OBSERVATION", {}).type is EventType.OBSERVATION
    assert Event("OBSERVATION", {}).type_key == "OBSERVATION"
    assert Event("MINE", {}).type == "MINE"
    assert Event("MINE", {}).metadata.priority == 5


def test_the_factory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(create_event_bus(), EventBus)
    logged = create_event_bus(with_logging=True)
    assert isinstance(logged, LoggingEventBus)
    logged.publish("A", {"k": 1}, EventMetadata(dfid="d"))
    assert [event.payload for event in logged.get_event_log()] == [{"k": 1}]
    assert logged.get_event_log() is not logged.get_event_log()
    assert logged.event_count == 1
    with pytest.raises(NotImplementedError, match="Kafka"):
        create_event_bus("kafka")
    with pytest.raises(NotImplementedError, match="PubSub"):
        create_event_bus("pubsub")
    with pytest.raises(ValueError, match="Unknown backend"):
        create_event_bus("pigeon")
    monkeypatch.setenv("EVENT_BUS_BACKEND", "kafka")
    with pytest.raises(NotImplementedError):
        create_event_bus()
    assert isinstance(create_event_bus("memory"), EventBus)


def test_identifiers_are_uuids() -> None:
    one, child = new_dfid(), new_dfid_with_parent("p")
    assert str(uuid.UUID(one, version=4)) == one
    assert str(uuid.UUID(child, version=4)) == child
    assert one != child


def test_log_lines_carry_the_flow() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(DfidContextFilter())
    handler.setFormatter(logging.Formatter(CONSOLE_FORMAT))
    logger = logging.Logger("mine")
    logger.addHandler(handler)
    with log_context(dfid="flow-1"):
        logger.info("inside")
        with log_context(dfid=""):
            logger.info("nameless")
    logger.info("outside")
    log_with_dfid(logger, "flow-2", logging.WARNING, "by %s", "hand")
    assert stream.getvalue().splitlines() == [
        "INFO [DFID=flow-1] inside",
        f"INFO [DFID={DEFAULT_DFID}] nameless",
        "INFO [DFID=-] outside",
        "WARNING [DFID=-] [DFID=flow-2] by hand",
    ]
    assert format_dfid_prefix("x") == "[DFID=x] "
    assert format_dfid_prefix(None) == ""


def test_console_logging_sets_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        configure_console_logging("WARNING")
        assert root.level == logging.WARNING and len(root.handlers) == 1
        monkeypatch.setenv("LOG_LEVEL", "error")
        configure_console_logging()
        assert root.level == logging.ERROR and len(root.handlers) == 1
    finally:
        root.handlers[:] = before
        root.setLevel(level)


def test_configuration(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("app:\n  port: 8080\n")
    assert load_yaml_config(file) == {"app": {"port": 8080}}
    file.write_text("")
    assert load_yaml_config(str(file)) == {}
    file.write_text("null\n")
    assert load_yaml_config(file) == {}
    file.write_text("- a\n")
    with pytest.raises(ValueError, match="mapping"):
        load_yaml_config(file)
    with pytest.raises(FileNotFoundError, match="not found"):
        load_yaml_config(tmp_path / "none.yaml")


def test_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    assert OllamaClient(base_url="http://localhost:1/").base_url == "http://localhost:1"
    assert check_ollama("http://127.0.0.1:9", "m", timeout=1) is False
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    with pytest.raises(ValueError, match="API key"):
        GeminiClient()
    with pytest.raises(TypeError):
        LLMClient()  # type: ignore[abstract]
