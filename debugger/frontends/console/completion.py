"""What a command line can become, for front ends that complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ....runtime.errors import UsageError
from ...breakpoints.symbol_table import SymbolTable
from ...describe.value_names import mask_quoted, quote
from ...describe.vocabulary.glossary import GLOSSARY
from ...expression.language import completion_start, completions
from ...expression.tokens import LOCATION_WORDS, WATCH_WORDS
from .command_registry import ALIASES, COMMANDS, find_command, split_command

_INFO_TOPICS = ("breakpoints", "branches", "displays", "frame", "history", "loops", "values")

CompletionResult = tuple[int, list[str]]


@dataclass(frozen=True)
class CompletionContext:
    """What completions are made of. ``index``: the loop that names are of, -1 the main graph; ``has_nodes``: nodes can
    be stopped before; ``breakpoints``, ``displays``, ``branches``: their numbers; ``inputs``: the model's, by name."""

    places: SymbolTable
    loop_index: int
    has_nodes: bool
    breakpoints: tuple[str, ...]
    displays: tuple[str, ...]
    inputs: tuple[str, ...]
    branches: tuple[str, ...]
    #: Commands that this console has beside those of all.
    extra_commands: tuple[str, ...] = ()


def complete(known: CompletionContext, line: str) -> CompletionResult:
    """Where the last word of a line begins, and what could stand in its place."""
    text = line.lstrip()
    begin = len(line) - len(text)
    word, _ = split_command(text) if text else ("", "")
    if text == word:
        names = (*COMMANDS, *known.extra_commands, *(alias for alias in ALIASES if len(alias) > 1 and word))
        found = sorted(name for name in names if name.startswith(word))
        # Behind the commands the values, which are printed.
        return begin, [*found, *(_complete_expression(known, text)[1] if word else ())]
    try:
        kind = _COMPLETERS.get(find_command(word).completion_kind)
    except UsageError:
        kind = None if text[len(word) : len(word) + 1].isspace() else _complete_expression
        if kind is not None:
            start, found = kind(known, text)
            return begin + start, found
        return len(line), []
    at = begin + len(word)
    at += len(line[at:]) - len(line[at:].lstrip())
    start, found = kind(known, line[at:]) if kind else (len(line) - at, [])
    return at + start, found


def _complete_word(rest: str, words: Iterable[str]) -> CompletionResult:
    """Completions of the last word among some."""
    start = len(rest) - len(re.split(r"[\s,]", rest)[-1])
    return start, [word for word in words if word.startswith(rest[start:])]


def _complete_expression(known: CompletionContext, rest: str) -> CompletionResult:
    start = completion_start(rest, len(rest))
    names = sorted(known.places.names_in_scope(known.loop_index if known.places.loops else -1))
    return (start, completions(rest, len(rest), names)) if start >= 0 else (len(rest), [])


def _complete_place(known: CompletionContext, rest: str) -> CompletionResult:
    places = known.places
    nodes = list(places.nodes()) if known.has_nodes else []
    outside = mask_quoted(rest)
    condition = re.search(r"(?:^|\s)if\s+", outside)
    if condition:
        start, found = _complete_expression(known, rest[condition.end() :])
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
        start, found = _complete_expression(known, rest[4:])
        return 4 + start, found
    if " " in outside:
        return len(rest), []
    computed = sorted({quote(v.name) for node in nodes for v in node.outputs if v is not None})
    code = places.line_table.line_names() if nodes else []
    # Before anything is typed a long list of lines helps nobody.
    return 0, [word for word in (*LOCATION_WORDS, *computed, *(code if rest else ())) if word.startswith(rest)]


def _complete_watch(known: CompletionContext, rest: str) -> CompletionResult:
    start, found = _complete_expression(known, rest)
    typed = rest[start:]
    if re.search(r"\w`?\s+$", rest[:start]) and not typed.startswith("`"):
        found = [mode for mode in WATCH_WORDS if mode.startswith(typed)]
    return start, found


def _complete_log(known: CompletionContext, rest: str) -> CompletionResult:
    if ":" not in mask_quoted(rest):
        return _complete_place(known, rest)
    brace = rest.rfind("{")
    if brace < 0 or "}" in rest[brace:]:
        return len(rest), []
    start, found = _complete_expression(known, rest[brace + 1 :])
    return brace + 1 + start, found


def _complete_set(known: CompletionContext, rest: str) -> CompletionResult:
    start, found = _complete_expression(known, rest)
    if rest and "history".startswith(rest):
        # The setting, not the function, which nothing can be assigned to.
        found = ["history", *(word for word in found if word != "history(")]
    return start, found


def _complete_condition(known: CompletionContext, rest: str) -> CompletionResult:
    which = re.match(r"\d+\s+", rest)
    if which is None:
        return _complete_breakpoint(known, rest)
    start, found = _complete_expression(known, rest[which.end() :])
    return which.end() + start, found


def _complete_inputs(known: CompletionContext, rest: str) -> CompletionResult:
    """Names of inputs, and behind a sign what an expression can be."""
    if "=" in (rest.split() or [""])[-1]:
        return _complete_expression(known, rest)
    return _complete_word(rest, (f"{quote(name)}=" for name in known.inputs))


def _complete_breakpoint(known: CompletionContext, rest: str) -> CompletionResult:
    return _complete_word(rest, known.breakpoints)


#: What a command takes -> how that is completed.
_COMPLETERS: dict[str, Callable[[CompletionContext, str], CompletionResult]] = {
    "expression": _complete_expression,
    "place": _complete_place,
    "watch": _complete_watch,
    "log": _complete_log,
    "set": _complete_set,
    "condition": _complete_condition,
    "breakpoint": _complete_breakpoint,
    "inputs": _complete_inputs,
    "display": lambda known, rest: _complete_word(rest, known.displays),
    "branch": lambda known, rest: _complete_word(rest, known.branches),
    "info": lambda known, rest: _complete_word(rest, _INFO_TOPICS),
    "help": lambda known, rest: (0, [word for word in (*COMMANDS, "words", *GLOSSARY) if word.startswith(rest)]),
}
