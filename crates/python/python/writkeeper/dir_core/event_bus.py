"""Events between agents in one process: synchronous, in the order of subscription."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from ._times import utcnow
from .data_types import EventBusBackend, EventType

logger = logging.getLogger(__name__)

BACKEND_VARIABLE = "EVENT_BUS_BACKEND"
EVERYONE = "*"

Callback = Callable[[dict[str, Any]], Any]


@dataclass
class EventMetadata:
    """Whom an event is for and which flow it belongs to."""

    dfid: str | None = None
    priority: int = 5
    source_agent: str | None = None
    target_scope: str | None = None
    timestamp: datetime = field(default_factory=utcnow)
    context_snapshot_id: str | None = None


@dataclass
class Event:
    """A type, a payload and metadata. The text of a known type becomes that type."""

    type: str | EventType
    payload: dict[str, Any]
    metadata: EventMetadata = field(default_factory=EventMetadata)

    def __post_init__(self) -> None:
        if self.type in EventType.__members__.values():
            self.type = EventType(self.type)

    @property
    def type_key(self) -> str:
        """The type as plain text."""
        return _plain(self.type)


class EventBusProtocol(Protocol):
    """What any event bus can do."""

    def subscribe(
        self, event_type: str | EventType, callback: Callback, scope: str | None = None
    ) -> None:
        """Call back for events of this type, of this scope or of all."""
        ...

    def unsubscribe(self, event_type: str | EventType, callback: Callback) -> None:
        """Stop calling back for this type."""
        ...

    def dispatch(self, event: Event) -> int:
        """Deliver an event; the number of callbacks that succeeded."""
        ...

    def publish(
        self,
        event_type: str | EventType,
        payload: dict[str, Any],
        metadata: EventMetadata | None = None,
    ) -> int:
        """Make an event and deliver it."""
        ...


@dataclass(frozen=True)
class Subscription:
    """One callback and the scope that it listens to."""

    callback: Callback
    scope: str | None = None

    def wants(self, target_scope: str | None) -> bool:
        """True if an event for this scope concerns the subscriber."""
        if self.scope is None or self.scope == EVERYONE:
            return True
        return bool(target_scope) and self.scope == target_scope


class EventBus:
    """The bus in memory. Callbacks run on the caller's thread and may publish again."""

    def __init__(self, name: str = "InMemory") -> None:
        self._name = name
        self._subscriptions: dict[str, list[Subscription]] = {}
        self._lock = threading.Lock()
        self._dispatched = 0

    def subscribe(
        self, event_type: str | EventType, callback: Callback, scope: str | None = None
    ) -> None:
        """Call back for events of this type, of this scope or of all."""
        with self._lock:
            listeners = self._subscriptions.setdefault(_plain(event_type), [])
            listeners.append(Subscription(callback, scope))

    def unsubscribe(self, event_type: str | EventType, callback: Callback) -> None:
        """Remove every subscription of this callback for the type, whatever its scope."""
        with self._lock:
            key = _plain(event_type)
            left = [one for one in self._subscriptions.get(key, []) if one.callback != callback]
            if left:
                self._subscriptions[key] = left
            else:
                self._subscriptions.pop(key, None)

    def dispatch(self, event: Event) -> int:
        """Deliver an event; the number of callbacks that succeeded. Errors are logged."""
        with self._lock:
            listeners = list(self._subscriptions.get(event.type_key, ()))
        succeeded = 0
        for listener in listeners:
            if not listener.wants(event.metadata.target_scope):
                continue
            try:
                listener.callback(event.payload)
            except Exception:
                logger.exception(
                    "%s: a listener of %s failed (flow %s)",
                    self._name,
                    event.type_key,
                    event.metadata.dfid,
                )
            else:
                succeeded += 1
        with self._lock:
            self._dispatched += 1
        return succeeded

    def publish(
        self,
        event_type: str | EventType,
        payload: dict[str, Any],
        metadata: EventMetadata | None = None,
    ) -> int:
        """Make an event and deliver it."""
        return self.dispatch(Event(event_type, payload, metadata or EventMetadata()))

    @property
    def event_count(self) -> int:
        """How many events were dispatched."""
        with self._lock:
            return self._dispatched

    @property
    def subscription_count(self) -> int:
        """How many subscriptions there are."""
        with self._lock:
            return sum(map(len, self._subscriptions.values()))


class LoggingEventBus:
    """A bus that also keeps every event in memory."""

    def __init__(self, wrapped: EventBus) -> None:
        self._wrapped = wrapped
        self._log: list[Event] = []

    def subscribe(
        self, event_type: str | EventType, callback: Callback, scope: str | None = None
    ) -> None:
        """Call back for events of this type, of this scope or of all."""
        self._wrapped.subscribe(event_type, callback, scope)

    def unsubscribe(self, event_type: str | EventType, callback: Callback) -> None:
        """Remove every subscription of this callback for the type."""
        self._wrapped.unsubscribe(event_type, callback)

    def dispatch(self, event: Event) -> int:
        """Keep the event, then deliver it."""
        self._log.append(event)
        logger.info("event %s of flow %s", event.type_key, event.metadata.dfid)
        return self._wrapped.dispatch(event)

    def publish(
        self,
        event_type: str | EventType,
        payload: dict[str, Any],
        metadata: EventMetadata | None = None,
    ) -> int:
        """Make an event, keep it and deliver it."""
        return self.dispatch(Event(event_type, payload, metadata or EventMetadata()))

    def get_event_log(self) -> list[Event]:
        """The events so far, as a list of the caller's own."""
        return list(self._log)

    @property
    def event_count(self) -> int:
        """How many events were dispatched."""
        return self._wrapped.event_count

    @property
    def subscription_count(self) -> int:
        """How many subscriptions there are."""
        return self._wrapped.subscription_count


def create_event_bus(
    backend: str | EventBusBackend | None = None, with_logging: bool = False
) -> EventBus | LoggingEventBus:
    """The bus that the argument, else EVENT_BUS_BACKEND, else memory asks for."""
    named = str(backend or os.environ.get(BACKEND_VARIABLE) or EventBusBackend.MEMORY)
    wanted = named.strip().lower()
    if wanted == EventBusBackend.KAFKA:
        raise NotImplementedError("Kafka backend: this package brings the bus in memory only")
    if wanted == EventBusBackend.PUBSUB:
        raise NotImplementedError("PubSub backend: this package brings the bus in memory only")
    if wanted != EventBusBackend.MEMORY:
        raise ValueError(f"Unknown backend: {wanted!r}; there are memory, kafka and pubsub")
    bus = EventBus()
    return LoggingEventBus(bus) if with_logging else bus


def _plain(event_type: str | EventType) -> str:
    return event_type.value if isinstance(event_type, EventType) else event_type
