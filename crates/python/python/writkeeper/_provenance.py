"""Where the values of a call came from, as far as an adapter can see the conversation.

The statement is the adapter's, never the model's: a value counts as the user's only if the user wrote it.

>>> stated({"iban": "DE89", "note": "x1"}, said_by_user=["my account is DE89"], said_by_tools=["x1"])
{'iban': 'user', 'note': 'tool'}
>>> stated({"iban": "FR76"}, said_by_user=["hello"], said_by_tools=[])
{'iban': 'none'}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from writkeeper._shapes import Origin


def stated(
    args: Mapping[str, object], *, said_by_user: Iterable[str], said_by_tools: Iterable[str]
) -> dict[str, Origin]:
    """The origin of every argument: the user's words first, then results of tools, else nobody's."""
    user, tools = "\n".join(said_by_user), "\n".join(said_by_tools)
    return {name: _origin(value, user, tools) for name, value in args.items()}


def _origin(value: object, user: str, tools: str) -> Origin:
    texts = list(_texts(value))
    if texts and all(_said(text, user) for text in texts):
        return "user"
    if texts and all(_said(text, user) or _said(text, tools) for text in texts):
        return "tool"
    return "none"


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, (int, float, Decimal)):
        yield str(value)


def _said(text: str, words: str) -> bool:
    """Whether the words hold the text as a whole: `DE8` is not said by who said `DE89`."""
    if not text.strip():
        return False
    start = words.find(text)
    while start >= 0:
        end = start + len(text)
        before, after = words[start - 1 : start], words[end : end + 1]
        joined = (before.isalnum() and text[0].isalnum()) or (after.isalnum() and text[-1].isalnum())
        if not joined:
            return True
        start = words.find(text, start + 1)
    return False
