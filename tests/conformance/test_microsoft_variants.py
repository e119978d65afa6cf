"""Operators of ``com.microsoft`` in forms that onnxruntime's CPU provider refuses, or does not compute as it says.

They are compared with forms that it has and that mean the same. And what is refused here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import onnxruntime_peer
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.frontends.onnx.reader import from_proto
from loopdbg.runtime.graph import Loop, walk
from loopdbg.runtime.model import Model

from .microsoft_cases import Array, MicrosoftCase, random_floats, random_integers
from .microsoft_decoder_cases import quantize_experts
from .test_microsoft import model, named


def ours(op_type: str, it: MicrosoftCase) -> list[Array]:
    return list(Model(from_proto(model(op_type, it), "m.onnx")).run(named(it)).values())


def run_onnxruntime(op_type: str, it: MicrosoftCase) -> list[Array]:
    return list(onnxruntime_peer.run(model(op_type, it), named(it), optimise=False).values())


# --- Mixtures of experts.


def layers(r: np.random.Generator, bits: tuple[int, int, int], parts: int = 1) -> tuple[list[Any], list[Array]]:
    """For each of three products: weights, scales and zero points of 4 experts, and what they stand for."""
    shapes = [(4, parts * 32, 32), (4, 32, 32), (4, 32, 32)]
    results = [quantize_experts(r, width, 16, True, *shape) for width, shape in zip(bits, shapes, strict=True)]
    return [held for held, _ in results], [real for _, real in results]


def quantized(r: np.random.Generator, held: list[Any], third: bool, **attributes: Any) -> MicrosoftCase:
    item, two, three = held
    x, router = random_floats(r, 5, 32), random_floats(r, 5, 4)
    inputs = [
        x,
        router,
        *item[:2],
        None,
        *two[:2],
        None,
        *(three[:2] if third else [None, None]),
        None,
        item[2],
        two[2],
    ]
    inputs += [three[2]] if third else []
    return MicrosoftCase(inputs, {"k": 2, "block_size": 16, "weights_prepacked": 0} | attributes)


@pytest.mark.parametrize("normalize", [0, 1])
def test_shares_are_normalized_where_that_is_asked_for(normalize: int) -> None:
    """onnxruntime's MoE does so; its QMoE always does."""
    r = np.random.default_rng(0)
    held, real = layers(r, (4, 4, 4))
    it = quantized(r, held, False, activation_type="silu", normalize_routing_weights=normalize)
    plain = MicrosoftCase(
        [*it.inputs[:2], real[0], None, real[1]],
        {"k": 2, "activation_type": "silu", "normalize_routing_weights": normalize},
    )
    np.testing.assert_allclose(ours("QMoE", it)[0], run_onnxruntime("MoE", plain)[0], 1e-4, 1e-4)


def test_each_product_has_its_own_bits() -> None:
    r = np.random.default_rng(1)
    held, real = layers(r, (8, 2, 4))
    it = quantized(r, held, False, activation_type="relu", fc1_expert_weight_bits=8, fc2_expert_weight_bits=2)
    plain = MicrosoftCase([*it.inputs[:2], real[0], None, real[1]], {"k": 2, "activation_type": "relu"})
    np.testing.assert_allclose(ours("QMoE", it)[0], run_onnxruntime("MoE", plain)[0], 1e-4, 1e-4)


