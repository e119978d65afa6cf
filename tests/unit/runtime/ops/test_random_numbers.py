"""Operators that draw random numbers: their distributions, and the same numbers whenever an iteration is run again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from engine_state import finish, step, visible_state
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.graph import Operation, System, Value
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.random_source import RandomSource
from loopdbg.runtime.ops.registry import is_random, resolve
from optimizer_access import start_engine
from text_models import model, run

N = 40_000


def draw(op_type: str, *inputs: Any, system: System = System.ONNX, version: int = 22, **attributes: Any) -> Any:
    domain = "" if system is System.ONNX else f"opset{version}"
    values: list[Value | None] = [Value(f"x{k}") for k in range(len(inputs))]
    node = Operation("n", op_type, domain, version, values, [Value("y")], attributes)
    op = resolve(node, system)
    assert op.random
    return op.apply(EagerPrimitives(), [np.asarray(x) for x in inputs], draws=RandomSource("n", (3,)))[0]


@pytest.mark.parametrize(("code", "dtype"), [(1, np.float32), (11, np.float64), (10, np.float16)])
def test_uniform(code: int, dtype: Any) -> None:
    x = draw("RandomUniform", shape=[N], dtype=code, low=-2.0, high=6.0)
    assert x.dtype == dtype
    assert x.shape == (N,)
    assert -2 <= x.min() < -1.99
    assert 5.98 < x.max() < 6
    assert abs(x.astype(float).mean() - 2) < 0.05
    assert abs(x.astype(float).std() - 8 / np.sqrt(12)) < 0.05
    like = draw("RandomUniformLike", np.zeros((3, 5), dtype))
    assert like.dtype == dtype
    assert like.shape == (3, 5)


def test_normal() -> None:
    x = draw("RandomNormal", shape=[200, 200], mean=3.0, scale=2.0)
    assert x.dtype == np.float32
    assert x.shape == (200, 200)
    assert abs(x.mean() - 3) < 0.05
    assert abs(x.std() - 2) < 0.05
    assert abs(((x - 3) / 2) ** 4).mean() == pytest.approx(3, abs=0.2)
    assert draw("RandomNormalLike", np.zeros(4, np.int64), dtype=11).dtype == np.float64


def test_bernoulli() -> None:
    x = draw("Bernoulli", np.full(N, 0.25), dtype=7)
    assert x.dtype == np.int64
    assert set(np.unique(x)) == {0, 1}
    assert abs(x.mean() - 0.25) < 0.01
    assert draw("Bernoulli", np.array([0.0, 1.0])).tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="from 0 to 1"):
        draw("Bernoulli", np.array([1.5]))


def test_multinomial() -> None:
    logs = np.log(np.float32([[1, 2, 5], [4, 0.0001, 4]])) + 7
    x = draw("Multinomial", logs, sample_size=N, dtype=7)
    assert x.dtype == np.int64
    assert x.shape == (2, N)
    np.testing.assert_allclose(np.bincount(x[0], minlength=3) / N, [0.125, 0.25, 0.625], atol=0.01)
    np.testing.assert_allclose(np.bincount(x[1], minlength=3) / N, [0.5, 0, 0.5], atol=0.01)


def test_openvino() -> None:
    inputs: dict[str, Any] = {"system": System.OPENVINO, "version": 8}
    x = draw("RandomUniform", np.array([N]), np.float32(2), np.float32(3), output_type="f32", **inputs)
    assert x.dtype == np.float32
    assert 2 <= x.min() < 2.001 < 2.999 < x.max() < 3
    whole = draw("RandomUniform", np.array([2, N]), np.int64(-2), np.int64(2), output_type="i64", op_seed="5", **inputs)
    assert whole.dtype == np.int64
    assert np.bincount(whole.ravel() + 2).tolist() == pytest.approx([N / 2] * 4, rel=0.03)
    settings: dict[str, Any] = {"system": System.OPENVINO, "version": 13, "convert_type": "i32", "log_probs": "false"}
    p = np.float32([[1, 3, 0], [1, 1, 2]])
    x = draw("Multinomial", p, np.int64(N), with_replacement="true", **settings)
    assert x.dtype == np.int32
    np.testing.assert_allclose(np.bincount(x[0], minlength=3) / N, [0.25, 0.75, 0], atol=0.01)
    x = draw("Multinomial", np.tile(p[:1], (N, 1)), np.int64([2]), with_replacement="false", **settings)
    assert set(map(tuple, x.tolist())) == {(0, 1), (1, 0)}
    assert abs((x[:, 0] == 1).mean() - 0.75) < 0.01
    with pytest.raises(ValueError, match="3 different classes"):
        draw("Multinomial", p[:1], np.int64(3), with_replacement="false", **settings)


NOISE = """
g (int64 M, int64 K, float[4] x) => (float[4] y, float[N, 4] s, float[R] inner) {
  y, s, inner = Loop <body = body (int64 i, bool c, float[4] a) => (bool c, float[4] b, float[4] n, float last) {
    n = RandomNormalLike (a)
    other = RandomNormalLike (a)
    u = RandomUniform <shape = [4], seed = 3.0> ()
    ones = Bernoulli (u)
    noise = Mul (n, ones)
    yes = Constant <value = bool {1}> ()
    half = Constant <value = float {0.5}> ()
    dropped = Dropout (noise, half, yes)
    sum = Add (a, dropped)
    b = Add (sum, other)
    zero = Constant <value = float {0}> ()
    last = Loop <body = inside (int64 j, bool d, float t) => (bool d, float v) {
      v1 = RandomNormal <shape = [1]> ()
      v2 = ReduceSum <keepdims = 0> (v1)
      v = Add (t, v2)
    }> (K, , zero)
  }> (M, , x)
}
"""
MODEL_INPUTS: dict[str, Any] = {"M": 6, "K": 3, "x": [1.0, 2.0, 3.0, 4.0]}


def test_each_run_draws_the_same_and_each_iteration_something_else() -> None:
    first, second = run(NOISE, **MODEL_INPUTS), run(NOISE, **MODEL_INPUTS)
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])
    assert len(np.unique(first["s"])) == first["s"].size
    assert len(np.unique(first["inner"])) == 6
    # Fewer iterations are the same iterations.
    np.testing.assert_array_equal(run(NOISE, **{**MODEL_INPUTS, "M": 3})["s"], first["s"][:3])


def test_dropout_in_loop_draws_new_mask_per_iteration() -> None:
    text = """
    g (int64 M, float[50] x) => (float[50] y, float[N, 50] s) {
      y, s = Loop <body = body (int64 i, bool c, float[50] a) => (bool c, float[50] a, float[50] d) {
        half = Constant <value = float {0.5}> ()
        yes = Constant <value = bool {1}> ()
        d = Dropout (a, half, yes)
      }> (M, , x)
    }"""
    s = run(text, M=20, x=np.ones(50, np.float32))["s"]
    assert set(np.unique(s)) == {0, 2}
    assert len({row.tobytes() for row in s}) == 20


def test_another_seed_of_the_run_draws_other_numbers_where_nodes_have_none() -> None:
    m = model(NOISE)
    results = []
    for seed in (0, 1):
        engine = Engine(m.plan)
        engine.binder.seed = seed
        engine.start(m.check(MODEL_INPUTS))
        engine.resume()
        results.append(engine.results()["s"])
    assert not np.intersect1d(*results).size


def test_going_back_draws_the_same_again() -> None:
    m = model(NOISE)
    engine = start_engine(m, MODEL_INPUTS)
    moments = []
    while step(engine)[0] != "end":
        moments.append((engine.checkpoints.save(), visible_state(engine)))
    expected = finish(engine, m)
    for k in (40, 3, 17, len(moments) - 2):
        engine.checkpoints.restore(moments[k][0])
        step(engine)
        assert visible_state(engine) == moments[k + 1][1]
        assert finish(engine, m) == expected


def test_a_session_draws_what_a_run_draws() -> None:
    m = model(NOISE)
    session = loopdbg.Session(m, MODEL_INPUTS)
    while not session.done:
        session.next_node()
    assert session.outputs is not None
    for name, value in m.run(MODEL_INPUTS).items():
        np.testing.assert_array_equal(session.outputs[name], value)


def test_which_nodes_draw_numbers() -> None:
    x, on, off = Value("x"), Value("mode"), Value("mode", constant=np.array(False))

    def draws(op_type: str, *inputs: Value | None, system: System = System.ONNX, version: int = 21) -> bool:
        return is_random(Operation("n", op_type, "", version, list(inputs), [Value("y")]), system)

    assert draws("RandomUniformLike", x) and draws("Bernoulli", x) and draws("Multinomial", x)
    assert draws("RandomUniform", x, x, x, system=System.OPENVINO, version=8)
    assert not draws("Add", x, x) and not draws("NoSuchOperator", x)
    assert not draws("Dropout", x) and not draws("Dropout", x, None, off), "it hands its input on"
    assert draws("Dropout", x, None, on) and not draws("Dropout", x, version=10)
