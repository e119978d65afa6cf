"""Random programs with loops of every system: all ways of running agree with plain NumPy, and with real runtimes.

Many more by hand: ``python tests/campaign.py models 10000``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

from agreement import Differs, same
from examples import tried
from random_programs import agree
from strategies import models, oracle
from strategies.draws import FromSeed
from strategies.operators import OPERATORS
from strategies.programs import Loop, Program, loops

#: Each feature alone, and those that have something to do with each other.
TOGETHER = (
    *((name,) for name in models.FEATURES),
    ("growing", "delayed", "direct"),
    ("nested", "growing", "rows"),
    ("hot", "products", "condition", "direct"),
    ("strings", "direct", "nested"),
    ("openvino", "direct", "growing", "nested"),
    ("scan", "growing", "failing"),
)


@pytest.mark.parametrize("features", TOGETHER, ids="-".join)
@tried(8, suppress_health_check=list(HealthCheck))
@given(st.data(), st.integers(0, 1 << 30))
def test_all_ways_agree(features: Collection[str], data: st.DataObject, walk: int) -> None:
    program, feeds, other = data.draw(models.cases(features))
    event(agree(program, feeds, other, FromSeed(walk)))


# -- the tests' own tools


def _programs(features: Collection[str], count: int) -> list[Program]:
    return [models.program(FromSeed(f"tools {n}"), features) for n in range(count)]


def _made(features: Collection[str], count: int = 60) -> list[Loop]:
    return [loop for program in _programs(features, count) for loop in loops(program.body)]


def test_the_generator_makes_what_features_promise() -> None:
    delayed = [
        (c, other)
        for loop in _made(["growing", "delayed"])
        for c in loop.carried
        for other in loop.carried
        if c is not other and c.result is other.param and other.result is not other.param
    ]
    assert len(delayed) > 20
    direct = _made(["direct"])
    assert sum(c.result in loop.params for loop in direct for c in loop.carried) > 20
    assert sum(s.result in loop.params for loop in direct for s in loop.scanned) > 20
    carried_on = [loop for loop in _made(["condition"]) if any(c.result is loop.condition for c in loop.carried)]
    assert carried_on and any(loop.initial is None for loop in carried_on)
    assert {loop.kind for loop in _made(["openvino"]) + _made(["scan"])} == {"Loop", "Loop-5", "TensorIterator", "Scan"}
    assert sum(any(n.operator in ("MatMul", "Gemm") for n in loop.body.nodes if hasattr(n, "operator"))
               for loop in _made(["hot", "products"])) > 20  # fmt: skip
    assert sum(isinstance(node, Loop) for loop in _made(["nested"]) for node in loop.body.nodes) > 20
    assert any(s.result.type.dtype == "str" for loop in _made(["strings"]) for s in loop.scanned)


def test_the_oracle_knows_what_is_right() -> None:
    """A few numbers by hand: a delayed copy of what grows, an exchange, a condition that is carried on."""
    from strategies.programs import Body, Carried, Node, Program, Scanned, Type, Value

    f, b, i64 = Type("float32"), Type("bool"), Type("int64")
    x, M, yes, bound, p0 = Value("x", Type("float32", (1, 2))), Value("M", i64), Value("yes", b), Value("k", i64), f
    a, prev, longer = (Value(name, Type("float32", ("d", 2))) for name in ("a", "prev", "longer"))
    i, cond, keep, flag = Value("i", i64), Value("cond", b), Value("keep", b), Value("flag", b)
    p, q = Value("p", p0), Value("q", p0)
    one, two = Value("one", f), Value("two", f)
    outputs = [Value(name, t) for name, t in (("a_", a.type), ("prev_", a.type), ("flag_", b), ("p_", f), ("q_", f))]
    body = Body([Node("Concat", [a, x], longer), Node("Less", [i, bound], keep)])
    starts, params, results = (x, x, yes, one, two), (a, prev, flag, p, q), (longer, a, cond, q, p)
    loop = Loop("Loop", "loop", body, M, None, i, cond, keep)
    loop.carried = [Carried(*each) for each in zip(starts, params, results, outputs, strict=True)]
    loop.scanned = [Scanned(cond, Value("seen", Type("bool", ("n",))))]
    program = Program("onnx", [x, M, yes, bound, one, two], Body([loop]), [*outputs, loop.scanned[0].output])
    feeds = {"x": np.ones((1, 2), np.float32), "M": 3, "yes": False, "k": 1, "one": np.float32(1), "two": np.float32(2)}
    got = oracle.evaluate(program, feeds).outputs
    assert got["a_"].shape == (4, 2) and got["prev_"].shape == (3, 2)
    assert got["p_"] == 2 and got["q_"] == 1
    assert got["seen"].tolist() == [True, True, False] and got["flag_"].tolist() is False
    assert agree(program, {k: np.asarray(v) for k, v in feeds.items()}, feeds, FromSeed(0)) == "runs"


def _wrong(x: Any) -> Any:
    return x if x.dtype == bool else -x


def test_a_difference_is_told_from_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle that says something else than the model is seen; here it takes Identity for Neg where that can be."""
    same("nothing", {"a": [1, (2, "x")]}, {"a": [1, (2, "x")]})
    with pytest.raises(Differs, match=r"\['a'\]\[1\]: got 2, not 3"):
        same("numbers", {"a": [1, 2]}, {"a": [1, 3]})
    monkeypatch.setitem(OPERATORS, "Identity", replace(OPERATORS["Identity"], compute=_wrong))
    found = 0
    for n, program in enumerate(_programs(("rows",), 40)):
        try:
            feeds = models.feeds(program, FromSeed(n))
            agree(program, feeds, feeds, FromSeed(0), peers=False)
        except Differs:
            found += 1
    assert found > 10
