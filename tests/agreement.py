"""Whether all ways of running a model agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import loopdbg
import ways
from plain import all_bits
from strategies.draws import Draw


class Differs(AssertionError):
    """Two that have to agree do not."""


def same(what: str, got: Any, wanted: Any) -> None:
    """Raise with the first part in which two differ."""
    if got != wanted:
        raise Differs(f"{what}: {_difference(got, wanted)}")


def _difference(got: Any, wanted: Any, where: str = "") -> str:
    if type(got) is type(wanted):
        if isinstance(got, dict) and got.keys() == wanted.keys():
            for key in got:
                if got[key] != wanted[key]:
                    return _difference(got[key], wanted[key], f"{where}[{key!r}]")
        if isinstance(got, list | tuple):
            for k, (a, b) in enumerate(zip(got, wanted, strict=False)):
                if a != b:
                    return _difference(a, b, f"{where}[{k}]")
            return f"{where}: {len(got)} of them, not {len(wanted)}"
    return f"{where}: got {got!r:.300}, not {wanted!r:.300}"


def every_way(
    model: loopdbg.Model, first: ways.Outcome, feeds: Mapping[str, Any], other: Mapping[str, Any] | None, draw: Draw
) -> list[Any]:
    """Run a model in every way, on ``other`` inputs in between; returns what hooks were shown. ``first``: how it ended
    elsewhere.

    Raises:
        Differs: the ways do not agree.
    """
    given = all_bits(feeds)
    same("headless", ways.executed(model, feeds), first)
    same("again", ways.executed(model, feeds), first)
    ran, seen = ways.hooked(model, feeds)
    same("with a hook", ran, first)
    if other is not None:
        ways.executed(model, other)
        same("after another run", ways.executed(model, feeds), first)
    if first[0] != "error":
        same("hot at once", ways.by_engine(model, feeds, ways.hot_at_once), first)
        same("never hot", ways.by_engine(model, feeds, ways.never_hot), first)
        same("node by node", ways.by_engine(model, feeds, drive=ways.by_nodes(80)), first)
        same("on the plain engine", ways.by_engine(model, feeds, plain=True), first)
        same("in Python", ways.by_engine(model, feeds, ways.python_only), first)
        with ways.shared_by(3):
            same("by three threads", ways.by_engine(model, feeds), first)
        ran, called = ways.c_hooked(model, feeds)
        same("with a hook in C", ran, first)
        same("boundaries of a hook in C", called, [(state[0], state[2]) for state in seen])
    if len(seen) < 300:
        ran, seen_too, kept = ways.recorded(model, feeds)
        same("recorded", ran, first)
        same("what was recorded", kept, seen_too)
    if first[1] == "LimitError":
        return seen  # a loop that nothing ends; sessions may go on in it
    ran, stood = ways.debugged(model, feeds)
    same("in a session", *_stops(ran, first))
    _stood(stood, seen)
    ran = ways.there_and_back(model, feeds, draw)
    same("there and back", *_stops(ran, first))
    same("at last", ways.executed(model, feeds), first)
    same("the inputs, at last", all_bits(feeds), given)
    return seen


def runs(
    load: Callable[[], loopdbg.Model], feeds: Mapping[str, Any], other: Mapping[str, Any] | None, draw: Draw
) -> ways.Outcome:
    """As ``every_way``, of a model that has to run to its end; how it ended."""
    first = ways.executed(load(), feeds)
    assert first[0] is None, first
    every_way(load(), first, feeds, other, draw)
    return first


def _stops(ran: Any, first: Any) -> tuple[Any, Any]:
    """A session stops at an error and shows its text, where a run raises it."""
    if first[0] == "error" and ran[0] == "stopped":
        return ran[1].value, "error"
    return ran, first


def _stood(stood: list[Any], seen: list[Any]) -> None:
    """A session's frames are those of the hook, as far as it stepped."""
    known = {state[:3]: state for state in seen}
    for state in stood:
        same("a frame of a session", state, known.get(state[:3]))
