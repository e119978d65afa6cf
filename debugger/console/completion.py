"""What a command line can become, for front ends that complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ...runtime.errors import UsageError
from ..expression.language import completion_start, completions
from ..expression.tokens import PLACE_WORDS, WATCH_WORDS
from ..words.names import mask, quote
from .command import ALIASES, COMMANDS, find, split

if TYPE_CHECKING:
    from .console import Console

_TOPICS = ("breakpoints", "branches", "displays", "frame", "history", "loops", "values")

Found = tuple[int, list[str]]


def complete(console: Console, line: str) -> Found:
    """Where the last word of a line begins, and what could stand in its place."""
    text = line.lstrip()
    begin = len(line) - len(text)
    word, _ = split(text) if text else ("", "")
    if text == word:
        names = (*COMMANDS, *(alias for alias in ALIASES if len(alias) > 1 and word))
        return begin, sorted(name for name in names if name.startswith(word))
    try:
        kind = _KINDS.get(find(word).takes)
    except UsageError:
        return len(line), []
    at = begin + len(word)
    at += len(line[at:]) - len(line[at:].lstrip())
    try:
        start, found = kind(console, line[at:]) if kind else (len(line) - at, [])
    except UsageError:
        # A recording has no branches.
        return len(line), []
    return at + start, found


def _words(rest: str, words: Iterable[str]) -> Found:
    """Completions of the last word among some."""
    start = len(rest) - len(re.split(r"[\s,]", rest)[-1])
    return start, [word for word in words if word.startswith(rest[start:])]


def _expression(console: Console, rest: str) -> Found:
    session = console.session
    index = console.selected_frame().index
    start = completion_start(rest, len(rest))
    names = sorted(session.places.names(index if session.places.loops else -1))
    return (start, completions(rest, len(rest), names)) if start >= 0 else (len(rest), [])


def _place(console: Console, rest: str) -> Found:
    places = console.session.places
    outside = mask(rest)
    condition = re.search(r"(?:^|\s)if\s+", outside)
    if condition:
        start, found = _expression(console, rest[condition.end() :])
        return condition.end() + start, found
    named = re.search(r"\sin\s+(?=\S*$)", outside)
    if named:
        return named.end(), [
            name
            for name in dict.fromkeys(quote(p.loop.name) for p in places.loops)
            if name.startswith(rest[named.end() :])
        ]
    typed = re.search(r"^op\s+(?=\S*$)", outside)
    if typed:
        types = sorted({node.op_type for _, node in places.nodes()})
        return typed.end(), [name for name in types if name.lower().startswith(rest[typed.end() :].lower())]
    if outside.startswith("nan "):
        start, found = _expression(console, rest[4:])
        return 4 + start, found
    if " " in outside:
        return len(rest), []
    computed = sorted({quote(v.name) for _, node in places.nodes() for v in node.outputs if v is not None})
    return 0, [word for word in (*PLACE_WORDS, *computed) if word.startswith(rest)]


def _watch(console: Console, rest: str) -> Found:
    start, found = _expression(console, rest)
    typed = rest[start:]
    if re.search(r"\w`?\s+$", rest[:start]) and not typed.startswith("`"):
        found = [mode for mode in WATCH_WORDS if mode.startswith(typed)]
    return start, found


def _log(console: Console, rest: str) -> Found:
    if ":" not in mask(rest):
        return _place(console, rest)
    brace = rest.rfind("{")
    if brace < 0 or "}" in rest[brace:]:
        return len(rest), []
    start, found = _expression(console, rest[brace + 1 :])
    return brace + 1 + start, found


def _set(console: Console, rest: str) -> Found:
    start, found = _expression(console, rest)
    return start, [*(["history"] if rest and "history".startswith(rest) else []), *found]


def _condition(console: Console, rest: str) -> Found:
    which = re.match(r"\d+\s+", rest)
    if which is None:
        return _breakpoint(console, rest)
    start, found = _expression(console, rest[which.end() :])
    return which.end() + start, found


def _breakpoint(console: Console, rest: str) -> Found:
    return _words(rest, [str(one.number) for one in console.session.breakpoints])


#: What a command takes -> how that is completed.
_KINDS: dict[str, Callable[[Console, str], Found]] = {
    "expression": _expression,
    "place": _place,
    "watch": _watch,
    "log": _log,
    "set": _set,
    "condition": _condition,
    "breakpoint": _breakpoint,
    "display": lambda console, rest: _words(rest, map(str, console.displays)),
    "branch": lambda console, rest: _words(rest, [str(one.number) for one in console.session.branches]),
    "info": lambda console, rest: _words(rest, _TOPICS),
    "command": lambda console, rest: _words(rest, COMMANDS),
}
