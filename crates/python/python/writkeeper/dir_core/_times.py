"""Instants in UTC. A time without a zone is read as UTC, as the reference writes them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone


def utcnow() -> datetime:
    """The present instant."""
    return datetime.now(timezone.utc)


def as_utc(instant: datetime) -> datetime:
    """The same instant with a zone."""
    if instant.tzinfo is None:
        return instant.replace(tzinfo=timezone.utc)
    return instant.astimezone(timezone.utc)


def seconds_after(instant: datetime, seconds: float) -> datetime:
    """The instant so many seconds later, or the last one there is."""
    try:
        return as_utc(instant) + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=timezone.utc)


def row_instant(instant: datetime | None = None) -> str:
    """An instant as the built-in tables hold it: sortable as text, microseconds."""
    return as_utc(instant or utcnow()).strftime("%Y-%m-%d %H:%M:%S.%f")
