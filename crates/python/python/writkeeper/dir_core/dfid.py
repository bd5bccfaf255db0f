"""Identifiers of decision flows."""

from __future__ import annotations

import logging
import uuid

logger = logging.getLogger(__name__)


def new_dfid() -> str:
    """A fresh identifier: the text of a random UUID."""
    return str(uuid.uuid4())


def new_dfid_with_parent(parent_dfid: str) -> str:
    """A fresh identifier for a child flow. The link to the parent is logged, not encoded."""
    child = new_dfid()
    logger.debug("flow %s is a child of %s", child, parent_dfid)
    return child
