"""Spaces of inputs: draws and mutations fit the signature, edge cases are among them, shrinking ends at a minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.input_space.shrink import shrink, simpler_inputs
from loopdbg.debugger.input_space.space import MAX_TRIP_COUNT, InputSpace
from text_models import COUNT, model

SHAPES = "g (float[N] x, float[N,2] y, int64[3] k) => (float[N] z) { z = Abs (x) }"
SEQUENCES = """g (seq(float[N]) s, optional(int64) o, int64 M) => (int64 n) { n = SequenceLength (s) }"""


def samples(space: InputSpace, count: int = 300) -> list[dict[str, Any]]:
    random = np.random.default_rng(1)
    drawn = [space.draw(random, [7, 0.5]) for _ in range(count)]
    mutated = [space.mutate(inputs, random, [7, 0.5], drawn[0]) for inputs in drawn]
    return [*drawn, *mutated, *space.edge_cases()]


@pytest.mark.parametrize("text", [SHAPES, SEQUENCES, COUNT])
def test_inputs_fit_the_signature(text: str) -> None:
    source = model(text)
    space = InputSpace(source)
    for inputs in samples(space):
        source.check(inputs)
        assert space.admits(inputs)


def test_named_dimensions_are_shared_and_may_be_empty() -> None:
    sizes = {(len(inputs["x"]), len(inputs["y"])) for inputs in samples(InputSpace(model(SHAPES)))}
    assert all(left == right for left, right in sizes)
    assert {(0, 0), (1, 1), (2, 2)} <= sizes


def test_trip_counts_are_edge_cases_and_end() -> None:
    space = InputSpace(model(COUNT))
    counts = {int(inputs["M"]) for inputs in samples(space)}
    assert {-1, 0, 1, 2, MAX_TRIP_COUNT} <= counts and max(counts) == MAX_TRIP_COUNT
    assert {bool(inputs["cond"]) for inputs in samples(space)} == {False, True}


def test_elements_are_edge_cases() -> None:
    values = np.concatenate([inputs["x"] for inputs in samples(InputSpace(model(SHAPES)))])
    assert np.isnan(values).any() and np.isinf(values).any() and (values < 0).any()
    assert (np.signbit(values) & (values == 0)).any()
    assert np.finfo(np.float32).max in values


def test_the_same_seed_draws_the_same() -> None:
    space = InputSpace(model(SEQUENCES))
    first, second = (repr([space.draw(np.random.default_rng(k)) for k in range(20)]) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("constraint", "holds"),
    [
        ("x sorted", lambda x: (np.diff(x) >= 0).all()),
        ("x finite", lambda x: np.isfinite(x).all()),
        ("x in -1..2", lambda x: ((x >= -1) & (x <= 2)).all()),
        ("x sum 1", lambda x: not x.size or abs(x.sum() - 1) < 1e-5),
        ("all(x < 3)", lambda x: (x < 3).all()),
    ],
)
def test_constraints_hold(constraint: str, holds: Any) -> None:
    constraints = ["x finite", constraint] if "sorted" in constraint else [constraint]
    space = InputSpace(model(SHAPES), constraints=constraints)
    admitted = [inputs["x"] for inputs in samples(space) if space.admits(inputs)]
    assert len(admitted) > 50
    assert all(holds(x) for x in admitted)


def test_unique_elements() -> None:
    space = InputSpace(model(SHAPES), constraints=["k unique", "k in 0..9"])
    assert all(len(set(inputs["k"].tolist())) == 3 for inputs in samples(space) if (inputs["k"] < 8).all())


def test_sizes() -> None:
    assert {len(i["x"]) for i in samples(InputSpace(model(SHAPES), ["N=3..4"]))} == {3, 4}
    assert {len(i["x"]) for i in samples(InputSpace(model(SHAPES), ["N=6"]))} == {6}


@pytest.mark.parametrize(
    ("dims", "constraints", "name"),
    [
        (["N"], [], "N"),
        (["n=3"], [], "n"),
        ([], ["z sorted"], "z"),
        ([], ["x in 2..1"], "x in 2..1"),
        ([], ["x +"], "x +"),
        ([], ["all(q > 0)"], "q"),
    ],
)
def test_wrong_settings(dims: list[str], constraints: list[str], name: str) -> None:
    with pytest.raises(loopdbg.LoopdbgError) as caught:
        InputSpace(model(SHAPES), dims, constraints)
    assert caught.value.name == name
    assert "\n" not in str(caught.value)


def test_shrinking_ends_at_a_minimum() -> None:
    space = InputSpace(model(SHAPES))
    random = np.random.default_rng(0)

    def fails(inputs: dict[str, Any]) -> bool:
        return len(inputs["x"]) > 1 and bool(inputs["x"].max() > 1.25) and bool((inputs["k"] == inputs["k"][0]).all())

    failing = next(inputs for inputs in (space.draw(random) for _ in range(10_000)) if fails(inputs))
    smallest, is_minimal, _ = shrink(space, failing, fails)
    assert is_minimal and fails(smallest)
    assert not any(fails(step) for step in simpler_inputs(space, smallest))
    assert (smallest["x"].tolist(), smallest["y"].tolist(), smallest["k"].tolist()) == ([0, 2], [[0, 0]] * 2, [0, 0, 0])


def test_a_large_tensor_shrinks_to_single_elements() -> None:
    space = InputSpace(model("g (float[40,25] x) => (float[40,25] y) { y = Neg (x) }"))
    inputs = {"x": np.arange(1000, dtype=np.float32).reshape(40, 25) - 500}

    def fails(values: dict[str, Any]) -> bool:
        return bool(values["x"][3, 7] < -2.5) and bool(values["x"][28, 1] > 1)

    smallest, is_minimal, tests = shrink(space, inputs, fails)
    assert is_minimal and tests < 200
    assert np.argwhere(smallest["x"]).tolist() == [[3, 7], [28, 1]]
    assert (smallest["x"][3, 7], smallest["x"][28, 1]) == (-3, 2)
    assert not any(fails(step) for step in simpler_inputs(space, smallest))


def test_texts_shrink() -> None:
    space = InputSpace(model("g (string[3] x) => (string[3] y) { y = Identity (x) }"))
    inputs = {"x": np.array(["b", "a b", "xyz"], object)}
    smallest, is_minimal, _ = shrink(space, inputs, lambda values: len(values["x"][1]) > 1 and values["x"][2] != "")
    assert is_minimal and smallest["x"].tolist() == ["", " b", "a"]


def test_sequences_and_optionals_shrink() -> None:
    space = InputSpace(model(SEQUENCES))
    inputs = {"s": [np.ones(3, np.float32)] * 3, "o": np.array(5), "M": np.array(4)}
    smallest, is_minimal, _ = shrink(space, inputs, lambda values: len(values["s"]) > 1)
    assert is_minimal
    assert [item.shape for item in smallest["s"]] == [(0,), (0,)]
    assert smallest["o"] is None and smallest["M"] == 0


def test_a_budget_ends_the_search() -> None:
    space = InputSpace(model(SHAPES))
    inputs = next(iter(space.edge_cases()))
    _, is_minimal, tests = shrink(space, inputs, lambda _: True, max_tests=1)
    assert (is_minimal, tests) == (False, 1)
