"""Running to a location: until and advance."""

from __future__ import annotations

import pytest

import loopdbg

from .console_sessions import start_count, start_newton


def test_until_runs_to_a_line_or_node_and_to_it_again_in_the_next_iteration() -> None:
    talk = start_newton()
    assert talk("advance change") == [
        "breakpoint 1 (change): before Sub 'Sub_4' in iteration 0 of loop 'sqrt'",
        "▶  15  change = x_new - x",
    ]
    # The current position does not count.
    assert "in iteration 1 of" in talk("until line 15")[0]
    assert "in iteration 2 of" in talk("advance 15")[0]
    assert talk("info breakpoints") == ["no breakpoints"]


def test_number_is_an_iteration_for_until_and_a_line_for_advance() -> None:
    assert start_newton().stop_after("until 3").iteration == 3
    assert "before Mul 'Mul_2'" in start_newton()("advance 13")[0]


def test_earlier_stop_ends_the_move_and_drops_its_target() -> None:
    talk = start_newton()
    assert talk("break half_q", "advance change")[1].startswith("breakpoint 1 (half_q)")
    assert talk("info breakpoints") == ["breakpoint 1: half_q, line 13, hit 1 time"]
    assert talk.stop_after("delete", "advance if err < 0").reason is loopdbg.Reason.DONE
    assert talk("info breakpoints") == ["no breakpoints"]


@pytest.mark.parametrize("where", ["nix", "line 99", "if nix > 3", "iter x"])
def test_unknown_location_moves_nothing(where: str) -> None:
    talk = start_count()
    assert talk.last_line(f"advance {where}").startswith("error: ")
    assert talk.session.frame.iteration == 0 and not len(talk.session.breakpoints)


def test_location_before_the_loops_is_refused() -> None:
    session = loopdbg.debug("sample_models/newton_sqrt.onnx", {"a": 2.0, "tol": 1e-6})
    first = next(line for line in session.controller.symbols.pseudo_code.lines if line.node is not None)
    with pytest.raises(loopdbg.UsageError, match="runs before the first loop"):
        session.until(f"line {first.number}")
    assert session.stop.iteration == 0 and session.stop.node is None and not len(session.breakpoints)
