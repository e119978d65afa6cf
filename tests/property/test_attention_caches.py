"""GroupQueryAttention in loops, whose cache grows or is written in place: every execution mode gives the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import onnxruntime_peer
from differential_testing import check_all_modes
from hypothesis_settings import example_settings
from loopdbg.runtime.ops.registry import ResolvedOperator
from optimizer_access import requires_optimizer
from strategies.draws import ChoiceSource, SeededChoices
from strategies.onnx_graph_writer import BOOL, F32, I64, value_info
from text_models import load_proto

I32 = TensorProto.INT32


def model(draw: ChoiceSource, plain: bool = False) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A loop that attends with one new row per iteration; ``plain``: one row of a batch, and a cache that grows."""
    rng = np.random.default_rng(draw.integer(0, 999))
    groups, width = draw.pick((1, 2)), draw.pick((16, 32))
    heads = groups * draw.pick((1, 3))
    batch, past, trips = 1 if plain else draw.pick((1, 1, 2)), draw.integer(1, 5), draw.integer(12, 20)
    result = past if plain or draw.integer(0, 2) else past + trips + draw.integer(0, 3)
    attributes: dict[str, Any] = {}
    if draw.integer(0, 2) == 0 and not plain:
        attributes["local_window_size"] = draw.integer(2, 9)
    if draw.integer(0, 2) == 0:
        attributes["softcap"] = 3.0
    constants = {"past": np.array([past], np.int64), "one": np.array(1, np.int32)}
    constants["spread"] = np.array([batch, 1], np.int64)
    names = ["x", "k_new", "v_new", "k", "v", "seen", "total"]
    if draw.integer(0, 1):
        angles = rng.standard_normal((past + trips + 1, width // 2)).astype(np.float32)
        constants |= {"cosines": np.cos(angles), "sines": np.sin(angles)}
        names += ["cosines", "sines"]
        attributes["do_rotary"] = 1
    for name in ("w_k", "w_v"):
        # The attention output is fed back: weights of this size propagate rounding differences without amplifying them.
        weights = rng.standard_normal((heads * width, groups * width)) / np.sqrt(heads * width)
        constants[name] = weights.astype(np.float32)
    make = helper.make_node
    nodes = [
        make("MatMul", ["x", "w_k"], ["k_new"]),
        make("MatMul", ["x", "w_v"], ["v_new"]),
        make("Add", ["i", "past"], ["before"]),
        make("Cast", ["before"], ["before_32"], to=I32),
        make("Expand", ["before_32", "spread"], ["seen"]),
        make("Add", ["before_32", "one"], ["total"]),
        make("GroupQueryAttention", names, ["y", "k_next", "v_next"], domain="com.microsoft", num_heads=heads,
             kv_num_heads=groups, **attributes),
        make("Tanh", ["y"], ["x_next"]),
        make("Identity", ["c"], ["keep"]),
    ]  # fmt: skip
    state, cache = [batch, 1, heads * width], [batch, groups, "rows", width]
    body = helper.make_graph(
        nodes,
        "body",
        [
            value_info("i", I64, []),
            value_info("c", BOOL, []),
            value_info("x", F32, state),
            value_info("k", F32, cache),
            value_info("v", F32, cache),
        ],
        [
            value_info("keep", BOOL, []),
            value_info("x_next", F32, state),
            value_info("k_next", F32, cache),
            value_info("v_next", F32, cache),
        ],
    )
    inputs = {"x0": rng.standard_normal(state), "k0": np.zeros((batch, groups, result, width))}
    inputs["k0"][:, :, :past] = rng.standard_normal((batch, groups, past, width))
    inputs["v0"] = inputs["k0"] / 2
    feeds = {"M": np.array(trips), **{name: array.astype(np.float32) for name, array in inputs.items()}}
    graph = helper.make_graph(
        [make("Loop", ["M", "", *inputs], ["x_last", "k_last", "v_last"], body=body)],
        "attention",
        [value_info("M", I64, []), *(value_info(name, F32, list(array.shape)) for name, array in inputs.items())],
        [value_info("x_last", F32, state), value_info("k_last", F32, None), value_info("v_last", F32, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


@example_settings(30, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_attention_caches_agree_in_all_modes(seed: int) -> None:
    draw = SeededChoices(seed)
    proto, feeds = model(draw)
    fewer = {**feeds, "M": np.array(draw.integer(0, 11))}
    check_all_modes(lambda: load_proto(proto), feeds, fewer, draw)


@example_settings(30, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_attention_caches_agree_with_onnxruntime(seed: int) -> None:
    proto, feeds = model(SeededChoices(seed))
    theirs = onnxruntime_peer.run(proto, feeds)
    for name, ours in load_proto(proto).run(feeds).items():
        np.testing.assert_allclose(ours, theirs[name], rtol=1e-4, atol=2e-5)


@requires_optimizer
def test_growing_cache_is_bound_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    applied = []
    apply = ResolvedOperator.apply
    monkeypatch.setattr(ResolvedOperator, "apply", lambda op, *x, **more: applied.append(op) or apply(op, *x, **more))
    proto, feeds = model(SeededChoices(1), plain=True)
    read = load_proto(proto)
    read.run(feeds)
    read.run({**feeds, "M": np.array(12)})
    applied.clear()
    read.run({**feeds, "M": np.array(12)})
    assert not applied
