"""What a command line can become, for front ends that complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...runtime.errors import UsageError
from ..breakpoints.places import Places
from ..expression.language import completion_start, completions
from ..expression.tokens import PLACE_WORDS, WATCH_WORDS
from ..words.names import mask, quote
from ..words.vocabulary.field import FIELD
from .command import ALIASES, COMMANDS, find, split

_TOPICS = ("breakpoints", "branches", "displays", "frame", "history", "loops", "values")

Found = tuple[int, list[str]]


@dataclass(frozen=True)
class Completer:
    """What completions are made of. ``index``: the loop that names are of, -1 the main graph; ``has_nodes``: nodes can
    be stopped before; ``breakpoints``, ``displays``, ``branches``: their numbers; ``inputs``: the model's, by name."""

    places: Places
    index: int
    has_nodes: bool
    breakpoints: tuple[str, ...]
    displays: tuple[str, ...]
    inputs: tuple[str, ...]
    branches: tuple[str, ...]
    #: Commands that this console has beside those of all.
    more: tuple[str, ...] = ()


def complete(known: Completer, line: str) -> Found:
    """Where the last word of a line begins, and what could stand in its place."""
    text = line.lstrip()
    begin = len(line) - len(text)
    word, _ = split(text) if text else ("", "")
    if text == word:
        names = (*COMMANDS, *known.more, *(alias for alias in ALIASES if len(alias) > 1 and word))
        found = sorted(name for name in names if name.startswith(word))
        # Behind the commands the values, which are printed.
        return begin, [*found, *(_expression(known, text)[1] if word else ())]
    try:
        kind = _KINDS.get(find(word).takes)
    except UsageError:
        kind = None if text[len(word) : len(word) + 1].isspace() else _expression
        if kind is not None:
            start, found = kind(known, text)
            return begin + start, found
        return len(line), []
    at = begin + len(word)
    at += len(line[at:]) - len(line[at:].lstrip())
    start, found = kind(known, line[at:]) if kind else (len(line) - at, [])
    return at + start, found


def _words(rest: str, words: Iterable[str]) -> Found:
    """Completions of the last word among some."""
    start = len(rest) - len(re.split(r"[\s,]", rest)[-1])
    return start, [word for word in words if word.startswith(rest[start:])]


def _expression(known: Completer, rest: str) -> Found:
    start = completion_start(rest, len(rest))
    names = sorted(known.places.names(known.index if known.places.loops else -1))
    return (start, completions(rest, len(rest), names)) if start >= 0 else (len(rest), [])


def _place(known: Completer, rest: str) -> Found:
    places = known.places
    nodes = list(places.nodes()) if known.has_nodes else []
    outside = mask(rest)
    condition = re.search(r"(?:^|\s)if\s+", outside)
    if condition:
        start, found = _expression(known, rest[condition.end() :])
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
        types = sorted({node.op_type for node in nodes})
        return typed.end(), [name for name in types if name.lower().startswith(rest[typed.end() :].lower())]
    if outside.startswith("nan "):
        start, found = _expression(known, rest[4:])
        return 4 + start, found
    if " " in outside:
        return len(rest), []
    computed = sorted({quote(v.name) for node in nodes for v in node.outputs if v is not None})
    code = places.code.names() if nodes else []
    # Before anything is typed a long list of lines helps nobody.
    return 0, [word for word in (*PLACE_WORDS, *computed, *(code if rest else ())) if word.startswith(rest)]


def _watch(known: Completer, rest: str) -> Found:
    start, found = _expression(known, rest)
    typed = rest[start:]
    if re.search(r"\w`?\s+$", rest[:start]) and not typed.startswith("`"):
        found = [mode for mode in WATCH_WORDS if mode.startswith(typed)]
    return start, found


def _log(known: Completer, rest: str) -> Found:
    if ":" not in mask(rest):
        return _place(known, rest)
    brace = rest.rfind("{")
    if brace < 0 or "}" in rest[brace:]:
        return len(rest), []
    start, found = _expression(known, rest[brace + 1 :])
    return brace + 1 + start, found


def _set(known: Completer, rest: str) -> Found:
    start, found = _expression(known, rest)
    if rest and "history".startswith(rest):
        # The setting, not the function, which nothing can be assigned to.
        found = ["history", *(word for word in found if word != "history(")]
    return start, found


def _condition(known: Completer, rest: str) -> Found:
    which = re.match(r"\d+\s+", rest)
    if which is None:
        return _breakpoint(known, rest)
    start, found = _expression(known, rest[which.end() :])
    return which.end() + start, found


def _inputs(known: Completer, rest: str) -> Found:
    """Names of inputs, and behind a sign what an expression can be."""
    if "=" in (rest.split() or [""])[-1]:
        return _expression(known, rest)
    return _words(rest, (f"{quote(name)}=" for name in known.inputs))


def _breakpoint(known: Completer, rest: str) -> Found:
    return _words(rest, known.breakpoints)


#: What a command takes -> how that is completed.
_KINDS: dict[str, Callable[[Completer, str], Found]] = {
    "expression": _expression,
    "place": _place,
    "watch": _watch,
    "log": _log,
    "set": _set,
    "condition": _condition,
    "breakpoint": _breakpoint,
    "inputs": _inputs,
    "display": lambda known, rest: _words(rest, known.displays),
    "branch": lambda known, rest: _words(rest, known.branches),
    "info": lambda known, rest: _words(rest, _TOPICS),
    "help": lambda known, rest: (0, [word for word in (*COMMANDS, "words", *FIELD) if word.startswith(rest)]),
}
