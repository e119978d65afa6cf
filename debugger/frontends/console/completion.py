"""Completion of command lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ....runtime.errors import UsageError
from ...breakpoints.symbol_table import SymbolTable
from ...describe.value_names import mask_quoted, quote
from ...describe.vocabulary.glossary import glossary
from ...expression.expression import completion_start, completions
from ...expression.tokens import LOCATION_WORDS, WATCH_WORDS
from .command_registry import ALIASES, COMMANDS, find_command, split_command

_INFO_TOPICS = ("breakpoints", "branches", "displays", "frame", "history", "loops", "values")

CompletionResult = tuple[int, list[str]]


@dataclass(frozen=True)
class CompletionContext:
    """Data for completions. ``loop_index``: the loop of the names in scope, -1: the main graph; ``has_nodes``: nodes
    can have breakpoints; ``breakpoints``, ``displays``, ``branches``: their numbers; ``inputs``: input names."""

    symbols: SymbolTable
    loop_index: int
    has_nodes: bool
    breakpoints: tuple[str, ...]
    displays: tuple[str, ...]
    inputs: tuple[str, ...]
    branches: tuple[str, ...]
    #: Additional commands of this console.
    extra_commands: tuple[str, ...] = ()


def complete(context: CompletionContext, line: str) -> CompletionResult:
    """The start of the last word of a line, and its completions."""
    text = line.lstrip()
    begin = len(line) - len(text)
    word, _ = split_command(text) if text else ("", "")
    if text == word:
        names = (*COMMANDS, *context.extra_commands, *(alias for alias in ALIASES if len(alias) > 1 and word))
        words = sorted(name for name in names if name.startswith(word))
        # Commands first, then values, which can be printed.
        return begin, [*words, *(_complete_expression(context, text)[1] if word else ())]
    try:
        completion_kind = find_command(word).completion_kind
        kind = _COMPLETERS[completion_kind] if completion_kind else None
    except UsageError:
        kind = None if text[len(word) : len(word) + 1].isspace() else _complete_expression
        if kind is not None:
            start, words = kind(context, text)
            return begin + start, words
        return len(line), []
    position = begin + len(word)
    position += len(line[position:]) - len(line[position:].lstrip())
    start, words = kind(context, line[position:]) if kind else (len(line) - position, [])
    return position + start, words


def _complete_word(rest: str, words: Iterable[str]) -> CompletionResult:
    """Completions of the last word from a list."""
    start = len(rest) - len(re.split(r"[\s,]", rest)[-1])
    return start, [word for word in words if word.startswith(rest[start:])]


def _complete_expression(context: CompletionContext, rest: str) -> CompletionResult:
    start = completion_start(rest, len(rest))
    names = sorted(context.symbols.names_in_scope(context.loop_index if context.symbols.loops else -1))
    return (start, completions(rest, len(rest), names)) if start >= 0 else (len(rest), [])


def _complete_place(context: CompletionContext, rest: str) -> CompletionResult:
    symbols = context.symbols
    nodes = list(symbols.nodes()) if context.has_nodes else []
    masked = mask_quoted(rest)
    condition = re.search(r"(?:^|\s)if\s+", masked)
    if condition:
        start, words = _complete_expression(context, rest[condition.end() :])
        return condition.end() + start, words
    loop_prefix = re.search(r"\sin\s+(?=\S*$)", masked)
    if loop_prefix:
        return loop_prefix.end(), [
            name
            for name in dict.fromkeys(quote(p.loop.name) for p in symbols.loops)
            if name.startswith(rest[loop_prefix.end() :])
        ]
    type_prefix = re.search(r"^op\s+(?=\S*$)", masked)
    if type_prefix:
        types = sorted({node.op_type for node in nodes})
        return type_prefix.end(), [name for name in types if name.lower().startswith(rest[type_prefix.end() :].lower())]
    trigger = re.match(r"(nan|beyond float16) ", masked)
    if trigger:
        start, words = _complete_expression(context, rest[trigger.end() :])
        return trigger.end() + start, words
    if " " in masked:
        return len(rest), []
    computed = sorted({quote(v.name) for node in nodes for v in node.outputs if v is not None})
    lines = symbols.line_table.break_locations() if nodes else []
    # An empty word does not list all source lines.
    return 0, [word for word in (*LOCATION_WORDS, *computed, *(lines if rest else ())) if word.startswith(rest)]


def _complete_watch(context: CompletionContext, rest: str) -> CompletionResult:
    start, words = _complete_expression(context, rest)
    typed = rest[start:]
    if re.search(r"\w`?\s+$", rest[:start]) and not typed.startswith("`"):
        words = [mode for mode in WATCH_WORDS if mode.startswith(typed)]
    return start, words


def _complete_log(context: CompletionContext, rest: str) -> CompletionResult:
    if ":" not in mask_quoted(rest):
        return _complete_place(context, rest)
    brace = rest.rfind("{")
    if brace < 0 or "}" in rest[brace:]:
        return len(rest), []
    start, words = _complete_expression(context, rest[brace + 1 :])
    return brace + 1 + start, words


def _complete_set(context: CompletionContext, rest: str) -> CompletionResult:
    start, words = _complete_expression(context, rest)
    if rest and "history".startswith(rest):
        # The setting, not the function, which cannot be assigned.
        words = ["history", *(word for word in words if word != "history(")]
    return start, words


def _complete_condition(context: CompletionContext, rest: str) -> CompletionResult:
    number = re.match(r"\d+\s+", rest)
    if number is None:
        return _complete_breakpoint(context, rest)
    start, words = _complete_expression(context, rest[number.end() :])
    return number.end() + start, words


def _complete_inputs(context: CompletionContext, rest: str) -> CompletionResult:
    """Completions of input names, and of an expression after a sign."""
    if "=" in (rest.split() or [""])[-1]:
        return _complete_expression(context, rest)
    return _complete_word(rest, (f"{quote(name)}=" for name in context.inputs))


def _complete_breakpoint(context: CompletionContext, rest: str) -> CompletionResult:
    return _complete_word(rest, context.breakpoints)


#: Completion kind -> completer.
_COMPLETERS: dict[str, Callable[[CompletionContext, str], CompletionResult]] = {
    "expression": _complete_expression,
    "place": _complete_place,
    "watch": _complete_watch,
    "log": _complete_log,
    "set": _complete_set,
    "condition": _complete_condition,
    "breakpoint": _complete_breakpoint,
    "inputs": _complete_inputs,
    "display": lambda context, rest: _complete_word(rest, context.displays),
    "branch": lambda context, rest: _complete_word(rest, context.branches),
    "info": lambda context, rest: _complete_word(rest, _INFO_TOPICS),
    "help": lambda context, rest: (0, [word for word in (*COMMANDS, "words", *glossary()) if word.startswith(rest)]),
}
