"""What a flow and an agent know: sessions, states, and the context made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._backend import MISSING_BACKEND
from ._keyed import held
from .storage.base import ContextStorage
from .storage.sqlite import SqliteContextStorage


class ContextStore:
    """Merges are one act each: two at once keep the keys of both."""

    def __init__(
        self, db_path: str | Path | None = None, *, storage: ContextStorage | None = None
    ) -> None:
        if storage is not None:
            self._storage: ContextStorage = storage
        elif db_path is not None:
            self.db_path = str(db_path)
            self._storage = SqliteContextStorage(db_path)
        else:
            raise ValueError(MISSING_BACKEND)

    def get_session(self, dfid: str) -> dict[str, Any]:
        """The session of a flow; {} if it has none."""
        return _decoded(self._storage.get_session(dfid))

    def update_session(
        self, dfid: str, updates: Mapping[str, Any], *, agent_id: str | None = None
    ) -> None:
        """Merge keys into the session of a flow."""
        if isinstance(self._storage, SqliteContextStorage):
            self._storage.merge_session(dfid, updates, agent_id)
            return
        with held(self._storage, "session", dfid):
            merged = _encoded({**self.get_session(dfid), **updates})
            if agent_id is None:
                self._storage.set_session(dfid, merged)
            else:
                self._storage.set_session(dfid, merged, agent_id=agent_id)

    def get_state(self, agent_id: str) -> dict[str, Any]:
        """The state of an agent; {} if it has none."""
        return _decoded(self._storage.get_state(agent_id))

    def update_state(self, agent_id: str, updates: Mapping[str, Any]) -> None:
        """Merge keys into the state of an agent, registered or not."""
        if isinstance(self._storage, SqliteContextStorage):
            self._storage.merge_state(agent_id, updates)
            return
        with held(self._storage, "state", agent_id):
            self._storage.set_state(agent_id, _encoded({**self.get_state(agent_id), **updates}))

    def compile_working_context(self, agent_id: str, dfid: str) -> dict[str, Any]:
        """Everything that is known for this agent in this flow."""
        return {
            "meta": {"agent_id": agent_id, "dfid": dfid, "source": "ContextStore"},
            "session": self.get_session(dfid),
            "state": self.get_state(agent_id),
            "memory": {},
            "artifacts": {},
        }


def _decoded(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    value = json.loads(text)
    return value if isinstance(value, dict) else {}


def _encoded(value: Mapping[str, Any]) -> str:
    return json.dumps(value, default=str)