@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("fusion", [0, 2])
def test_gates_apart_and_one_behind_the_other(fusion: int, quantised: bool) -> None:
    """onnxruntime's CPU provider has them by turns."""
    r = np.random.default_rng(2)
    parts = 2 if fusion else 1
    held, real = layers(r, (4, 4, 4), parts)
    how = {"activation_type": "swiglu", "activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 0.8}
    it = quantized(r, held, not fusion, swiglu_fusion=fusion, **how)
    gates, linear = (real[0], real[2]) if not fusion else (real[0][:, :32], real[0][:, 32:])
    by_turns = np.stack([gates, linear], axis=2).reshape(4, 64, 32)
    plain = MicrosoftCase([*it.inputs[:2], by_turns, None, real[1]], {"k": 2, "swiglu_fusion": 1} | how)
    if not quantised:
        rest = [None, real[2]] if not fusion else []
        it = MicrosoftCase([*it.inputs[:2], real[0], None, real[1], *rest], {"k": 2, "swiglu_fusion": fusion} | how)
    np.testing.assert_allclose(
        ours("QMoE" if quantised else "MoE", it)[0], run_onnxruntime("MoE", plain)[0], 1e-4, 1e-4
    )


def test_a_third_product_opens_the_first() -> None:
    r = np.random.default_rng(3)
    x, router = random_floats(r, 3, 4), random_floats(r, 3, 2)
    item, two, three = random_floats(r, 2, 5, 4), random_floats(r, 2, 4, 5), random_floats(r, 2, 5, 4)
    it = MicrosoftCase([x, router, item, None, two, None, three], {"activation_type": "silu", "k": 1})
    best = router.argmax(1)
    powers = np.exp(router)
    for row, our in enumerate(ours("MoE", it)[0]):
        expert = best[row]
        gate, linear = item[expert] @ x[row], three[expert] @ x[row]
        expected = two[expert] @ (gate / (1 + np.exp(-gate)) * linear) * powers[row, expert] / powers[row].sum()
        np.testing.assert_allclose(our, expected, 1e-4, 1e-4)


# --- The rest.


def test_bitsandbytes_weights_unchanged() -> None:
    """``transB=0``; the turned weights are those that a unit matrix gives."""
    r = np.random.default_rng(4)
    b, absmax = random_integers(r, np.uint8, 48), r.uniform(0.5, 2, 6).astype(np.float32)
    attributes = {"K": 16, "N": 6, "block_size": 16, "quant_type": 1}
    (weights,) = run_onnxruntime(
        "MatMulBnb4", MicrosoftCase([np.eye(16, dtype=np.float32), b, absmax], attributes, constant=(1, 2))
    )
    a = random_floats(r, 3, 6)
    (result,) = ours("MatMulBnb4", MicrosoftCase([a, b, absmax], attributes | {"transB": 0}, constant=(1, 2)))
    np.testing.assert_allclose(result, a @ weights.T, 1e-4, 1e-5)


def test_full_past_buffer_grows() -> None:
    """DecoderMaskedMultiHeadAttention without ``past_present_share_buffer`` is MultiHeadAttention."""
    r = np.random.default_rng(5)
    rows, caches = [random_floats(r, 2, 1, 8) for _ in range(3)], [random_floats(r, 2, 2, 3, 4) for _ in range(2)]
    it = MicrosoftCase([*rows, None, None, *caches], {"num_heads": 2}, outputs=3)
    other = MicrosoftCase([*rows, None, None, None, *caches], {"num_heads": 2}, outputs=3)
    packed = MicrosoftCase([np.concatenate(rows, 2), None, None, None, None, *caches], {"num_heads": 2}, outputs=3)
    for item in (ours("DecoderMaskedMultiHeadAttention", entry) for entry in (it, packed)):
        for mine, expected in zip(item, run_onnxruntime("MultiHeadAttention", other), strict=True):
            np.testing.assert_allclose(mine, expected, 1e-4, 1e-5)


def test_a_full_cache_gets_its_last_row() -> None:
    r = np.random.default_rng(6)
    rows, caches = [random_floats(r, 2, 1, 8) for _ in range(3)], [random_floats(r, 2, 2, 4, 4) for _ in range(2)]
    inputs = [*rows, None, None, *caches, np.array([3], np.int32)]
    it = MicrosoftCase(inputs, {"num_heads": 2, "past_present_share_buffer": 1}, outputs=3)
    for mine, expected in zip(
        ours("DecoderMaskedMultiHeadAttention", it), run_onnxruntime("DecoderMaskedMultiHeadAttention", it), strict=True
    ):
        np.testing.assert_allclose(mine, expected, 1e-4, 1e-5)


# --- Loops.


def test_a_recurrence_is_a_loop_with_a_step_for_each_row() -> None:
    r = np.random.default_rng(7)
    inputs = [
        random_floats(r, 1, 5, 4),
        random_floats(r, 1, 5, 4),
        random_floats(r, 1, 5, 4),
        None,
        -np.abs(random_floats(r, 1, 5, 2)),
        random_floats(r, 1, 5, 2),
    ]
    it = MicrosoftCase(inputs, {"q_num_heads": 2, "kv_num_heads": 2}, outputs=2)
    graph = from_proto(model("LinearAttention", it), "m.onnx")
    (loop,) = (node for node in walk(graph) if isinstance(node, Loop))
    assert [node.op_type for node in loop.body.nodes] == [
        *("Mul", "Transpose", "MatMul", "Sub", "Mul", "Mul", "Add", "MatMul")
    ]
    assert {node.op_type for node in graph.expanded_from.values()} == {"LinearAttention"}
    assert loop.name.endswith("/steps")
    # What is float32 already is not cast to it; the root of the width alone is of another type.
    assert [node.outputs[0].name for node in graph.nodes if node.op_type == "Cast" and node.outputs[0]] == [
        f"{loop.name.removesuffix('steps')}real_width"
    ]


@pytest.mark.parametrize("typed", [True, False])
def test_types_and_shapes_may_be_left_open(typed: bool) -> None:
    r = np.random.default_rng(8)
    inputs = [
        random_floats(r, 1, 5, 4),
        random_floats(r, 1, 5, 4),
        random_floats(r, 1, 5, 8),
        None,
        -np.abs(random_floats(r, 1, 5, 4)),
        None,
    ]
    it = MicrosoftCase(inputs, {"q_num_heads": 2, "kv_num_heads": 4, "update_rule": "gated"}, outputs=2)
    it.inputs[1] = random_floats(r, 1, 5, 8)
    proto = model("LinearAttention", it)
    if not typed:
        for value in proto.graph.input:
            value.type.tensor_type.ClearField("shape")
    for mine, expected in zip(
        Model(from_proto(proto, "m.onnx")).run(named(it)).values(), run_onnxruntime("LinearAttention", it), strict=True
    ):
        np.testing.assert_allclose(mine, expected, 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes"),
    [
        ("LinearAttention", [(1, 2, 4)] * 3 + [None, (1, 2, 2), (1, 2, 2)], {"q_num_heads": 2, "kv_num_heads": 2}),
        ("GatedDeltaNet", [(2, 2, 4)] * 3 + [None, None, None, (1, 2, 4, 4)], {"update_rule": "linear"}),
    ],
)
def test_a_form_that_no_cpu_has_opens_all_the_same(op_type: str, inputs: list[Any], attributes: dict[str, Any]) -> None:
    """And stops where it is met."""
    r = np.random.default_rng(9)
    more = {"state_window": 2} if op_type == "LinearAttention" else {"state_update_capacity": 2}
    feeds: list[Any] = [None if shape is None else random_floats(r, *shape) for shape in inputs]
    if op_type == "GatedDeltaNet":
        feeds += [None, None, np.array([1], np.int32)]
    graph = from_proto(model(op_type, MicrosoftCase(feeds, attributes | more, outputs=2)), "m.onnx")
    with pytest.raises(LoopdbgError, match=f"no implementation of operator {op_type}"):
        Model(graph).run(named(MicrosoftCase(feeds)))


# --- What is refused.

F = (2, 4)
LA = {"q_num_heads": 2, "kv_num_heads": 2}
NET = [(4, 2, 4), (4, 2, 4), (4, 2, 4)]


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "message"),
    [
        ("Inverse", [(2, 3)], {}, "holds no square matrices"),
        ("Inverse", [np.zeros((2, 2), np.float32)], {}, "a singular matrix has no inverse"),
        ("GridSample", [(1, 1, 2, 2, 2), (1, 2, 2, 2, 3)], {}, "do not have four axes each"),
        (
            "GridSample",
            [(1, 1, 2, 2), (1, 2, 2, 2)],
            {"mode": "linear"},
            "attribute mode='linear' is not one of bilinear",
        ),
        ("GridSample", [(1, 1, 2, 2), (1, 2, 2, 2)], {"padding_mode": "x"}, "attribute padding_mode='x' is not one of"),
        (
            "CDist",
            [(2, 3), (2, 3)],
            {"metric": "cosine"},
            "attribute metric='cosine' is not one of sqeuclidean, euclidean",
        ),
        ("CDist", [(2, 3), (2, 4)], {}, "are not of one width"),
        ("Unique", [(2, 3)], {}, r"input of shape \(2, 3\) is not a list"),
        ("Range", [(2,), (1,)], {}, r"start of shape \(2,\) is not one number"),
        ("Range", [np.float32(0), np.float32(3), np.float32(0)], {}, "must not be zero"),
        ("Pad", [F, np.zeros((2, 4), np.int64)], {}, "are not a list, nor one row of a matrix"),
        ("Pad", [F, np.zeros(4, np.int64)], {"mode": "x"}, "mode='x'"),
        ("ExpandDims", [F, np.int32(3)], {}, "axis 3 is outside"),
        ("UnfoldTensor", [F], {"size": 5}, "windows of 5 do not fit an axis of 4"),
        ("UnfoldTensor", [F], {"size": 2, "step": 0}, "both have to be positive"),
        ("UnfoldTensor", [F], {}, "lacks its attribute 'size'"),
        ("NGramRepeatBlock", [np.array([[1, 2, 9, 1, 2]]), (1, 5)], {"ngram_size": 3}, "the id 9 has none of the 5"),
        ("NGramRepeatBlock", [np.array([[1, 2]]), (1, 5)], {"ngram_size": 0}, "ngram_size=0 is not positive"),
        ("NGramRepeatBlock", [np.array([[1, 2]]), (2, 5)], {"ngram_size": 1}, "do not fit scores"),
        ("DynamicTimeWarping", [(2, 3, 4)], {}, "are no matrix"),
        (
            "MatMulBnb4",
            [F, np.zeros(8, np.uint8), (1,)],
            {"K": 4, "N": 4, "block_size": 16, "quant_type": 2},
            "quant_type=2",
        ),
        ("MatMulBnb4", [F, np.zeros(8, np.uint8), (1,)], {"K": 4, "N": 4, "block_size": 12, "quant_type": 1}, "of 12"),
        (
            "MatMulBnb4",
            [F, np.zeros(7, np.uint8), (1,)],
            {"K": 4, "N": 4, "block_size": 16, "quant_type": 1},
            "too few",
        ),
        ("MatMulBnb4", [F, np.zeros(8, np.uint8), (1,)], {"K": 5, "N": 4, "block_size": 16, "quant_type": 1}, "K = 5"),
        ("GatedAdd", [F, F, (2, 4)], {}, "has not one number a row"),
        ("GatedAdd", [F, F, F, (4, 1)], {}, "GatedAdd with gate_weight is not supported"),
        ("ScaledSiLU", [F, (2,)], {}, "is not one number"),
        ("GatedRMSNorm", [F, (3,), F], {}, "cannot be divided by a scale"),
        ("GatedRMSNorm", [F, (4,), (2, 3)], {}, "does not fit an input"),
        ("GatedRMSNorm", [F, (4,), F], {"activation": "relu"}, "attribute activation='relu' is not one of silu, swish"),
        ("BranchwiseRMSNorm", [F], {"num_branches": 3}, "has no 3 branches"),
        ("BranchwiseRMSNorm", [F, (3,)], {}, "does not fit 2 branches of 4 numbers"),
        ("LinearAttentionGate", [(1, 2, 4), (3,), (4,)], {}, "dt_bias of shape"),
        (
            "MRotaryEmbedding",
            [(1, 2, 8), np.zeros((3, 1, 2), np.int64), (9, 4), (9, 4)],
            {"mrope_section": [2, 1, 1]},
            "num_heads",
        ),
        (
            "MRotaryEmbedding",
            [(1, 2, 3, 8), np.zeros((3, 1, 3), np.int64), (9, 4), (9, 4)],
            {"mrope_section": [2, 1]},
            "are not three numbers whose sum is 4",
        ),
        (
            "MRotaryEmbedding",
            [(1, 2, 3, 8), np.zeros((3, 1, 3), np.int64), (9, 4), (9, 4)],
            {"mrope_section": [2, 1, 1], "mrope_layout": 2},
            "mrope_layout=2 is not one of 0, 1",
        ),
        (
            "CausalConvWithState",
            [(1, 3, 4), (3, 1, 2)],
            {"activation": "relu"},
            "attribute activation='relu' is not one of",
        ),
        ("CausalConvWithState", [(1, 3, 4), (4, 1, 2)], {}, "does not fit an input of"),
        ("CausalConvWithState", [(1, 3, 4), (3, 1, 2), None, (1, 3, 2)], {}, "state of shape"),
        ("CausalConvWithState", [(1, 3, 4), (3, 1, 2)], {"dilation": 0}, "dilation=0 is not positive"),
        ("CausalConvWithState", [(1, 3, 4), (3, 1, 2)], {"state_window": 2}, "is not supported"),
        ("MoE", [(3, 4), (3, 2), (2, 5, 4), None, (2, 4, 5)], {"k": 3}, "k=3 of 2 experts cannot be chosen"),
        (
            "MoE",
            [(3, 4), (3, 2), (2, 5, 4), None, (2, 4, 5)],
            {"activation_type": "x"},
            "attribute activation_type='x'",
        ),
        ("MoE", [(3, 4), (3, 2), (2, 5, 4), None, (2, 4, 6)], {}, "fc2_experts_weights of shape"),
        ("MoE", [(3, 4), (4, 2), (2, 5, 4), None, (2, 4, 5)], {}, "router_probs of shape"),
        (
            "MoE",
            [(3, 4), (3, 2), (2, 5, 4), None, (2, 4, 5)],
            {"activation_type": "swiglu"},
            "weights of a third product",
        ),
        (
            "MoE",
            [(3, 4), (3, 2), (2, 5, 4), None, (2, 4, 5)],
            {"use_sparse_mixer": 1},
            "use_sparse_mixer=1 is not supported",
        ),
        ("DecoderMaskedMultiHeadAttention", [(1, 2, 8)] * 3, {"num_heads": 2}, "are not one row"),
        (
            "DecoderMaskedMultiHeadAttention",
            [*[(1, 1, 8)] * 3, None, None, (1, 2, 3, 4), (1, 2, 3, 4), np.array([3], np.int32)],
            {"num_heads": 2, "past_present_share_buffer": 1},
            "past_sequence_length=3 leaves no row in a cache of 3",
        ),
        (
            "DecoderMaskedMultiHeadAttention",
            [*[(1, 1, 8)] * 3, np.ones((1, 3), np.int32)],
            {"num_heads": 2},
            "mask of shape",
        ),
        *(
            (
                "DecoderMaskedMultiHeadAttention",
                [*[(1, 1, 8)] * 3, None, None, *pasts],
                {"num_heads": 2},
                message,
            )
            for pasts, message in (
                ([(1, 2, 3, 4), (1, 2, 3, 5)], "does not fit new rows"),
                ([(1, 3, 3, 4), (1, 2, 3, 4)], "does not fit new rows"),
                ([(1, 2, 3, 4), (1, 2, 4, 4)], "there are 3 rows of past_key and 4 of past_value"),
            )
        ),
        (
            "MultiHeadAttention",
            [*[(1, 2, 8)] * 3, None, None, None, (1, 3, 2, 4), (1, 2, 2, 4)],
            {"num_heads": 2},
            "does not fit new rows",
        ),
        ("MultiHeadAttention", [*[(1, 2, 8)] * 3, (15,)], {"num_heads": 2}, "do not broadcast|no .* columns|divided"),
        (
            "GroupQueryAttention",
            [(2, 1, 8), (1, 1, 4), (2, 1, 4), None, None, np.zeros(2, np.int32), np.int32(1)],
            {"num_heads": 2, "kv_num_heads": 1},
            "of keys 1 of 1",
        ),
        (
            "GroupQueryAttention",
            [(2, 1, 8), *[(2, 1, 4)] * 2, None, None, np.zeros(2, np.int32), np.int32(1), *[None] * 4, (3,)],
            {"num_heads": 2, "kv_num_heads": 1},
            "head_sink of shape",
        ),
        (
            "RotaryEmbedding",
            [(2, 2, 3, 8), np.zeros((4, 3), np.int64), (9, 4), (9, 4)],
            {},
            "cosines of shape .* does not broadcast",
        ),
        (
            "RotaryEmbedding",
            [(2, 2, 3, 8), np.zeros((1, 2, 3), np.int64), (9, 4), (9, 4)],
            {},
            "have not two axes each",
        ),
        (
            "EmbedLayerNormalization",
            [np.zeros((1, 5), np.int32), None, (9, 4), (3, 4), None, (4,), (4,)],
            {},
            "has not a row for each of 5 positions",
        ),
        ("LinearAttention", [(1, 2, 4)] * 3, LA, "update_rule='gated_delta' needs the input decay"),
        (
            "LinearAttention",
            [(1, 2, 4)] * 3,
            LA | {"update_rule": "x"},
            "attribute update_rule='x' is not one of linear",
        ),
        ("LinearAttention", [(1, 2, 4)] * 3, {"q_num_heads": 2}, "lacks its attribute 'kv_num_heads'"),
        ("LinearAttention", [(1, 2, 4)] * 3, LA | {"own": 1}, "has an attribute 'own' that this opset does not define"),
        ("LinearAttention", [(1, 2, 4)] * 3, LA | {"scale": 1}, "'scale' is of the kind INT"),
        (
            "LinearAttention",
            [(1, 2, 4)] * 3,
            {"q_num_heads": 3, "kv_num_heads": 2, "update_rule": "linear"},
            "do not divide",
        ),
        ("LinearAttention", [(1, 2, 4)] * 2, LA, "it needs at least 3"),
        ("GatedDeltaNet", NET, {"update_rule": "linear"}, "needs the input initial_state"),
        ("GatedDeltaNet", [*NET, None, (4, 2)], {}, "needs the input beta"),
        (
            "GatedDeltaNet",
            [*NET, None, (4, 2), None],
            {"update_rule": "gated", "gate_activation": "kda"},
            "needs the input a_log",
        ),
        (
            "GatedDeltaNet",
            NET,
            {"update_rule": "linear", "gate_activation": "x"},
            "attribute gate_activation='x' is not one",
        ),
        (
            "GatedDeltaNet",
            NET,
            {"update_rule": "linear", "beta_activation": "x"},
            "attribute beta_activation='x' is not one",
        ),
        ("GatedDeltaNet", NET[:2], {"update_rule": "linear"}, "one of key and value"),
        ("GatedDeltaNet", NET, {"update_rule": "linear", "state_update_capacity": 9}, "outside of 0 to 8"),
    ],
)
def test_errors(op_type: str, inputs: list[Any], attributes: dict[str, Any], message: str) -> None:
    """One sentence each, in our own words."""
    r = np.random.default_rng(0)
    feeds = [
        input_value
        if input_value is None or isinstance(input_value, np.ndarray | np.generic)
        else random_floats(r, *input_value)
        for input_value in inputs
    ]
    it = MicrosoftCase([None if item is None else np.asarray(item) for item in feeds], attributes)
    with pytest.raises(LoopdbgError, match=message) as caught:
        ours(op_type, it)
    assert "\n" not in str(caught.value)
