"""The flow's identifier on every line of the log."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

DEFAULT_DFID = "-"
CONSOLE_FORMAT = "%(levelname)s [DFID=%(dfid)s] %(message)s"

dfid_context: ContextVar[str] = ContextVar("dfid", default=DEFAULT_DFID)


class DfidContextFilter(logging.Filter):
    """Gives each record the identifier of the flow that is being worked on."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always True: nothing is filtered out."""
        record.dfid = dfid_context.get()
        return True


@contextmanager
def log_context(*, dfid: str) -> Generator[None, None, None]:
    """Within the block, records carry this identifier."""
    before = dfid_context.set(str(dfid) if dfid else DEFAULT_DFID)
    try:
        yield
    finally:
        dfid_context.reset(before)


def configure_console_logging(level: int | str | None = None) -> None:
    """Log to the console with identifiers, at this level, else at LOG_LEVEL, else at INFO."""
    wanted: int | str = level if level is not None else os.environ.get("LOG_LEVEL", "INFO")
    if isinstance(wanted, str):
        wanted = logging.getLevelNamesMapping().get(wanted.upper(), logging.INFO)
    console = logging.StreamHandler()
    console.addFilter(DfidContextFilter())
    console.setFormatter(logging.Formatter(CONSOLE_FORMAT))
    root = logging.getLogger()
    root.handlers[:] = [console]
    root.setLevel(wanted)


def format_dfid_prefix(dfid: str | None) -> str:
    """`[DFID=…] ` with its space, or nothing."""
    return f"[DFID={dfid}] " if dfid else ""


def log_with_dfid(
    logger: logging.Logger,
    dfid: str | None,
    level: int,
    msg: str,
    *args: Any,
    **kwargs: Any,
) -> None:
    """Log one line with the identifier in front of it."""
    logger.log(level, format_dfid_prefix(dfid) + msg, *args, **kwargs)
