"""Checks that all execution modes of a model agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import execution_modes
import loopdbg
from comparable_values import all_exact_bits
from strategies.draws import ChoiceSource


class DisagreementError(AssertionError):
    """Two results that must agree do not."""


def assert_equal(what: str, got: Any, wanted: Any) -> None:
    """Raise with the first part in which two values differ."""
    if got != wanted:
        raise DisagreementError(f"{what}: {_first_difference(got, wanted)}")


def _first_difference(got: Any, wanted: Any, where: str = "") -> str:
    if type(got) is type(wanted):
        if isinstance(got, dict) and got.keys() == wanted.keys():
            for key in got:
                if got[key] != wanted[key]:
                    return _first_difference(got[key], wanted[key], f"{where}[{key!r}]")
        if isinstance(got, list | tuple):
            for k, (a, b) in enumerate(zip(got, wanted, strict=False)):
                if a != b:
                    return _first_difference(a, b, f"{where}[{k}]")
            return f"{where}: {len(got)} of them, not {len(wanted)}"
    return f"{where}: got {got!r:.300}, not {wanted!r:.300}"


def run_every_mode(
    model: loopdbg.Model,
    first: execution_modes.Outcome,
    feeds: Mapping[str, Any],
    other: Mapping[str, Any] | None,
    draw: ChoiceSource,
) -> list[Any]:
    """Run a model in every mode, with ``other`` inputs in between; returns the boundaries that hooks saw.

    ``first``: the outcome of a reference run.

    Raises:
        DisagreementError: the modes do not agree.
    """
    inputs = all_exact_bits(feeds)
    assert_equal("headless", execution_modes.run_headless(model, feeds), first)
    assert_equal("again", execution_modes.run_headless(model, feeds), first)
    ran, seen = execution_modes.run_with_hook(model, feeds)
    assert_equal("with a hook", ran, first)
    if other is not None:
        execution_modes.run_headless(model, other)
        assert_equal("after another run", execution_modes.run_headless(model, feeds), first)
    if first[0] != "error":
        assert_equal("hot at once", execution_modes.run_on_engine(model, feeds, execution_modes.compile_at_once), first)
        assert_equal("never hot", execution_modes.run_on_engine(model, feeds, execution_modes.never_compile), first)
        assert_equal(
            "node by node", execution_modes.run_on_engine(model, feeds, drive=execution_modes.stop_at_nodes(80)), first
        )
        assert_equal("on the plain engine", execution_modes.run_on_engine(model, feeds, plain=True), first)
        assert_equal("in Python", execution_modes.run_on_engine(model, feeds, execution_modes.use_python_only), first)
        with execution_modes.split_for_threads(3):
            assert_equal("by three threads", execution_modes.run_on_engine(model, feeds), first)
        ran, called = execution_modes.run_with_c_hook(model, feeds)
        assert_equal("with a hook in C", ran, first)
        assert_equal("boundaries of a hook in C", called, [(state[0], state[2]) for state in seen])
    if len(seen) < 300:
        ran, seen_too, kept = execution_modes.run_recorded(model, feeds)
        assert_equal("recorded", ran, first)
        assert_equal("what was recorded", kept, seen_too)
    if first[1] == "LimitError":
        return seen  # a loop that nothing ends; sessions may go on in it
    ran, stood = execution_modes.run_session(model, feeds)
    assert_equal("in a session", *_expected_session_outcome(ran, first))
    _check_session_frames(stood, seen)
    ran = execution_modes.run_time_travel(model, feeds, draw)
    assert_equal("there and back", *_expected_session_outcome(ran, first))
    assert_equal("at last", execution_modes.run_headless(model, feeds), first)
    assert_equal("the inputs, at last", all_exact_bits(feeds), inputs)
    return seen


def check_all_modes(
    load: Callable[[], loopdbg.Model], feeds: Mapping[str, Any], other: Mapping[str, Any] | None, draw: ChoiceSource
) -> execution_modes.Outcome:
    """As :func:`run_every_mode`, for a model that must run to its end; returns the outcome."""
    first = execution_modes.run_headless(load(), feeds)
    assert first[0] is None, first
    run_every_mode(load(), first, feeds, other, draw)
    return first


def _expected_session_outcome(ran: Any, first: Any) -> tuple[Any, Any]:
    """A session stops at an error and shows its text, where a run raises it."""
    if first[0] == "error" and ran[0] == "stopped":
        return ran[1].value, "error"
    return ran, first


def _check_session_frames(stood: list[Any], seen: list[Any]) -> None:
    """Check that a session's frames are those of the hook, as far as it stepped."""
    known = {state[:3]: state for state in seen}
    for state in stood:
        assert_equal("a frame of a session", state, known.get(state[:3]))
