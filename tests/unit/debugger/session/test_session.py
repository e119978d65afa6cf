"""Sessions: where each step stops, and what the frame then shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.session import stop_state
from loopdbg.runtime.frame import NodeState
from text_models import BRANCHES, COUNT, NESTED, SUM, model


def start(text: str, **inputs: Any) -> loopdbg.Session:
    return loopdbg.debug(model(text), inputs)


def states(session: loopdbg.Session) -> list[tuple[str, str]]:
    return [(n.node.outputs[0].name, n.state) for n in session.frame.nodes if n.node.outputs[0]]  # type: ignore[union-attr]


def test_session_stops_before_iteration_0() -> None:
    session = start(COUNT, M=3, cond=True, v0=5, bound=99)
    assert session.stop.reason == "entry"
    frame = session.frame
    assert (frame.iteration, frame.trip_count, frame.condition, frame.stopped_by) == (0, 3, True, None)
    assert frame.carried == {"v_in": 5}
    edge = frame.back_edges[0]
    assert (edge.param, edge.result, edge.previous, edge.value) == ("v_in", "v_out", None, 5)
    assert frame.scan_outputs["s"].shape == (0,)
    assert frame.values["bound"] == 99
    with pytest.raises(KeyError, match="'v_out' is not computed yet in iteration 0"):
        frame.values["v_out"]
    with pytest.raises(KeyError, match="no value 'boundd'; did you mean 'bound'"):
        frame.values["boundd"]


def test_steps_lead_through_every_iteration_to_the_end() -> None:
    session = start(COUNT, M=3, cond=True, v0=5, bound=99)
    for iteration in (1, 2):
        assert session.step() == loopdbg.Stop(loopdbg.Reason.STEP, session.stop.text, (), "Loop_0", iteration)
        assert session.frame.iteration == iteration
        assert session.frame.carried["v_in"] == 5 + iteration
    stop = session.step()
    assert (stop.reason, session.frame.stopped_by, session.frame.iteration) == ("loop end", "trip_count", 3)
    assert (stop.loop, stop.iteration, stop.ended, stop.node) == ("Loop_0", 3, "trip_count", None)
    assert session.frame.back_edges[0].previous == 7
    assert session.frame.back_edges[0].value == 8
    assert session.outputs is None
    assert session.step().reason == "done"
    assert session.outputs is not None
    assert session.outputs["v"] == 8
    # The final state of the last loop can still be inspected.
    assert session.frame.carried["v_in"] == 8
    edge = session.frame.back_edges[0]
    assert (edge.previous, edge.value, edge.ready) == (7, 8, True)
    assert session.frame.values["v_out"] == 8
    assert session.frame.values["keep"]
    assert session.frame.at_boundary
    np.testing.assert_array_equal(session.frame.scan_outputs["s"], [5, 6, 7])
    with pytest.raises(loopdbg.UsageError, match="ran to its end; restart"):
        session.step()
    assert session.restart().reason == "entry"
    assert session.frame.carried["v_in"] == 5


def test_step_takes_a_count_and_stops_at_the_end() -> None:
    session = start(COUNT, M=30, cond=True, v0=0, bound=99)
    session.step(10)
    assert session.frame.iteration == 10
    assert session.step(100).reason == "done"


def test_nodes_run_one_at_a_time() -> None:
    session = start(COUNT, M=2, cond=True, v0=5, bound=99)
    assert states(session) == [("one", "next"), ("v_out", "todo"), ("keep", "todo"), ("s_out", "todo")]
    session.next_node()
    session.next_node()
    assert states(session) == [("one", "done"), ("v_out", "done"), ("keep", "next"), ("s_out", "todo")]
    assert session.frame.values["v_out"] == 6
    edge = session.frame.back_edges[0]
    assert (edge.previous, edge.value, edge.ready) == (5, 6, True)
    session.next_node()
    session.next_node()
    # After the last node comes the boundary.
    assert (session.stop.reason, session.frame.iteration, session.frame.at_boundary) == ("step", 1, True)
    # Values of the previous iteration stay readable until they are computed again.
    assert session.frame.values["v_out"] == 6
    session.next_node()
    assert not session.frame.at_boundary
    assert session.frame.back_edges[0].ready is False
    assert session.frame.values["v_out"] == 6
    session.step()
    assert session.frame.stopped_by == "trip_count"


def test_next_runs_an_inner_loop_as_one_node_and_into_enters_it() -> None:
    session = start(NESTED, M=2, K=3)
    session.next_node()
    session.next_node()
    assert session.frame.values["inner_total"] == 0
    assert len(session.frames) == 2
    session.step()
    session.next_node()
    session.into()
    assert [f.name for f in session.frames[1:]] == [session.model.loops[0].name, session.frame.name]
    assert (session.frame.iteration, session.frame.trip_count) == (0, 3)
    session.step(2)
    assert session.frame.carried["u"] == 0 + 1
    assert session.frame.values["i"] == 1  # captured from the outer body
    assert session.finish().reason == "loop end"
    assert session.frame.carried["u"] == 3
    session.step()
    assert session.frame.name == session.model.loops[0].name


def test_into_from_a_boundary_reaches_the_inner_loop() -> None:
    session = start(NESTED, M=2, K=3)
    session.into()
    session.into()
    assert session.frame.path.count("▸") == 2


def test_finish_and_continue() -> None:
    session = start(NESTED, M=2, K=3)
    assert session.finish().reason == "loop end"
    assert session.frame.iteration == 2
    assert session.continue_().reason == "done"
    assert session.outputs is not None
    assert session.outputs["total"] == 3


def test_branches_show_which_nodes_ran() -> None:
    session = start(BRANCHES, M=2, v0=1.0)
    for _ in range(7):
        session.next_node()
    listed = {n.node.outputs[0].name: (n.depth, n.branch, n.state) for n in session.frame.nodes if n.node.outputs[0]}
    assert listed["up"] == (1, "then", NodeState.DONE)
    assert listed["x2"] == (1, "else", NodeState.SKIPPED)
    assert session.frame.values["y"] == 2


def test_zero_trip_first_loop_stops_at_its_entry_with_the_reason() -> None:
    session = start(COUNT, M=3, cond=False, v0=5, bound=99)
    assert session.stop.reason == "entry"
    assert session.stop.text == "loop 'Loop_0' runs no iteration: the condition is false before the first"
    assert (session.stop.iteration, session.stop.ended) == (0, loopdbg.StoppedBy.CONDITION)
    assert session.step().reason == "done"


def test_model_without_a_loop_is_stepped_node_by_node() -> None:
    session = start("g (float x) => (float z) { y = Add (x, x)  z = Mul (y, y) }", x=3.0)
    assert session.stop.text == "before Add 'Add_0'; the model has no loop"
    assert (session.stop.node, session.stop.loop) == ("Add_0", None)
    assert [n.state for n in session.frame.nodes] == ["next", "todo"]
    session.next_node()
    assert session.frame.values["y"] == 6
    assert session.next_node().reason == "done"
    assert session.outputs == {"z": 36}


def test_state_can_be_inspected_after_an_error() -> None:
    text = COUNT.replace("s_out = Identity (v_in)", "s_out = Div (v_in, rest)").replace(
        "keep =", "rest = Sub (bound, v_out)  keep ="
    )
    session = start(text, M=9, cond=True, v0=0, bound=3)
    stop = session.continue_()
    assert (stop.reason, stop.loop, stop.iteration, stop.node) == ("error", "Loop_0", 2, "Div_4")
    frame = session.frame
    assert (frame.iteration, frame.carried["v_in"], frame.values["rest"]) == (2, 2, 0)
    assert next(n.node.op_type for n in frame.nodes if n.state is NodeState.NEXT) == "Div"
    session.restart()
    assert session.frame.iteration == 0


def test_limit_can_be_passed() -> None:
    session = loopdbg.debug(model(COUNT), {"M": 10, "cond": True, "v0": 0, "bound": 99}, max_iterations=4)
    assert session.continue_().reason == "limit"
    assert session.frame.iteration == 4
    assert session.continue_().reason == "limit"
    assert session.frame.iteration == 8
    assert session.continue_().reason == "done"


def test_endless_loop_can_be_stepped() -> None:
    session = start(COUNT.replace("(M, cond, v0)", "( , , v0)"), M=0, cond=True, v0=0, bound=0)
    session.step(5)
    assert session.frame.carried["v_in"] == 5
    assert session.frame.trip_count is None
    assert session.frame.condition is None


def test_snapshot_does_not_change_when_the_session_continues() -> None:
    session = start(SUM, M=3, v0=1.0)
    session.step()
    before = stop_state.read_stop(session)
    edge, scan = before.frame.back_edges[0], before.frame.scans[0]
    session.step()
    assert (edge.previous, edge.value, scan.count, scan.shape) == (1, 1, 1, (1,))
    after = stop_state.read_stop(session)
    assert (after.frame.back_edges[0].value, after.frame.scans[0].shape) == (2, (2,))
    assert [a.tolist() for a in after.frame.scans[0].tail] == [1, 4]


def test_snapshot_has_breakpoints_branches_and_the_time() -> None:
    session = start(COUNT, M=3, cond=True, v0=1, bound=42)
    session.breakpoints.add("iter 2")
    session.step()
    before = stop_state.read_stop(session)
    session.set("v_in", 5)
    session.continue_()
    after = stop_state.read_stop(session)
    assert [(breakpoint.title, breakpoint.hits) for breakpoint in before.breakpoints] == [("iter 2", 0)]
    assert [(breakpoint_value.title, breakpoint_value.hits) for breakpoint_value in after.breakpoints] == [
        ("iter 2", 1)
    ]
    assert [(branch.number, branch.parent, branch.current) for branch in before.branches] == [(1, None, True)]
    assert [(branch_value.number, branch_value.parent, branch_value.current) for branch_value in after.branches] == [
        (1, None, False),
        (2, 1, True),
    ]
    assert after.branches[1].fork == before.position < after.position
    assert before.frame.values["v_in"] == 1 and after.frame.values["v_in"] == 5
    assert before.frame is before.frames[-1] and before.frame.index == 0 and before.frame.entry == ()


def test_frames_follow_an_edit() -> None:
    session = start(COUNT, M=3, cond=True, v0=1, bound=42)
    session.finish()
    frame = session.frame
    assert NodeState.NEXT not in {entry.state for entry in frame.nodes}
    session.assign("trip_count = 5")
    assert frame.stopped_by is None
    assert frame.nodes[0].state is NodeState.NEXT


def test_snapshots_name_captures() -> None:
    session = start(COUNT, M=3, cond=True, v0=1, bound=42)
    assert dict(stop_state.read_stop(session).frame.captures) == {"bound": 42}


def test_any_kind_of_stepping_gives_the_same_outputs() -> None:
    expected = model(NESTED).run({"M": 3, "K": 4})
    rng = np.random.default_rng(0)
    for _ in range(20):
        session = start(NESTED, M=3, K=4)
        moves = [session.step, session.next_node, session.into, session.finish]
        while not session.done:
            moves[rng.integers(4)]()
        assert session.outputs is not None
        for name, value in expected.items():
            np.testing.assert_array_equal(session.outputs[name], value)


def test_session_keeps_its_own_copy_of_the_inputs() -> None:
    v0 = np.array(5)
    session = loopdbg.debug(model(COUNT), {"M": 2, "cond": True, "v0": v0, "bound": 99})
    v0[...] = 50
    session.restart()
    assert session.frame.carried["v_in"] == 5


def test_interrupt_between_steps_does_not_affect_the_next() -> None:
    session = start(COUNT, M=3, cond=True, v0=5, bound=99)
    session.interrupt()
    assert session.continue_().reason == "done"


def test_if_is_not_done_while_its_branch_runs() -> None:
    session = start(BRANCHES, M=4, v0=1.0)
    session.step()
    for _ in range(5):
        session.next_node()
    listed = {n.node.outputs[0].name: n.state for n in session.frame.nodes if n.node.outputs[0]}
    assert (listed["x2"], listed["up"]) == (NodeState.NEXT, NodeState.SKIPPED)
    assert listed["y"] is not NodeState.DONE
    assert not session.frame.back_edges[0].ready


def test_snapshot_at_the_end_has_the_loop_outputs() -> None:
    session = start(COUNT, M=3, cond=True, v0=5, bound=99)
    assert "v" not in stop_state.read_stop(session).frame.values
    session.finish()
    assert stop_state.read_stop(session).frame.values["v"] == 8
