"""Random programs with loops of every format: all execution modes agree with plain NumPy, and with real runtimes.

Many more by hand: ``python tests/fuzz/campaign.py models 10000``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

from differential_testing import DisagreementError, assert_equal
from hypothesis_settings import example_settings
from random_program_checks import check_agreement
from strategies import program_generator, program_oracle
from strategies.draws import SeededChoices
from strategies.numpy_operators import OPERATORS
from strategies.program import Program, ProgramLoop, all_loops

#: Each feature alone, and pairs of related features.
TOGETHER = (
    *((name,) for name in program_generator.FEATURES),
    ("growing", "delayed", "direct"),
    ("nested", "growing", "rows"),
    ("hot", "products", "condition", "direct"),
    ("strings", "direct", "nested"),
    ("openvino", "direct", "growing", "nested"),
    ("scan", "growing", "failing"),
)


@pytest.mark.parametrize("features", TOGETHER, ids="-".join)
@example_settings(8, suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(0, 1 << 30))
def test_random_programs_agree_in_all_modes(features: Collection[str], data: st.DataObject, walk: int) -> None:
    program, feeds, other = data.draw(program_generator.program_cases(features))
    event(check_agreement(program, feeds, other, SeededChoices(walk)))


# -- the tests' own tools


def _programs(features: Collection[str], count: int) -> list[Program]:
    return [program_generator.draw_program(SeededChoices(f"tools {n}"), features) for n in range(count)]


def _generate_loops(features: Collection[str], count: int = 60) -> list[ProgramLoop]:
    return [loop for program in _programs(features, count) for loop in all_loops(program.body)]


def test_generator_produces_its_features() -> None:
    delayed = [
        (c, other)
        for loop in _generate_loops(["growing", "delayed"])
        for c in loop.carried
        for other in loop.carried
        if c is not other and c.result is other.param and other.result is not other.param
    ]
    assert len(delayed) > 20
    direct = _generate_loops(["direct"])
    assert sum(c.result in loop.params for loop in direct for c in loop.carried) > 20
    assert sum(s.result in loop.params for loop in direct for s in loop.scanned) > 20
    carried_on = [
        loop for loop in _generate_loops(["condition"]) if any(c.result is loop.condition for c in loop.carried)
    ]
    assert carried_on and any(loop.initial is None for loop in carried_on)
    assert {loop.kind for loop in _generate_loops(["openvino"]) + _generate_loops(["scan"])} == {
        "Loop",
        "Loop-5",
        "TensorIterator",
        "Scan",
    }
    assert sum(any(n.operator in ("MatMul", "Gemm") for n in loop.body.nodes if hasattr(n, "operator"))
               for loop in _generate_loops(["hot", "products"])) > 20  # fmt: skip
    assert sum(isinstance(node, ProgramLoop) for loop in _generate_loops(["nested"]) for node in loop.body.nodes) > 20
    assert any(s.result.type.dtype == "str" for loop in _generate_loops(["strings"]) for s in loop.scanned)


def test_oracle_gives_hand_computed_results() -> None:
    """Covers a delayed copy of a growing value, a swap, and a condition that is carried on."""
    from strategies.program import (
        Program,
        ProgramBody,
        ProgramCarriedValue,
        ProgramNode,
        ProgramScanOutput,
        ProgramValue,
        ValueType,
    )

    f, b, i64 = ValueType("float32"), ValueType("bool"), ValueType("int64")
    x, M, yes, bound, p0 = (
        ProgramValue("x", ValueType("float32", (1, 2))),
        ProgramValue("M", i64),
        ProgramValue("yes", b),
        ProgramValue("k", i64),
        f,
    )
    a, prev, longer = (ProgramValue(name, ValueType("float32", ("d", 2))) for name in ("a", "prev", "longer"))
    i, cond, keep, flag = (
        ProgramValue("i", i64),
        ProgramValue("cond", b),
        ProgramValue("keep", b),
        ProgramValue("flag", b),
    )
    p, q = ProgramValue("p", p0), ProgramValue("q", p0)
    item, two = ProgramValue("one", f), ProgramValue("two", f)
    outputs = [
        ProgramValue(name, t) for name, t in (("a_", a.type), ("prev_", a.type), ("flag_", b), ("p_", f), ("q_", f))
    ]
    body = ProgramBody([ProgramNode("Concat", [a, x], longer), ProgramNode("Less", [i, bound], keep)])
    starts, params, results = (x, x, yes, item, two), (a, prev, flag, p, q), (longer, a, cond, q, p)
    loop = ProgramLoop("Loop", "loop", body, M, None, i, cond, keep)
    loop.carried = [ProgramCarriedValue(*each) for each in zip(starts, params, results, outputs, strict=True)]
    loop.scanned = [ProgramScanOutput(cond, ProgramValue("seen", ValueType("bool", ("n",))))]
    program = Program("onnx", [x, M, yes, bound, item, two], ProgramBody([loop]), [*outputs, loop.scanned[0].output])
    feeds = {"x": np.ones((1, 2), np.float32), "M": 3, "yes": False, "k": 1, "one": np.float32(1), "two": np.float32(2)}
    got = program_oracle.evaluate(program, feeds).outputs
    assert got["a_"].shape == (4, 2) and got["prev_"].shape == (3, 2)
    assert got["p_"] == 2 and got["q_"] == 1
    assert got["seen"].tolist() == [True, True, False] and got["flag_"].tolist() is False
    assert check_agreement(program, {k: np.asarray(v) for k, v in feeds.items()}, feeds, SeededChoices(0)) == "runs"


def _wrong(x: Any) -> Any:
    return x if x.dtype == bool else -x


def test_difference_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle is made wrong: it computes Identity as Neg where that is possible."""
    assert_equal("nothing", {"a": [1, (2, "x")]}, {"a": [1, (2, "x")]})
    with pytest.raises(DisagreementError, match=r"\['a'\]\[1\]: got 2, not 3"):
        assert_equal("numbers", {"a": [1, 2]}, {"a": [1, 3]})
    monkeypatch.setitem(OPERATORS, "Identity", replace(OPERATORS["Identity"], compute=_wrong))
    result = 0
    for n, program in enumerate(_programs(("rows",), 40)):
        try:
            feeds = program_generator.draw_feeds(program, SeededChoices(n))
            check_agreement(program, feeds, feeds, SeededChoices(0), peers=False)
        except DisagreementError:
            result += 1
    assert result > 10
