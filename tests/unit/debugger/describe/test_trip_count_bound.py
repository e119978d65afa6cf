"""Trip counts before a run: exact numbers, bounds and loops that cannot end, each against a run or known by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bound_checks
from cli_runner import run_cli, save_text_model
from loopdbg.debugger.describe.node_text import NodeFormatter
from loopdbg.debugger.describe.trip_count_bound import TripCountBound, iterations_text, trip_count_bound
from loopdbg.runtime.graph import StoppedBy, Value
from loopdbg.runtime.graph.producers import ProducerMap
from loopdbg.runtime.model import Model
from text_models import SAMPLES, model, sample

#: A run beyond is no test any more.
LIMIT = 40_000
#: A case of a campaign for each kind, of 2 000 in ``campaign.py bounds``.
CAMPAIGN_CASES = 60


def counter_text(
    kind: str, start: object, update: str, condition: str, trips: str = "", inputs: str = "", before: str = ""
) -> str:
    """A loop that carries ``c``, whose next value is ``n``; ``d`` and ``l`` are written by ``before`` of the body."""
    return f"""g ({inputs}) => ({kind} y) {{
        t = Constant <value = bool {{1}}> () s = Constant <value = {kind} {{{start}}}> () {before}
        y = Loop <body: graph = b (int64 i, bool ci, {kind} c) => (bool co, {kind} n) {{ {update} {condition} }}>
            ({trips}, t, s)
    }}"""


def constant(name: str, kind: str, number: object) -> str:
    return f"{name} = Constant <value = {kind} {{{number}}}> () "


def counter(
    kind: str, start: object, step: object, operator: str, limit: object, left: str = "n", trips: str = ""
) -> str:
    """``for (c = start; left OPERATOR limit; c += step)``, tested after an iteration."""
    update = f"{constant('d', kind, step)} n = Add (c, d)"
    before = constant("m", "int64", trips) if trips else ""
    condition = f"{constant('l', kind, limit)} co = {operator} ({left}, l)"
    return counter_text(kind, start, update, condition, "m" if trips else "", before=before)


def compared(kind: str, operator: str, limit: object) -> str:
    return f"{constant('l', kind, limit)} co = {operator} (n, l)"


def steps(*updates: str, kind: str = "float", start: object = 1.0, condition: str, trips: str = "") -> str:
    """A loop whose carried value changes in another way."""
    before = constant("m", "int64", trips) if trips else ""
    return counter_text(kind, start, " ".join(updates), condition, "m" if trips else "", before=before)


def only_bound(text: str) -> tuple[Model, TripCountBound]:
    loaded = model(text)
    return loaded, trip_count_bound(loaded.loops[0].loop, ProducerMap.for_graph(loaded.graph))


def text_of(loaded: Model) -> str:
    return iterations_text(loaded.loops[0].loop, NodeFormatter(ProducerMap.for_graph(loaded.graph)))


#: Loops of constants, each with its number of iterations.
EXACT = [
    (counter("int64", 0, 3, "Less", 10), 4),
    (counter("int64", 0, 3, "LessOrEqual", 9), 4),
    (counter("int64", 0, 3, "Less", 10, left="c"), 5),
    (counter("int64", 0, 1, "Less", 100), 100),
    (counter("int64", 5, 1, "Less", 5), 1),
    (counter("int64", 50, 1, "Less", 5), 1),
    (counter("int64", 20, -3, "Greater", 1), 7),
    (counter("int64", 20, -1, "GreaterOrEqual", 0), 21),
    (counter("int32", -7, 2, "LessOrEqual", 7), 8),
    (counter("int64", 7, 7, "Less", 50), 7),
    (counter("int32", 100, -9, "GreaterOrEqual", 10), 11),
    (counter("int64", 0, 2, "Less", 10, left="i"), 11),
    (counter("int64", 3, 0, "Equal", 4), 1),
    (counter("int64", 3, 1, "Equal", 4), 2),
    (counter("int8", 0, 3, "Greater", -5), 43),
    (counter("uint8", 250, 1, "Greater", 3), 6),
    (counter("int16", 32000, 5, "Greater", 0), 154),
    (counter("int64", 0, 1, "Less", 100, trips="7"), 7),
    (counter("int64", 0, 1, "Less", 100, trips="1000"), 100),
    (counter("int64", 0, 1, "Less", 100, trips="-3"), 0),
    (counter("int64", 0, 1, "GreaterOrEqual", 0, trips="12"), 12),
    (counter("float", 0.0, 0.1, "Less", 1.0), 10),
    (counter("double", 0.0, 0.1, "Less", 1.0), 11),
    (counter("float", 10.0, -2.5, "Greater", 0.0), 4),
    (steps("n = Mul (c, c)", start=1.5, condition=compared("float", "Less", 100.0)), 4),
    (steps(constant("d", "float", 0.5), "n = Mul (c, d)", condition=compared("float", "Greater", 0.0)), 150),
    (steps("n = Sqrt (c)", start=2.0, condition=compared("float", "Greater", 1.0)), 23),
    (
        steps(
            constant("d", "int64", 2), "n = Div (c, d)", kind="int64", start=1000,
            condition=compared("int64", "Greater", 0),
        ),
        10,
    ),
    (
        steps(
            constant("d", "int64", 3), "n = Mul (c, d)", kind="int64", start=1,
            condition=compared("int64", "Greater", 0),
        ),
        40,
    ),
    (
        steps(
            constant("d", "int64", 1), "n = Add (c, d)", constant("a", "int64", 9), constant("b", "int64", 5),
            "p = Less (n, a) q = Less (n, b)", kind="int64", start=0, condition="co = And (p, q)",
        ),
        5,
    ),
    (
        steps(
            constant("d", "int64", 1), "n = Add (c, d)", constant("a", "int64", 9), constant("b", "int64", 5),
            "p = Less (n, a) q = Less (n, b)", kind="int64", start=0, condition="co = Or (p, q)",
        ),
        9,
    ),
    (
        steps(
            constant("d", "int64", 1), "n = Add (c, d)", constant("a", "int64", 6), "p = Equal (n, a)",
            kind="int64", start=0, condition="co = Not (p)",
        ),
        6,
    ),
]  # fmt: skip

#: Loops of constants that nothing ends.
ENDLESS = [
    counter("uint8", 0, 1, "GreaterOrEqual", 0),
    counter("int64", 0, 2, "Equal", 0, left="s"),
    steps(
        constant("d", "int64", 2), "n = Add (c, d)", constant("a", "int64", 7), "p = Equal (n, a)",
        kind="int64", start=0, condition="co = Not (p)",
    ),
    counter("float", 0.0, 1.0, "Less", 1e9),
    counter("float", 0.0, 1.0, "LessOrEqual", 16777216.0),
    counter("float", 0.0, -0.5, "Greater", -1e8),
    counter("double", 0.0, 1.0, "Less", 1e17),
    steps("n = Neg (c)", condition=compared("float", "Less", 2.0)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "iterations"), EXACT)
def test_loop_of_constants_has_its_exact_number(text: str, iterations: int) -> None:
    loaded, bound = only_bound(text)
    assert (bound.maximum, bound.is_exact, bound.cannot_end) == (iterations, True, False)
    assert loaded.execute({}, max_iterations=LIMIT).loops[0].iterations == iterations


@pytest.mark.parametrize("text", ENDLESS)
def test_loop_that_nothing_ends_cannot_end(text: str) -> None:
    loaded, bound = only_bound(text)
    assert bound.cannot_end and bound.maximum is None
    assert text_of(loaded).startswith("cannot end: ")
    assert loaded.execute({}, max_iterations=LIMIT).stopped_by is StoppedBy.LIMIT


def test_float_counter_that_moves_is_not_endless() -> None:
    """Just below the numbers from which on the step is lost."""
    _, bound = only_bound(counter("float", 0.0, 1.0, "Less", 16777216.0))
    assert not bound.cannot_end


def inputs_of(loaded: Model, **feeds: Any) -> dict[Value, Any]:
    return {value: np.asarray(feeds[value.name]) for value in loaded.graph.inputs}


COUNT_TO_N = counter_text(
    "int64", 0, f"{constant('d', 'int64', 3)} n = Add (c, d)", "co = Less (n, N)", inputs="int64 N"
)
HALF = counter_text(
    "float", 2.0, "n = Div (c, e)", "co = Greater (n, e)", "m", "int64 N, float e",
    f"{constant('two', 'int64', 2)} m = Div (N, two)",
)  # fmt: skip


@pytest.mark.parametrize("n", [-5, 0, 1, 3, 4, 100])
def test_symbolic_number_is_exact_for_inputs(n: int) -> None:
    loaded, bound = only_bound(COUNT_TO_N)
    assert (bound.maximum, bound.text) == (None, "max(ceil(N / 3), 1)")
    known = bound.evaluate(inputs_of(loaded, N=n))
    assert known.is_exact and known.maximum == loaded.execute({"N": n}).loops[0].iterations


def test_symbolic_number_knows_where_a_counter_wraps_around() -> None:
    loaded, bound = only_bound(COUNT_TO_N)
    known = bound.evaluate(inputs_of(loaded, N=np.iinfo(np.int64).max))
    # 3 * 3074457345618258603 is beyond int64, which the formula leaves out.
    assert known.maximum != -(-int(np.iinfo(np.int64).max) // 3)
    assert "where no integer overflows" in text_of(loaded)


def test_trip_count_is_an_expression_over_inputs() -> None:
    loaded, bound = only_bound(HALF)
    assert text_of(loaded) == "at most N // 2 (trip count), ends earlier when co = n > e is false"
    known = bound.evaluate(inputs_of(loaded, N=9, e=0.5))
    assert (known.maximum, known.is_exact) == (4, False)


def test_number_of_parts_is_the_length_of_an_axis() -> None:
    loaded, _ = sample("test_loop11.onnx")
    assert trip_count_bound(loaded.loops[0].loop, ProducerMap.for_graph(loaded.graph)).text


def test_bound_by_a_counter_and_an_unknown_part() -> None:
    """The counter bounds the loop, whatever the other part is."""
    text = counter_text(
        "int64",
        0,
        f"{constant('d', 'int64', 1)} n = Add (c, d) {constant('a', 'int64', 100)} p = Less (n, a) q = Less (n, N)",
        "co = And (p, q)",
        inputs="int64 N",
    )
    loaded, bound = only_bound(text)
    assert (bound.maximum, bound.is_exact) == (100, False)
    assert bound.evaluate(inputs_of(loaded, N=5)).maximum == 5


def test_or_with_an_unknown_part_is_no_bound() -> None:
    text = counter_text(
        "int64",
        0,
        f"{constant('d', 'int64', 1)} n = Add (c, d) {constant('a', 'int64', 100)} p = Less (n, a) q = Less (n, N)",
        "co = Or (p, q)",
        inputs="int64 N",
    )
    _, bound = only_bound(text)
    assert bound.maximum is None and not bound.cannot_end and not bound.text


@pytest.mark.parametrize(
    "name", sorted(path.name for path in SAMPLES.glob("*.[ox]*") if path.suffix in (".onnx", ".xml"))
)
def test_bounds_of_sample_models_are_true(name: str) -> None:
    loaded, inputs = sample(name)
    origins = ProducerMap.for_graph(loaded.graph)
    run = loaded.execute(inputs, max_iterations=400)
    values = {value: inputs[value.name] for value in loaded.graph.inputs if value.name in inputs}
    for node in loaded.loops:
        total = next(total for total in run.loops if total.path == node.path)
        bound = trip_count_bound(node.loop, origins)
        for known in (bound, bound.evaluate(values)):
            stopped = total.stopped_by is StoppedBy.LIMIT
            assert bound_checks.contradiction(known, total.iterations, stopped) == ""


def test_random_loops_have_no_false_bound() -> None:
    outcomes = {name: bound_checks.judge_case(name) for name in bound_checks.case_names(range(CAMPAIGN_CASES))}
    assert {name: text for name, text in outcomes.items() if text.startswith("FALSE")} == {}
    assert {"exact", "bound", "endless", "none"} <= set(outcomes.values())


# ------------------------------------------------------------------ the commands


def test_info_and_explain_give_the_number(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save_text_model(tmp_path, counter("int64", 0, 3, "Less", 10))
    (loop,) = json.loads(run_cli(capsys, "info", path, "--json").out)["loops"]
    assert loop["iterations"] == {
        "text": "exactly ceil((10 - 0) / 3) = 4",
        "shown": True,
        "maximum": 4,
        "exact": True,
        "cannot_end": False,
    }
    for command in ("info", "explain"):
        assert "exactly ceil((10 - 0) / 3) = 4" in run_cli(capsys, command, path).out


def test_info_has_no_row_where_the_rule_says_it_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert "  iterations " not in run_cli(capsys, "info", SAMPLES / "fibonacci.onnx").out


def test_convert_needs_no_longest_where_a_bound_is_proven(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = """g () => (int64[n] ys) {
        t = Constant <value = bool {1}> () s = Constant <value = int64 {0}> ()
        y, ys = Loop <body: graph = b (int64 i, bool ci, int64 c) => (bool co, int64 n, int64 n) {
            d = Constant <value = int64 {3}> () l = Constant <value = int64 {10}> ()
            n = Add (c, d) co = Less (n, l)
        }> (, t, s)
    }"""
    path = save_text_model(tmp_path, text)
    result = run_cli(capsys, "convert", path, tmp_path / "network.py")
    assert result.status == 0, result
    result = run_cli(capsys, "diff", path, tmp_path / "network.py")
    assert result.status == 0, result.out
