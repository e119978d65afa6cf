"""A recording in the debugger shows at every stop what the session showed there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import loopdbg
from app_driver import open_recording
from cli_runner import run_cli as command
from cli_runner import start_cli
from cli_runner import wait_for_exit as wait
from comparable_values import exact_bits
from error_fields import raises_error
from loopdbg.debugger.frame_state import FrameState
from loopdbg.debugger.trace.recorder import Recorder, RecordOptions
from loopdbg.debugger.trace.replay import Replay
from loopdbg.runtime.errors import UsageError
from loopdbg.runtime.frame import frame_reader
from loopdbg.runtime.graph import Value
from loopdbg.runtime.graph.graph_json import MAX_INLINE_BYTES
from loopdbg.tui.render.stop_view import build_stop_view
from loopdbg.tui.render.timeline_rows import BranchHistory
from recordings import record_run
from text_models import BRANCHES, COUNT, NESTED, SAMPLES, model, sample

NAMES = sorted(path.name for pattern in ("*.onnx", "*.xml") for path in SAMPLES.glob(pattern))
BOTH = {"nested": (NESTED, {"M": 3, "K": 2}), "branches": (BRANCHES, {"M": 4, "v0": 1.0})}


@contextmanager
def replaying(path: Path, text: str, inputs: dict[str, Any], **options: Any) -> Iterator[Replay]:
    trace, _, _ = record_run(path, model(text), inputs, **options)
    with trace:
        yield Replay(trace)


def assert_same_frame(a: FrameState, b: FrameState) -> None:
    for name in ("name", "path", "entry", "iteration", "trip_count", "condition", "stopped_by", "at_boundary"):
        assert getattr(a, name) == getattr(b, name), name
    for e, f in zip(a.back_edges, b.back_edges, strict=True):
        assert (e.param, e.result, str(e.type)) == (f.param, f.result, str(f.type))
        assert exact_bits(e.previous) == exact_bits(f.previous)
        if a.at_boundary:
            assert e.ready == f.ready and exact_bits(e.value) == exact_bits(f.value)
    for s, t in zip(a.scans, b.scans, strict=True):
        for name in ("name", "axis", "stack", "reverse", "count", "shape", "dtype"):
            assert getattr(s, name) == getattr(t, name), name
        assert exact_bits(list(s.tail)) == exact_bits(list(t.tail))
    for m, n in zip(a.nodes, b.nodes, strict=True):
        assert (m.depth, m.branch, m.state) == (n.depth, n.branch, n.state)
        assert (m.node.name, m.node.op_type) == (n.node.name, n.node.op_type)
        assert (names_of(m.node.inputs), names_of(m.node.outputs)) == (
            names_of(n.node.inputs),
            names_of(n.node.outputs),
        )


def names_of(values: Sequence[Value | None]) -> list[str]:
    return ["" if value is None else value.name for value in values]


def assert_same_values(a: FrameState, b: FrameState) -> None:
    # A run still shows what a branch computed in an earlier iteration.
    stale = {name for entry in a.nodes if entry.branch for name in names_of(entry.node.outputs)}
    # Large constants are not recorded.
    large = {name for name, value in a.values.items() if getattr(value, "nbytes", 0) > MAX_INLINE_BYTES}
    assert a.values.keys() - b.values.keys() <= stale | large and b.values.keys() <= a.values.keys()
    for name in b.values:
        assert exact_bits(a.values[name]) == exact_bits(b.values[name]), name


@pytest.mark.parametrize("name", [*BOTH, *NAMES])
def test_replay_shows_every_stop_of_the_session(tmp_path: Path, name: str) -> None:
    if name in BOTH:
        text, inputs = BOTH[name]
        loaded = model(text)
    else:
        loaded, inputs = sample(name)
    limit = 60 if name == "loop_infinite.xml" else None
    trace, _, _ = record_run(tmp_path / "t.loopdb", loaded, inputs, limit, nodes=True)
    with trace:
        session, replay = loopdbg.debug(loaded, inputs, max_iterations=limit), Replay(trace)
        histories = BranchHistory(), BranchHistory()
        for moves in range(200):
            a, b = build_stop_view(session, histories[0]), build_stop_view(replay, histories[1])
            for x, y in zip((*a.frames, a.stop_state.frame), (*b.frames, b.stop_state.frame), strict=True):
                assert_same_frame(x, y)
                if x.at_boundary:
                    assert_same_values(x, y)
            assert session.stop.reason == replay.stop.reason
            if session.done or session.stop.reason == "limit":
                break
            assert session.stop == replay.stop
            assert [t.iterations for t in session.totals] == [t.iterations for t in replay.totals]
            if moves % 11 == 10:
                session.finish()
                replay.finish()
            elif (
                not replay.controller.trace.entry(replay.controller.boundary.entry).around
                and replay.frame.stopped_by is None
                and moves % 3 == 1
            ):  # type: ignore[union-attr]
                # Into an inner loop, if there is one.
                replay.into()
                if replay.frame.iteration == 0 and len(replay.frames) > 2:
                    while session.frame.iteration or session.frame.path != replay.frame.path:
                        session.into()
                else:
                    session.step()
            else:
                session.step()
                replay.step()
        assert session.done == replay.done
        if session.done:
            assert replay.outputs is not None and session.outputs is not None
            assert all(exact_bits(session.outputs[k]) == exact_bits(replay.outputs[k]) for k in session.outputs)
            with pytest.raises(UsageError, match="at its end"):
                replay.step()


COUNTED = {"M": 10, "cond": True, "v0": 0, "bound": 99}


def test_replay_moves_in_both_directions(tmp_path: Path) -> None:
    with replaying(tmp_path / "t", COUNT, COUNTED) as replay:
        assert (replay.stop.reason, replay.frame.iteration) == ("entry", 0)
        with pytest.raises(UsageError, match="first boundary"):
            replay.back()
        stop = replay.step(3)
        assert (stop.loop, stop.iteration, stop.node) == ("Loop_0", 3, None)
        stop = replay.back()
        assert (stop.loop, stop.iteration, stop.ended) == ("Loop_0", 2, None)
        assert replay.frame.carried["v_in"] == 2 and replay.frame.back_edges[0].previous == 1
        replay.goto(7)
        assert replay.frame.iteration == 7 and replay.frame.scan_outputs["s"].tolist() == list(range(7))
        replay.until(9)
        assert replay.frame.iteration == 9
        with raises_error(UsageError, loop="Loop_0", iteration=99):
            replay.goto(99)
        assert replay.stop.reason == "loop end"
        with pytest.raises(UsageError, match=r"loop 'Loop_0' has no iteration 99: it ends after 10 iterations$"):
            replay.goto(99)
        assert replay.continue_().reason == "done"
        assert replay.outputs is not None and replay.outputs["v"] == 10
        assert replay.frame.carried["v_in"] == 10
        # From the end back to its last boundary.
        assert replay.back().reason == "loop end" and replay.outputs is None
        assert replay.reverse_continue().reason == "start" and replay.frame.iteration == 0


def test_replay_moves_in_nested_loops(tmp_path: Path) -> None:
    with replaying(tmp_path / "t", NESTED, {"M": 3, "K": 2}) as replay:
        where = []
        for _ in range(7):
            where.append((len(replay.frames) - 1, *replay.frame.entry, replay.frame.iteration))
            replay.into()
        assert where == [(1, 0), (2, 0, 0), (2, 0, 1), (2, 0, 2), (1, 1), (2, 1, 0), (2, 1, 1)]
        assert (replay.frame.entry, replay.frame.iteration) == ((1,), 2)
        assert replay.frame.stopped_by == "trip_count"
        outer = replay.frames[1]
        assert (outer.iteration, outer.at_boundary, outer.carried["t"], outer.values["i"]) == (1, False, 0, 1)
        # From the inner loop's end to the outer's.
        stop = replay.finish()
        assert (stop.loop, stop.iteration, stop.ended) == ("Loop_1", 3, loopdbg.StoppedBy.TRIP_COUNT)
        replay.back()
        assert (replay.frame.entry, replay.frame.iteration) == ((), 2)


def test_commands_that_need_a_run_are_refused(tmp_path: Path) -> None:
    with replaying(tmp_path / "t", COUNT, COUNTED) as replay:
        for ask in (
            replay.next_node,
            replay.back_node,
            lambda: replay.set("k", 1),
            lambda: replay.model.run(COUNTED),
        ):
            with pytest.raises(UsageError, match=r"this is a recording; loopdbg\.debug"):
                ask()
        replay.interrupt()
        assert not replay.running and replay.stop.reason == "entry"


def test_partial_recording_shows_what_it_has(tmp_path: Path) -> None:
    with replaying(tmp_path / "t", COUNT, COUNTED, every=4) as replay:
        replay.step(2)
        frame = replay.frame
        assert frame.iteration == 8
        # The values carried into iteration 7 are unknown, and some scan elements are missing.
        assert frame.back_edges[0].previous is None and frame.back_edges[0].value == 8
        assert frame.scan_outputs == {} and [int(e) for e in frame_reader(frame).scan_tail(0, 9)[3]] == [3, 7]
        with raises_error(UsageError, loop="Loop_0", iteration=6):
            replay.goto(6)
        with pytest.raises(KeyError, match="a recording with nodes holds all body values"):
            frame.values["one"]
    with replaying(tmp_path / "u", COUNT, COUNTED, only=["s"]) as replay:
        replay.step()
        (edge,) = replay.frame.back_edges
        assert edge.value is None and not edge.ready


def test_truncated_recordings_are_replayed(tmp_path: Path) -> None:
    loaded = model(COUNT)
    limited, _, _ = record_run(tmp_path / "limit", loaded, COUNTED, 5)
    with limited:
        replay = Replay(limited)
        stop = replay.continue_()
        assert (stop.reason, replay.frame.iteration) == ("limit", 5)
        assert stop.text.startswith("the recording ends here: loop 'Loop_0' reached the limit of 5")
        assert (stop.loop, stop.iteration) == ("Loop_0", 5)
    recorder = Recorder(tmp_path / "killed", loaded, COUNTED, RecordOptions())
    with pytest.raises(ZeroDivisionError):
        loaded.execute(COUNTED, on_iteration=lambda frame: (recorder(frame), 1 / (3 - frame.iteration)))
    recorder.close()
    with loopdbg.Trace.open(tmp_path / "killed") as trace:
        replay = Replay(trace)
        stop = replay.finish()
        assert (stop.reason, replay.frame.iteration, replay.done) == ("interrupt", 3, False)
        assert "its program was ended, or still records" in stop.text
        assert replay.totals[0].iterations == 3
    nothing = Recorder(tmp_path / "nothing", loaded, COUNTED, RecordOptions())
    nothing.close()
    with loopdbg.Trace.open(tmp_path / "nothing") as trace:
        replay = Replay(trace)
        assert replay.stop.reason == "interrupt" and replay.frame.loop is None
        with raises_error(UsageError, name="step"):
            replay.step()


async def test_app_shows_a_recording(tmp_path: Path) -> None:
    async with open_recording(tmp_path / "t.loopdb", "newton_sqrt.onnx", nodes=True) as screen:
        assert "newton_sqrt.onnx" in screen.header and "iteration 0 / no limit" in screen.header
        await screen.press("s", "s")
        assert "iteration 2 / no limit" in screen.header
        assert screen.value_next_to("half") == "0.75"
        assert "1.4166667" in screen.text("back-edges")
        await screen.press("n")
        assert "this is a recording" in screen.message
        await screen.press("c")
        assert "ended" in screen.header and "1.4142135" in screen.text("outputs")
        await screen.press("r")
        assert "iteration 0 / no limit" in screen.header


def test_opening_a_recording_needs_a_terminal_and_no_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.loopdb"
    record_run(path, model(COUNT), COUNTED)[0].close()
    ran = wait(start_cli(path))
    assert (ran.status, ran.error_line) == (
        2,
        f"the debugger needs a terminal; without one use: loopdbg run {path} -ex COMMAND",
    )
    assert command(capsys, path, "--seed", "1").status == 2
