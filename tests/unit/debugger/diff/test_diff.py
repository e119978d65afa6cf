"""Comparing two streams of boundaries, and two models."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
import models
from command_line import loopdbg as command
from command_line import save
from loopdbg.debugger.diff.findings import Comparison, LoopFindings, Reason
from loopdbg.debugger.diff.growth import POINTS, Growth
from loopdbg.debugger.diff.matching import match_loops, match_names
from loopdbg.debugger.diff.rules import RULES, reasons_of
from loopdbg.debugger.diff.sides import LoopInfo, ModelSide
from loopdbg.debugger.diff.streams import Options, compare_sides
from loopdbg.debugger.diff.values import Tolerance, compare
from loopdbg.debugger.session.boundary import Boundary
from loopdbg.runtime.graph import Graph, StoppedBy
from models import SAMPLES

# ------------------------------------------------------------------ values

NAN, INF = math.nan, math.inf
F32 = np.float32


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (F32([1, NAN, INF, -INF]), F32([1, NAN, INF, -INF])),
        (F32(1), F32(1.00005)),
        (np.float16(1), np.float16(1.005)),
        (np.array(["a", "b"], object), np.array(["a", "b"])),
        ([F32(1), F32([2, 3])], [F32(1), F32([2, 3])]),
        (None, None),
        (np.zeros((0, 3), F32), np.zeros((0, 3), F32)),
        (np.complex64(1 + 2j), np.complex64(1 + 2j)),
        (np.int64(2**62), np.int64(2**62)),
    ],
)
def test_same_values(left: Any, right: Any) -> None:
    assert not compare(left, right, Tolerance()).kind


@pytest.mark.parametrize(
    ("left", "right", "kind", "absolute"),
    [
        (F32(1), F32(1.01), "value", 0.01),
        (np.float64(1), np.float64(1.00005), "value", 5e-5),
        (F32([1, 2]), F32([1, NAN]), "value", INF),
        (F32([INF]), F32([-INF]), "value", INF),
        (F32([INF]), F32([1e30]), "value", INF),
        (np.int64(2**62), np.int64(2**62 + 1), "value", 1),
        (np.uint8(0), np.uint8(255), "value", 255),
        (np.int64([-(2**63)]), np.int64([2**63 - 1]), "value", 2.0**64),
        (True, False, "value", 1),
        (np.array(["a"], object), np.array(["b"], object), "value", 1),
        (F32(1), np.float64(1), "dtype", INF),
        (F32([1]), F32([[1]]), "shape", INF),
        ([F32(1)], [F32(1), F32(1)], "length", INF),
        ([F32(1), F32(2)], [F32(1), F32(3)], "value", 1),
        (None, F32(1), "kind", INF),
        ([F32(1)], F32(1), "kind", INF),
    ],
)
def test_values_that_differ(left: Any, right: Any, kind: str, absolute: float) -> None:
    found = compare(left, right, Tolerance())
    assert found.kind == kind
    assert found.absolute == pytest.approx(absolute, rel=1e-3)


def test_the_worst_element_is_told() -> None:
    found = compare(F32([[1, 2], [3, 4]]), F32([[1, 2.5], [3, 9]]), Tolerance())
    assert (found.index, found.count, found.size) == ((1, 1), 2, 4)
    assert (found.left, found.right) == (4, 9)
    assert found.relative == pytest.approx(5 / 9)


def test_of_a_sequence_the_worst_element_is_told() -> None:
    found = compare([F32(1), F32([1, 2]), F32(3)], [F32(1), F32([1, 7]), F32(4)], Tolerance())
    assert found.index == (1, 1) and found.absolute == 5 and "element 1" in found.text


def test_tolerances_can_be_given() -> None:
    assert not compare(F32(1), F32(1.5), Tolerance(rtol=0.5)).kind
    assert compare(F32(1), F32(1 + 1e-6), Tolerance(rtol=0, atol=0)).kind == "value"
    assert not compare(F32(1), F32(1.5), Tolerance(rtol=0, atol=0.6)).kind
    # Integers stay exact.
    assert compare(np.int32(1), np.int32(2), Tolerance(atol=10)).kind == "value"


# ------------------------------------------------------------------ growth


def test_growth_is_fitted() -> None:
    growth = Growth()
    for k in range(40):
        growth.add(k, 1e-6 * 1.5**k, 0.0, 1e-6 * 1.5**k > 1e-4)
    assert growth.factor == pytest.approx(1.5)
    assert growth.first_beyond == 12
    assert growth.largest == pytest.approx(1e-6 * 1.5**39)


def test_growth_keeps_few_points_of_many_iterations() -> None:
    growth = Growth()
    for k in range(100_000):
        growth.add(k, float(k == 77_777), 0.0, k == 77_777)
    assert len(growth.points) <= POINTS
    (peak,) = [point for point in growth.points if point.absolute]
    assert peak.first <= 77_777 <= peak.last
    assert growth.points[0].first == 0 and growth.points[-1].last == 99_999
    assert growth.first_beyond == 77_777


# ------------------------------------------------------------------ streams


@dataclass
class Stream:
    """A side made of boundaries."""

    made: Sequence[Boundary]
    label: str = "side"
    loops: Sequence[LoopInfo] = (LoopInfo("main ▸ l", "l"),)
    graph: Graph | None = None
    outputs: Mapping[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    def boundaries(self) -> Iterator[Boundary]:
        return iter(self.made)

    def moment(self, loop: str, entry: tuple[int, ...], iteration: int | None) -> None:
        """Nothing but boundaries is known."""

    def reasons(self, loop: str) -> list[Reason]:
        return reasons_of(self.notes)


def stream(trips: int, **more: Any) -> list[Boundary]:
    """A loop that carries its iteration number, as a float, and a growing scan output."""
    return [
        Boundary(
            more.get("loop", "main ▸ l"),
            more.get("entry", ()),
            k,
            True,
            StoppedBy.TRIP_COUNT if k == trips else None,
            {"x": F32(k), "n": np.int64(k)},
            {"s": F32([k, 0])} if k else {},
        )
        for k in range(trips + 1)
    ]


def changed(made: list[Boundary], iteration: int, **carried: Any) -> list[Boundary]:
    """The same, with other carried values at one boundary."""
    made = list(made)
    made[iteration] = replace(made[iteration], carried={**made[iteration].carried, **carried})
    return made


def diff(left: Sequence[Boundary], right: Sequence[Boundary], **options: Any) -> tuple[Comparison, LoopFindings]:
    found = compare_sides(Stream(left), Stream(right), Options(**options))
    return found, found.loops[0]


def test_the_same_stream() -> None:
    found, loop = diff(stream(5), stream(5))
    assert found.same and not found.empty
    assert (loop.iterations, loop.differing, loop.unmatched, loop.left_trips, loop.right_trips) == (5, 0, 0, 5, 5)
    assert loop.first is None and loop.growth.largest == 0


@pytest.mark.parametrize("boundary", [0, 1, 3, 5])
def test_a_value_that_differs(boundary: int) -> None:
    found, loop = diff(stream(5), changed(stream(5), boundary, x=F32(100)))
    assert not found.same
    first = loop.first
    assert first is not None
    assert (first.role, first.name, first.delta.kind) == ("carried", "x", "value")
    # The boundary before iteration k holds what iteration k - 1 computed; the first one what the loop was entered with.
    assert first.iteration == (boundary - 1 if boundary else None)
    assert (first.left, first.right) == (boundary, 100)
    assert loop.differing == (1 if boundary else 0)
    assert loop.growth.first_beyond == first.iteration


def test_trip_counts_that_differ_by_one() -> None:
    found, loop = diff(stream(5), stream(4))
    assert not found.same and loop.trips is not None
    assert (loop.trips.left, loop.trips.right, loop.trips.entries) == (5, 4, 1)
    # No carried value is compared with one of another iteration.
    assert loop.first is None and loop.unmatched == 1
    assert (loop.left_trips, loop.right_trips) == (5, 4)
    _, loop = diff(stream(4), stream(5))
    assert loop.trips is not None and (loop.trips.left, loop.trips.right) == (4, 5)


def test_the_rule_behind_a_trip_count() -> None:
    note = "OpenVINO would stop once the body's condition 'k' is false, although the loop's cond is absent."
    found = compare_sides(Stream(stream(5), notes=[note]), Stream(stream(3), notes=["something else."]), Options())
    assert found.loops[0].trips is not None
    assert found.loops[0].trips.reasons == [Reason("B1", note)]


def test_zero_trips() -> None:
    _, loop = diff(stream(0), stream(0))
    assert loop.same and loop.compared and loop.iterations == 0
    _, loop = diff(stream(0), stream(2))
    assert loop.trips is not None and (loop.trips.left, loop.trips.right) == (0, 2)


def test_shapes_dtypes_and_missing_values() -> None:
    _, loop = diff(stream(5), changed(stream(5), 3, x=F32([3, 3])))
    assert loop.first is not None and loop.first.delta.kind == "shape" and loop.first.iteration == 2
    _, loop = diff(stream(5), changed(stream(5), 3, n=np.int32(3)))
    assert loop.first is not None and (loop.first.name, loop.first.delta.kind) == ("n", "dtype")
    fewer = [replace(b, carried={"x": b.carried["x"]}) for b in stream(5)]
    _, loop = diff(stream(5), fewer)
    assert loop.same and loop.only_left == ["n"] and loop.iterations == 5


def test_nan_is_nan() -> None:
    left, right = changed(stream(5), 3, x=F32(NAN)), changed(stream(5), 3, x=F32(NAN))
    assert diff(left, right)[1].same
    assert diff(left, stream(5))[1].first is not None


def test_scan_elements_and_conditions() -> None:
    other = stream(5)
    other[2] = replace(other[2], scanned={"s": F32([2, 1])})
    _, loop = diff(stream(5), other)
    assert loop.first is not None and (loop.first.role, loop.first.iteration) == ("scan", 1)
    other = stream(5)
    other[5] = replace(other[5], condition=False)
    _, loop = diff(stream(5), other)
    assert loop.first is not None and loop.first.role == "condition"


def test_growth_of_streams() -> None:
    right = stream(30)
    for k in range(1, 31):
        right = changed(right, k, x=F32(k + 1e-7 * 2.0**k))
    _, loop = diff(stream(30), right)
    assert loop.growth.factor == pytest.approx(2, rel=0.2)
    assert loop.growth.first_beyond == loop.first.iteration  # type: ignore[union-attr]
    assert 8 < (loop.growth.first_beyond or 0) < 20


def test_a_recording_of_every_third_boundary() -> None:
    some = [b for b in stream(10) if b.iteration % 3 == 0 or b.ended]
    _, loop = diff(stream(10), some)
    assert loop.same and loop.unmatched == 6 and (loop.left_trips, loop.right_trips) == (10, 10)
    _, loop = diff(stream(10), changed(some, 2, x=F32(-1)))
    assert loop.first is not None and loop.first.iteration == 5


def test_a_recording_that_was_cut_off() -> None:
    found, loop = diff(stream(10), stream(10)[:4])
    assert found.same and loop.right_trips is None and loop.iterations == 3


def nested(inner_trips: Sequence[int]) -> list[Boundary]:
    made: list[Boundary] = []
    for outer in stream(len(inner_trips), loop="main ▸ o"):
        made.append(outer)
        if outer.ended is None:
            made += stream(inner_trips[outer.iteration], loop="main ▸ o ▸ l", entry=(outer.iteration,))
    return made


NEST = (LoopInfo("main ▸ o", "o", (LoopInfo("main ▸ o ▸ l", "l"),)),)


def test_nested_loops_are_compared_entry_by_entry() -> None:
    left, right = Stream(nested([2, 3, 1]), loops=NEST), Stream(nested([2, 5, 2]), loops=NEST)
    found = compare_sides(left, right, Options())
    outer, inner = found.loops
    assert outer.same and outer.iterations == 3
    assert inner.trips is not None
    assert (inner.trips.entry, inner.trips.left, inner.trips.right, inner.trips.entries) == ((1,), 3, 5, 2)
    assert inner.iterations == 6 and inner.unmatched == 3
    assert compare_sides(left, left, Options()).same


def test_a_loop_that_one_side_alone_enters() -> None:
    whole = nested([2, 2])
    without = [b for b in whole if b.entry != (0,)]
    found = compare_sides(Stream(whole, loops=NEST), Stream(without, loops=NEST), Options())
    assert found.loops[0].same and found.loops[1].unmatched == 3 and found.loops[1].iterations == 2


def test_the_difference_that_comes_first_in_time() -> None:
    left = nested([2, 2])
    right = list(left)
    right[-1] = replace(right[-1], carried={"x": F32(50), "n": right[-1].carried["n"]})
    at = next(k for k, b in enumerate(right) if b.entry == (1,) and b.iteration == 1)
    right[at] = replace(right[at], carried={"x": F32(70), "n": right[at].carried["n"]})
    found = compare_sides(Stream(left, loops=NEST), Stream(right, loops=NEST), Options())
    assert [loop.first is not None for loop in found.loops] == [True, True]
    assert found.first is found.loops[1]


def test_loops_in_another_order() -> None:
    a, b = LoopInfo("main ▸ a", "a"), LoopInfo("main ▸ b", "b")
    first, second = stream(3, loop="main ▸ a"), stream(4, loop="main ▸ b")
    left = Stream([*first, *second], loops=(a, b))
    right = Stream([*second, *changed(first, 2, x=F32(9))], loops=(b, a))
    found = compare_sides(left, right, Options())
    assert [(loop.left, loop.iterations, loop.same) for loop in found.loops] == [
        ("main ▸ a", 3, False),
        ("main ▸ b", 4, True),
    ]


def test_streams_are_read_as_they_come() -> None:
    """Two runs of a hundred thousand iterations; never more than a few boundaries are alive."""
    alive = 0
    most = 0

    class Counted(dict[str, Any]):
        def __init__(self, k: int) -> None:
            nonlocal alive, most
            super().__init__(x=np.float64(k))
            alive += 1
            most = max(most, alive)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    class Long(Stream):
        def boundaries(self) -> Iterator[Boundary]:
            for k in range(20_001):
                yield Boundary("main ▸ l", (), k, None, StoppedBy.CONDITION if k == 20_000 else None, Counted(k))

    found = compare_sides(Long([]), Long([]), Options())
    assert found.same and found.loops[0].iterations == 20_000
    assert most < 10


# ------------------------------------------------------------------ matching


def test_loops_are_matched_by_path_then_name_then_position() -> None:
    left = (
        LoopInfo("main ▸ a", "a"),
        LoopInfo("main ▸ b", "b", (LoopInfo("main ▸ b ▸ i", "i"),)),
        LoopInfo("main ▸ c", "c"),
    )
    right = (
        LoopInfo("main ▸ z", "z"),
        LoopInfo("main ▸ if (then) ▸ b", "b", (LoopInfo("main ▸ b ▸ j", "j"),)),
        LoopInfo("main ▸ c", "c"),
    )
    found = match_loops(left, right, {})
    told = [(p.left.name, p.right.name, p.how) for p in found.pairs]
    assert told == [("a", "z", "position"), ("b", "b", "name"), ("i", "j", "position"), ("c", "c", "path")]
    assert found.in_order and found.pairs[2].around == (found.pairs[1].index,)
    mapped = match_loops(left, right, {"a": "c", "main ▸ c": "z"})
    assert {(p.left.name, p.right.name) for p in mapped.pairs} == {("a", "c"), ("b", "b"), ("c", "z"), ("i", "j")}
    assert not mapped.in_order


def test_names_are_matched_by_position_only_where_type_and_shape_fit() -> None:
    left = {"x": F32([1, 2]), "n": np.int64(1), "h": F32([[1]])}
    right = {"p": np.int64(1), "q": F32([1, 2]), "h": F32([[1]]), "keep": np.True_}
    names = match_names(left, right, {})
    assert list(names) == [("x", "q", "position"), ("n", "p", "position"), ("h", "h", "name")]
    assert names.only_right == ["keep"]
    assert list(match_names({"a": F32(1), "b": F32(2)}, {"b": F32(1), "c": F32(2)}, {"a": "b"})) == [
        ("a", "b", "given"),
        ("b", "c", "position"),
    ]


def test_every_rule_is_in_the_documentation() -> None:
    text = Path("docs/diff.md").read_text(encoding="utf-8")
    assert not [rule.label for rule in RULES if f"| {rule.label} |" not in text]


# ------------------------------------------------------------------ models

NEWTON = {"a": F32(2), "tol": F32(1e-6)}


def side(model: loopdbg.Model, **inputs: Any) -> ModelSide:
    return ModelSide(model, inputs)


def test_a_model_and_itself() -> None:
    model = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    found = compare_sides(side(model, **NEWTON), side(model, **NEWTON), Options())
    assert found.same and found.compared_outputs == 2 and found.loops[0].iterations == 5


def halved(path: Path) -> Path:
    """newton_sqrt with a wrong constant: 0.5 became 0.49."""
    proto = onnx.load(SAMPLES / "newton_sqrt.onnx")
    graphs = [proto.graph, *(a.g for node in proto.graph.node for a in node.attribute if a.name == "body")]
    (half,) = [t for g in graphs for t in g.initializer if onnx.numpy_helper.to_array(t).tolist() == 0.5]
    half.CopyFrom(onnx.numpy_helper.from_array(np.array(0.49, np.float32), half.name))
    onnx.save(proto, path)
    return path


def test_a_changed_constant_is_named(tmp_path: Path) -> None:
    right = loopdbg.load(halved(tmp_path / "newton_sqrt.onnx"))
    left = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    found = compare_sides(side(left, **NEWTON), side(right, **NEWTON), Options())
    (loop,) = found.loops
    assert loop.first is not None and loop.first.iteration == 0
    assert loop.node is None and loop.cause is not None and loop.cause.source is not None
    source = loop.cause.source
    assert (source.role, source.name) == ("constant", "one_half")
    assert source.left == 0.5 and source.right == pytest.approx(0.49)
    (constant,) = found.written
    assert (constant.kind, constant.name, constant.place) == ("constant", "one_half", "main ▸ sqrt")
    assert found.outputs


def test_a_difference_in_an_inner_loop() -> None:
    left = models.model(models.NESTED)
    right = models.model(models.NESTED.replace("product = Mul (i, j)", "product = Add (i, j)"))
    given = {"M": np.int64(3), "K": np.int64(2)}
    found = compare_sides(side(left, **given), side(right, **given), Options())
    first = found.first
    assert first is not None and first.first is not None and first.node is not None
    assert first.left.count("▸") == 2
    # 0 * 0 and 0 + 0 are the same; 0 * 1 and 0 + 1 are not.
    assert (first.first.entry, first.first.iteration, first.node.name) == ((0,), 1, "product")
    assert dict(first.node.inputs)["j"] == 1 and dict(first.node.inputs)["i"] == 0


def test_an_ir_against_its_onnx_source(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    for name in ("newton_sqrt", "greedy_decoder", "two_layer_lstm", "mandelbrot"):
        source = SAMPLES / f"{name}.onnx"
        openvino.save_model(openvino.Core().read_model(source), tmp_path / f"{name}.xml", compress_to_fp16=False)
        with np.load(source.with_suffix(".inputs.npz")) as archive:
            given = dict(archive)
        left, right = loopdbg.load(source), loopdbg.load(tmp_path / f"{name}.xml")
        found = compare_sides(ModelSide(left, given), ModelSide(right, given), Options())
        assert found.same, (name, found)
        assert found.compared_outputs and all(loop.iterations for loop in found.loops)
        assert not [loop.only_left for loop in found.loops if loop.only_left], name


# ------------------------------------------------------------------ the command line


def test_the_command_for_two_models(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = SAMPLES / "newton_sqrt.onnx"
    ran = command(capsys, "diff", source, source)
    assert ran.status == 0 and ran.out.startswith("same: ") and "5 iterations compared" in ran.out
    wrong = halved(tmp_path / "wrong.onnx")
    ran = command(capsys, "diff", source, wrong)
    assert ran.status == 6
    lines = ran.out.splitlines()
    assert lines[0] == "differ: newton_sqrt.onnx and wrong.onnx"
    assert lines[1:3] == [
        "    written otherwise:",
        "      loop 'main ▸ sqrt': constant 'one_half', which the condition depends on",
    ]
    assert "first difference: loop 'main ▸ sqrt', iteration 0, carried value 'x'" in ran.out
    assert "it comes from the constant 'one_half'" in ran.out and "one_half = 0.49" in ran.out
    assert "both ended by the condition after 5 iterations" in ran.out and "growth " in ran.out
    # The first screen tells it all.
    assert len(lines) < 40
    assert command(capsys, "diff", source, wrong, "--rtol", "10", "--max-iterations", "1").status == 0
    assert command(capsys, "diff", source, wrong, "--loop", "sqrt").status == 6


def test_the_json_of_two_models(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = command(capsys, "diff", SAMPLES / "newton_sqrt.onnx", halved(tmp_path / "wrong.onnx"), "--json")
    assert ran.status == 6
    told = json.loads(ran.out)
    assert told["same"] is False and told["right"] == "wrong.onnx"
    assert told["first"]["left_name"] == "x" and told["first"]["iteration"] == 0
    (loop,) = told["comparisons"][0]["loops"]
    assert loop["node"] is None and (loop["source"]["role"], loop["source"]["left_name"]) == ("constant", "one_half")
    assert loop["source"]["left"] == {"shape": [], "dtype": "float32", "value": 0.5}
    (constant,) = told["comparisons"][0]["written"]
    assert constant["kind"] == "constant" and constant["left"]["value"] == 0.5
    assert loop["trip_difference"] is None and loop["trip_count"] == {"left": 5, "right": 5}
    assert loop["growth"]["first_beyond"] == 0 and loop["growth"]["points"][0][:2] == [0, 0]
    two = [
        save(tmp_path, models.COUNT.replace("Less (v_out", f"{op} (v_out"), f"{op}.onnx")
        for op in ("Less", "LessOrEqual")
    ]
    given = [word for one in ("M=9", "cond=true", "v0=0", "bound=4") for word in ("--input", one)]
    told = json.loads(command(capsys, "diff", *two, *given, "--json").out)
    trips = told["comparisons"][0]["loops"][0]["trip_difference"]
    assert (trips["left"], trips["right"], trips["left_ended"]) == (4, 5, "condition")
    same = json.loads(command(capsys, "diff", SAMPLES / "counter.onnx", SAMPLES / "counter.onnx", "--json").out)
    assert same["same"] is True and same["first"] is None


def test_other_names_of_inputs_and_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    left = save(tmp_path, models.SUM, "left.onnx")
    renamed = models.SUM.replace("v0", "start").replace("v_in", "before").replace("v_out", "after")
    right = save(tmp_path, renamed, "right.onnx")
    given = ("--input", "M=4", "--input", "v0=1.5")
    ran = command(capsys, "diff", left, right, *given)
    assert ran.status == 0 and "matched: v_in and before (structure)" in ran.out
    ran = command(capsys, "diff", left, right, *given, "--map", "v_in=before", "--map", "v0=start")
    assert ran.status == 0 and "matched: v_in and before (--map)" in ran.out


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (["newton_sqrt.onnx"], 2, "diff needs two things to compare"),
        (["newton_sqrt.onnx", "counter.onnx", "--against", "onnxruntime"], 2, "leave out"),
        (["newton_sqrt.onnx", "--against", "tensorrt"], 2, "invalid choice: 'tensorrt'"),
        (["newton_sqrt.onnx", "newton_sqrt.onnx", "--free"], 2, "--free is about a live peer"),
        (["newton_sqrt.onnx", "newton_sqrt.onnx", "--timeout", "3"], 2, "--timeout is about a live peer"),
        (["newton_sqrt.onnx", "newton_sqrt.onnx", "--rtol", "-1"], 2, "'-1' is no number from 0 on"),
        (["newton_sqrt.onnx", "newton_sqrt.onnx", "--rtol", "nan"], 2, "no number from 0 on"),
        (["newton_sqrt.onnx", "newton_sqrt.onnx", "--map", "x"], 2, "--map x: expected A=B"),
        (
            ["newton_sqrt.onnx", "newton_sqrt.onnx", "--loop", "nope"],
            2,
            "there is no loop 'nope' to compare; there are 'main ▸ sqrt'",
        ),
        (["newton_sqrt.onnx", "--against", "onnxruntime", "--map", "a=b"], 2, "--map is for two models"),
        (["newton_sqrt.onnx", "--against", "onnxruntime", "--loop", "nope"], 2, "there is no loop 'nope'"),
        (["newton_sqrt.onnx", "--against", "onnxruntime", "--timeout", "0"], 2, "more than 0 seconds"),
        (
            ["loop_for.xml", "--against", "onnxruntime"],
            2,
            "onnxruntime cannot read loop_for.xml; compare with openvino",
        ),
        (["newton_sqrt.onnx", "nowhere.onnx"], 1, "nowhere.onnx: no such file"),
        (["newton_sqrt.onnx", "counter.onnx"], 1, "newton_sqrt.onnx: input 'max_trips' (int64[]) is missing"),
        (["loop_infinite.xml", "loop_infinite.xml"], 4, "it would never end"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, why: str
) -> None:
    words = [SAMPLES / word if word.endswith((".onnx", ".xml")) else word for word in arguments]
    ran = command(capsys, "diff", *words)
    assert ran.status == status
    told = ran.err.splitlines()[-1]
    assert why in told and "Traceback" not in ran.err and ran.out == ""


def test_an_endless_loop_is_compared_as_far_as_asked(capsys: pytest.CaptureFixture[str]) -> None:
    ran = command(capsys, "diff", SAMPLES / "loop_infinite.xml", SAMPLES / "loop_infinite.xml", "--max-iterations", "7")
    assert ran.status == 0 and "7 iterations compared" in ran.out and "the limit that was set" in ran.out


def test_nothing_to_compare_is_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    left = save(tmp_path, "g (float x) => (float y) { y = Neg (x) }", "left.onnx")
    right = save(
        tmp_path,
        "g (float x) => (float[2] z) { z = Expand (x, s) s = Identity (x) }".replace(
            "z = Expand (x, s) s = Identity (x)", "s = Constant <value = int64[1] {2}> () z = Expand (x, s)"
        ),
        "right.onnx",
    )
    ran = command(capsys, "diff", left, right, "--input", "x=1")
    assert ran.status == 1 and "nothing could be compared" in ran.err


# ------------------------------------------------------------------ traces


def recorded(capsys: pytest.CaptureFixture[str], path: Path, *arguments: object) -> Path:
    assert command(capsys, "run", *arguments, "--record", path).status == 0
    return path


def test_a_model_and_a_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = SAMPLES / "newton_sqrt.onnx"
    trace = recorded(capsys, tmp_path / "run.loopdb", source, "--input", "a=3", "--input", "tol=1e-6")
    # The run is repeated with the inputs of the trace, not with those beside the model.
    ran = command(capsys, "diff", source, trace)
    assert ran.status == 0 and ran.out.startswith("same: newton_sqrt.onnx and ") and "2 outputs the same" in ran.out
    assert command(capsys, "diff", trace, source).status == 0
    wrong = halved(tmp_path / "wrong.onnx")
    ran = command(capsys, "diff", trace, wrong)
    assert ran.status == 6 and "iteration 0, carried value 'x'" in ran.out and "first node" not in ran.out
    # What the recording lacks is not guessed at: the constant is known, and the nodes' results are not.
    assert "it can be followed back to 'x_new'" in ran.out and "is not known on both sides" in ran.out
    assert "constant 'one_half'" in ran.out and "it comes from" not in ran.out
    nodes = recorded(capsys, tmp_path / "nodes.loopdb", source, "--record-nodes")
    ran = command(capsys, "diff", nodes, wrong)
    assert ran.status == 6 and "it comes from the constant 'one_half'" in ran.out
    ran = command(capsys, "diff", wrong, nodes)
    assert ran.status == 6 and "it comes from the constant 'one_half'" in ran.out


def test_two_traces(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = SAMPLES / "counter.onnx"
    one = recorded(capsys, tmp_path / "one.loopdb", source)
    other = recorded(capsys, tmp_path / "other.loopdb", source, "--every", "3")
    few = recorded(capsys, tmp_path / "few.loopdb", source, "--input", "max_trips=4")
    assert command(capsys, "diff", one, one).status == 0
    ran = command(capsys, "diff", one, other)
    assert ran.status == 0 and "on one side alone" in ran.out
    ran = command(capsys, "diff", one, few)
    assert (
        ran.status == 6
        and "one.loopdb 7 (ended by the condition)" in ran.out
        and "few.loopdb 4 (ended by the trip count)" in ran.out
    )
    for words, why in (
        ((one, other, "--input", "start=1"), "is a trace, which has its inputs"),
        ((one, other, "--max-iterations", "3"), "nothing is run"),
        ((one, "--against", "onnxruntime"), "a peer can run a model only"),
    ):
        ran = command(capsys, "diff", *words)
        assert ran.status == 2 and why in ran.complaint


def test_a_nested_loop_and_its_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = SAMPLES / "loop_nested.xml"
    trace = recorded(capsys, tmp_path / "run.loopdb", source)
    ran = command(capsys, "diff", source, trace)
    assert ran.status == 0 and "36 iterations compared" in ran.out


def test_a_file_that_is_no_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x.loopdb").write_bytes(b"SQLite format 3\x00" + bytes(100))
    ran = command(capsys, "diff", SAMPLES / "counter.onnx", tmp_path / "x.loopdb")
    assert ran.status == 1 and "no trace" in ran.complaint


def test_an_output_with_room_for_more_is_compared_as_far_as_both_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "newton.py"
    assert command(capsys, "convert", SAMPLES / "newton_sqrt.onnx", script, "--longest", 20).status == 0
    ran = command(capsys, "diff", SAMPLES / "newton_sqrt.onnx", script, "--input", "a=2", "--input", "tol=1e-6")
    assert ran.status == 0
    assert ran.out.startswith("same")
    assert "the output 'xs' of newton.py is padded to 20, and newton_sqrt.onnx has 5: the first 5 are compared" in (
        " ".join((ran.out + ran.err).split())
    )
    # The recurrence that brings the condition to kWHILE is the condition of the model.
    assert "matched: keep and condition (condition)" in ran.out and "only in" not in ran.out
    ran = command(capsys, "diff", script, SAMPLES / "newton_sqrt.onnx", "--input", "a=2", "--input", "tol=1e-6")
    assert ran.status == 0 and "matched: condition and keep (condition)" in ran.out and "only in" not in ran.out
    # Room is no reason to pass over what differs.
    script.write_text(
        script.read_text(encoding="utf-8").replace(
            "(half, half_q, trt.ElementWiseOperation.SUM)", "(half, half, trt.ElementWiseOperation.SUM)"
        )
    )
    ran = command(capsys, "diff", SAMPLES / "newton_sqrt.onnx", script, "--input", "a=2", "--input", "tol=1e-6")
    assert ran.status == 6
    assert ran.out.startswith("differ")


@pytest.mark.parametrize(
    "name", ["loop_while.xml", "loop_for_condition.xml", "loop_slice_concat.xml", "fibonacci.onnx"]
)
def test_a_converted_model_is_the_same_and_not_written_otherwise(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "converted.py"
    assert command(capsys, "convert", SAMPLES / name, script, "--longest", 20).status == 0
    ran = command(capsys, "diff", SAMPLES / name, script)
    assert ran.status == 0
    assert "written otherwise" not in ran.out
