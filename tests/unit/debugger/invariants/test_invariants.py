"""Invariants of good runs: what is kept is true, says something, and fails where the next export differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from cli_runner import run_cli
from loopdbg.debugger.breakpoints.assertion import read_invariants
from loopdbg.debugger.invariants.api import MinedInvariants, mine_invariants, violations
from loopdbg.testing import assert_invariants
from text_models import SAMPLES, model, sample

NEWTON = SAMPLES / "newton_sqrt.onnx"
#: A counter, a cache that grows by a row, a distribution, and what never changes.
MANY = """
g (int64 M, float[N] p0, float[K,2] cache0, float[3] sorted0, float s0)
    => (float[N] p, float[L,2] cache, float[3] sorted, float s, float s2, int64 n) {
    n0 = Constant <value = int64 {3}> ()
    p, cache, sorted, s, s2, n = Loop <body = many
        (int64 i, bool c, float[N] q, float[J,2] rows, float[3] order, float a, float b, int64 m)
        => (bool keep, float[N] q_out, float[H,2] rows_out, float[3] order_out, float a_out, float b_out, int64 m_out) {
        keep = Identity (c)
        squares = Mul (q, q)
        total = ReduceSum <keepdims = 0> (squares)
        q_out = Div (squares, total)
        row = Constant <value = float[1,2] {1.0, -2.0}> ()
        rows_out = Concat <axis = 0> (rows, row)
        one = Constant <value = float {1}> ()
        order_out = Add (order, one)
        half = Constant <value = float {0.5}> ()
        a_out = Mul (a, half)
        b_out = Mul (b, half)
        two = Constant <value = int64 {2}> ()
        m_out = Add (m, two)
    }> (M, , p0, cache0, sorted0, s0, s0, n0)
}"""


def many_inputs(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    p0 = random.random(4).astype(np.float32)
    return {
        "M": np.int64(4 + seed), "p0": p0 / p0.sum(), "cache0": np.ones((2, 2), np.float32),
        "sorted0": np.sort(random.standard_normal(3)).astype(np.float32), "s0": np.float32(1 + seed),
    }  # fmt: skip


@pytest.fixture(scope="module")
def many() -> MinedInvariants:
    return mine_invariants(model(MANY), [many_inputs(seed) for seed in range(3)])


def texts(mined: MinedInvariants) -> set[str]:
    return {entry.assertion.removesuffix(" in Loop_1") for entry in mined.invariants}


def test_each_kind(many: MinedInvariants) -> None:
    assert {
        "abs(sum(q) - 1) < 0.001",
        "all(q >= 0)",
        "shape(rows) == [iter + 2, 2]",
        "all(order[1:] >= order[:-1])",
        "all(order >= prev(order))",
        "all(a == b)",
        "all(a <= prev(a))",
        "all(abs(a) <= 8)",
        "all(m == 2 * iter + 3)",
        "all(abs(a) < inf)",
    } <= texts(many)
    assert many.runs == 3
    assert all(entry.evidence >= 5 and entry.loop == "main ▸ Loop_1" for entry in many.invariants)


def test_what_is_seldom_seen_is_not_kept() -> None:
    assert mine_invariants(model(MANY), [{**many_inputs(0), "M": np.int64(2)}]).invariants == ()


def test_what_fails_once_is_not_kept() -> None:
    cases = [many_inputs(0), {**many_inputs(1), "s0": np.float32(-1)}]
    mined = texts(mine_invariants(model(MANY), cases))
    assert "all(a > 0)" not in mined and "all(a <= prev(a))" not in mined
    assert "all(m == 2 * iter + 3)" in mined


def test_every_invariant_holds_and_is_tested(many: MinedInvariants) -> None:
    """Each one holds in the runs that it was mined from, by NumPy; and the run of a wrong export breaks some."""
    assertions = [entry.assertion for entry in many.invariants]
    assert list(violations(model(MANY), many_inputs(2), assertions)) == []
    wrong = MANY.replace("m_out = Add (m, two)", "m_out = Sub (m, two)").replace(
        "Div (squares, total)", "Mul (q, total)"
    )
    broken = {text.removesuffix(" in Loop_1") for text, _ in violations(model(wrong), many_inputs(2), assertions)}
    assert {"all(m == 2 * iter + 3)", "abs(sum(q) - 1) < 0.001"} <= broken
    assert "all(a == b)" not in broken


def test_mined_file_checks_the_next_export(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "newton.invariants"
    assert run_cli(capsys, "invariants", NEWTON, "--random", 4, "--max-iterations", 50, "-o", path).status == 0
    assertions = read_invariants(path)
    report = run_cli(capsys, "invariants", NEWTON, "--random", 4, "--max-iterations", 50, "--json")
    assert [entry["assertion"] for entry in json.loads(report.out)["invariants"]] == assertions
    assert "all(err > 0) in `sqrt`" in assertions
    failed = run_cli(capsys, "run", NEWTON, "--input", "a=1e9", "--input", "tol=1", "--assert", f"@{path}")
    assert failed.status == 7


def test_in_a_test_suite(tmp_path: Path) -> None:
    path = tmp_path / "some.invariants"
    path.write_text("x > 0 in sqrt\nx < 1.45 in sqrt\n")
    net, inputs = sample("newton_sqrt.onnx")
    assert_invariants(net, ["x > 0"], inputs)
    with pytest.raises(AssertionError, match=r"x < 1.45 in sqrt is false at main ▸ sqrt, iteration 0"):
        assert_invariants(NEWTON, path, inputs)
    with pytest.raises(loopdbg.UsageError, match="y"):
        assert_invariants(net, ["y > 0"], inputs)


def test_model_without_loops() -> None:
    with pytest.raises(loopdbg.UsageError, match="no loop"):
        mine_invariants(model("g (float x) => (float y) { y = Neg (x) }"), [{"x": np.float32(1)}])


def test_inputs_with_loops_that_do_not_end_are_left_out() -> None:
    net, inputs = sample("newton_sqrt.onnx")
    endless = {**inputs, "tol": np.float32(-1)}
    mined = mine_invariants(net, [inputs, endless])
    assert (mined.runs, mined.endless) == (1, 1)
    with pytest.raises(loopdbg.UsageError, match=r"no run .* ends within 100 iterations"):
        mine_invariants(net, [endless], 100)
