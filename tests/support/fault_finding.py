"""Fault-finding scenarios: models of a usual size with one fault, the commands that find it, and the expected answer.

``docs/fault-finding.md`` shows them; ``python tests/support/fault_finding.py docs/fault-finding.md`` updates its table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fault_finding_models as models
from fault_finding_models import replace_parts, save_with_weights

_TABLE = re.compile(r"(<!-- hunts -->\n).*?(<!-- end -->)", re.S)
_CELL = (models.CELL, models.CELL_WEIGHTS, models.CELL_INPUTS)
_DECODER = (models.DECODER, models.DECODER_WEIGHTS, models.DECODER_INPUTS)
_GRU = (models.RECURRENT_OPERATOR, models.recurrent_operator_weights(3), models.RECURRENT_OPERATOR_INPUTS)
_LSTM = (models.LSTM, models.recurrent_operator_weights(4), models.RECURRENT_OPERATOR_INPUTS)
_FILTER = (models.QUANTISED, models.QUANTISED_WEIGHTS, models.QUANTISED_INPUTS)
_ENCODER = (models.ENCODER, models.ENCODER_WEIGHTS, models.ENCODER_INPUTS)
_DIFF = ("loopdbg diff trained.onnx converted.onnx",)
_IR = ("loopdbg diff trained.onnx converted.xml",)

Model = tuple[str, Mapping[str, Any], Mapping[str, Any]]


@dataclass(frozen=True)
class FaultScenario:
    """A scenario. ``fault``: what is wrong; ``build`` writes its files into a folder; ``answer``: texts that the output
    of the commands contains, in order."""

    fault: str
    build: Callable[[Path], None]
    commands: Sequence[str]
    expected_output: Sequence[str]


def build_model_pair(
    model: Model,
    *changes: tuple[str, str],
    weights: Mapping[str, Any] | None = None,
    ir: bool = False,
    opsets: tuple[int, int] = (18, 18),
) -> Callable[[Path], None]:
    """A trained model, and a faulty conversion of it; ``ir``: the latter as an OpenVINO IR."""
    text, right, inputs = model

    def build(folder: Path) -> None:
        save_with_weights(folder / "trained.onnx", text, right, opsets[0])
        np.savez(folder / "trained.inputs.npz", **inputs)
        save_with_weights(
            folder / "converted.onnx", replace_parts(text, *changes), {**right, **(weights or {})}, opsets[1]
        )
        if ir:
            import openvino

            result = openvino.convert_model(folder / "converted.onnx")
            openvino.save_model(result, folder / "converted.xml", compress_to_fp16=False)

    return build


def build_running_sum_pair(right: str, wrong: str, factor: float) -> Callable[[Path], None]:
    """A running sum in two types."""

    def build(folder: Path) -> None:
        for name, kind in (("trained", right), ("converted", wrong)):
            dtype = {"float": "float32"}.get(kind, kind)
            save_with_weights(
                folder / f"{name}.onnx", models.SUMS.replace("TYPE", kind), {"factor": np.asarray(factor, dtype)}
            )
        dtype = {"float": "float32"}.get(right, right)
        np.savez(folder / "trained.inputs.npz", xs=np.ones(400, dtype), start=np.asarray(1, dtype))

    return build


def build_diverging_descent(floor: float, rate: float, *changes: tuple[str, str]) -> Callable[[Path], None]:
    """Gradient descent that diverges by itself: there is no second model."""

    def build(folder: Path) -> None:
        weights = {**models.DESCENT_WEIGHTS, "floor": np.float32(floor)}
        save_with_weights(folder / "descent.onnx", replace_parts(models.DESCENT, *changes), weights)
        np.savez(folder / "descent.inputs.npz", x0=np.float32(9), rate=np.float32(rate))

    return build


FAULT_SCENARIOS = [
    FaultScenario(
        "gates exchanged: output and forget gate are read in the other order",
        build_model_pair(_CELL, ("gate_o, gate_f", "gate_f, gate_o")),
        _DIFF,
        (
            "o = Sigmoid(gate_o) (gate_o is output 2 of Split",
            "iteration 0",
            "first node that differs: Sigmoid 'Sigmoid_5'",
        ),
    ),
    FaultScenario(
        "gates exchanged, in an IR that a converter made",
        build_model_pair(_CELL, ("gate_o, gate_f", "gate_f, gate_o"), ir=True),
        _IR,
        ("iteration 0", "first node that differs: Split 'Split_3'", "converted.xml  gate_o = "),
    ),
    FaultScenario(
        "wrong direction: the frames are read from the last one",
        build_model_pair(_CELL, ("directions: ints = [0]", "directions: ints = [1]")),
        _DIFF,
        ("sliced input 'frame'", "frame = frames[59-i, :, :]", "it comes from the sliced input 'frame'"),
    ),
    FaultScenario(
        "wrong direction of an operator",
        build_model_pair(_GRU, ('"forward"', '"reverse"')),
        _DIFF,
        (
            "attribute direction of 'Y'",
            'direction="reverse"',
            "GRU 'GRU_0', which the loop was made of, has other attributes",
        ),
    ),
    FaultScenario(
        "wrong state: the forget gate multiplies h instead of c",
        build_model_pair(_CELL, ("Mul (f, c)", "Mul (f, h)")),
        _DIFF,
        ("operand of 'kept'", "kept = f * h", "first node that differs: Mul 'Mul_8'", "it reads 'c' here, 'h' there"),
    ),
    FaultScenario(
        "wrong state, in an IR that a converter made",
        build_model_pair(_CELL, ("Mul (f, c)", "Mul (f, h)"), ir=True),
        _IR,
        ("first node that differs: Mul 'Mul_8'", "it is computed from 'c' here, from 'h' there"),
    ),
    FaultScenario(
        "initial states exchanged",
        build_model_pair(_CELL, ("(h0, c0, frames)", "(c0, h0, frames)")),
        _DIFF,
        ("initial value 'h'", "h = c0", "before iteration 0", "it is 'h0' here, 'c0' there"),
    ),
    FaultScenario(
        "off by one: the row of the state before is collected",
        build_model_pair(_CELL, ("row = Identity (h_new)", "row = Identity (h)")),
        _DIFF,
        (
            "scan output 'states'",
            "states collects row on axis 0 (h is a carried value)",
            "it is 'h_new' here, 'h' there",
        ),
    ),
    FaultScenario(
        "epsilon of a normalisation",
        build_model_pair(_CELL, ("0.00001", "0.001")),
        _DIFF,
        ("attribute epsilon of 'c_new'", "epsilon=0.001", "first node that differs: LayerNormalization"),
    ),
    FaultScenario(
        "bias dropped",
        build_model_pair(_CELL, ("(frame, W, B)", "(frame, W)")),
        _DIFF,
        (
            "operand of 'from_input'",
            "from_input = Gemm(frame, W, transB=1)",
            "iteration 0",
            "first node that differs: Gemm 'Gemm_0'",
            "it is fed 'B' here, nothing there",
        ),
    ),
    FaultScenario(
        "activation exchanged",
        build_model_pair(_CELL, ("f = Sigmoid", "f = HardSigmoid")),
        _DIFF,
        ("operator of 'f'", "first node that differs: Sigmoid 'Sigmoid_6', in its place in converted.onnx HardSigmoid"),
    ),
    FaultScenario(
        "transposed weight",
        build_model_pair(_DECODER, weights={"Wo": models.DECODER_WEIGHTS["Wo"].T.copy()}),
        _DIFF,
        ("constant 'Wo'", "the same, transposed", "iteration 1", "it comes from the constant 'Wo'"),
    ),
    FaultScenario(
        "mask: a token does not see itself",
        build_model_pair(_DECODER, ("LessOrEqual", "Less"), ir=True),
        _IR,
        (
            "iteration 0",
            "first node that differs: LessOrEqual 'LessOrEqual_13', in its place in converted.xml Less 'seen'",
        ),
    ),
    FaultScenario(
        "position: that of the next token",
        build_model_pair(
            _DECODER,
            ("place = Gather (positions, i)", "later = Add (i, unit) place = Gather (positions, later)"),
            weights={"unit": np.int64(1)},
        ),
        _DIFF,
        ("node added: 'later'", "place = positions[later], where later = i + 1", "it reads 'i' here, 'later' there"),
    ),
    FaultScenario(
        "stale cache: attention reads the keys without those of this step",
        build_model_pair(_DECODER, ("(keys_new)\n", "(keys)\n"), ir=True),
        _IR,
        ("iteration 10", "MatMul 'MatMul_11'", "it is computed from 'keys_new' here, from 'keys' there"),
    ),
    FaultScenario(
        "captured instead of carried: each step embeds the first token",
        build_model_pair(_DECODER, ("Gather (embedding, token)", "Gather (embedding, start)")),
        _DIFF,
        ("iteration 1", "first node that differs: Gather 'Gather_0'", "it reads 'token' here, 'start' there"),
    ),
    FaultScenario(
        "scale of the attention left out",
        build_model_pair(_DECODER, weights={"scale": np.float32(1)}),
        _DIFF,
        ("constant 'scale'", "iteration 4", "shown by: with this edit applied"),
    ),
    FaultScenario(
        "one iteration too many",
        build_model_pair(
            _DECODER,
            ("(count, yes", "(more, yes"),
            ("yes = Con", "more = Add (count, unit) yes = Con"),
            weights={"unit": np.int64(1)},
        ),
        _DIFF,
        ("trip count", "converted.onnx 49 (ended by the trip count)"),
    ),
    FaultScenario(
        "condition inverted",
        build_model_pair(_DECODER, ("go_on = Not (ended)", "go_on = Identity (ended)")),
        _DIFF,
        ("condition 'go_on'", "iteration 0", "converted.onnx 1 (ended by the condition)"),
    ),
    FaultScenario(
        "linear_before_reset",
        build_model_pair(_GRU, ("reset: int = 1", "reset: int = 0")),
        _DIFF,
        ("linear_before_reset=0", "GRU 'GRU_0', which the loop was made of, has other attributes"),
    ),
    FaultScenario(
        "clip left out",
        build_model_pair(_LSTM, ("clip: float = 1.5, ", "")),
        _DIFF,
        ("clip=1.5", "LSTM 'LSTM_0', which the loop was made of, has other attributes"),
    ),
    FaultScenario(
        "sequence_lens left out",
        build_model_pair(_GRU, ("(X, W, R, B, lens)", "(X, W, R, B)")),
        _DIFF,
        ("operand of 'Y'", "Y, last = GRU(X, W, R, B, hidden_size=64", "iteration 23"),
    ),
    FaultScenario(
        "zero point: values below zero are cut off",
        build_model_pair(_FILTER, weights={"zero": np.uint8(0)}),
        _DIFF,
        ("constant 'zero'", "it comes from the constant 'zero'"),
    ),
    FaultScenario(
        "quantisation scale",
        build_model_pair(_FILTER, weights={"scale": np.float32(0.0078125)}),
        _DIFF,
        ("constant 'scale'", "it comes from the constant 'scale'"),
    ),
    FaultScenario(
        "float16 overflows",
        build_running_sum_pair("float", "float16", 1.05),
        _DIFF,
        ("'s' is float32 and float16", "of the 65504 that float16 holds", "first Inf or NaN in iteration 165"),
    ),
    FaultScenario(
        "int32 overflows where int64 does not",
        build_running_sum_pair("int64", "int32", 3),
        _DIFF,
        ("iteration 19", "first node that differs: Mul 'Mul_0'", "of the 2.14748e+09 that int32 holds"),
    ),
    FaultScenario(
        "Softmax of another opset: over the last axes together, and over one",
        build_model_pair((models.WINDOWS, {}, models.WINDOWS_INPUTS), opsets=(12, 13)),
        _DIFF,
        ("share = Softmax(x_in, axis=1) (opset 13)", "iteration 0", "first node that differs: Softmax 'Softmax_0'"),
    ),
    FaultScenario(
        "Softmax of opset 12, which another runtime takes for that of 13",
        build_model_pair((models.WINDOWS, {}, models.WINDOWS_INPUTS), opsets=(12, 13)),
        ("loopdbg diff trained.onnx --against openvino",),
        ("first node that differs: Softmax 'Softmax_0'", "rule B35: OpenVINO would apply Softmax"),
    ),
    FaultScenario(
        "allowzero: a size of 0 is taken as it is",
        build_model_pair(
            (models.HEADS, models.HEADS_WEIGHTS, models.HEADS_INPUTS), ("allowzero: int = 0", "allowzero: int = 1")
        ),
        _DIFF,
        (
            "attribute allowzero of 'row'",
            "allowzero=1",
            "Reshape 'Reshape_3' (opset 18) in loop 'Scan_0', iteration 0:",
        ),
    ),
    FaultScenario(
        "no loop at all: the residual is taken behind the norm",
        build_model_pair(_ENCODER, ("Add (back, frames)", "Add (back, normed)")),
        _DIFF,
        (
            "first difference: main graph",
            "first node that differs: Add 'Add_10'",
            "it reads 'frames' here, 'normed' there",
        ),
    ),
    FaultScenario(
        "no loop at all, in an IR that a converter made: Softmax over the other axis",
        build_model_pair(_ENCODER, ("Softmax <axis: int = 1>", "Softmax <axis: int = 0>"), ir=True),
        _IR,
        ("first difference: main graph", "first node that differs: Softmax 'Softmax_7'"),
    ),
    FaultScenario(
        "NaN from iteration 295 on",
        build_diverging_descent(1.0005, 0.0322),
        ("loopdbg run descent.onnx -ex 'break nan' -ex continue -ex 'print left' -ex why --batch",),
        ("breakpoint 1 (nan): Log 'Log_4' gave NaN or Inf in iteration 295", "-3.8146973e-06"),
    ),
    FaultScenario(
        "stuck loop: the condition tests what never falls below it",
        build_diverging_descent(0, 0.03, ("Abs (step)", "Abs (x_out)")),
        ("loopdbg run descent.onnx --max-iterations 500", "loopdbg run descent.onnx -ex 'goto 400' -ex why --batch"),
        ("what it carries is bit for bit as one iteration ago", "size = abs(x_out)"),
    ),
    FaultScenario(
        "wrong output of a run that was recorded: another trace is the reference",
        build_model_pair(_CELL, ("Tanh (c_new)", "Softsign (c_new)")),
        (
            "loopdbg run trained.onnx --record reference.loopdb --record-nodes",
            "loopdbg diff converted.onnx reference.loopdb",
        ),
        (
            "operator of 'squashed'",
            "first node that differs: Softsign 'Softsign_12', in its place in reference.loopdb Tanh",
        ),
    ),
]


#: As many parts of an answer are in the table.
_SHOWN = 2


def scenario_table() -> str:
    """All scenarios as the rows of a table, where the usual command is left out."""
    rows = ["| fault | commands | what the answer has |", "| --- | --- | --- |"]
    for hunt in FAULT_SCENARIOS:
        commands, answer = (
            "<br>".join(f"`{item}`" for item in some) for some in (hunt.commands, hunt.expected_output[:_SHOWN])
        )
        rows.append(f"| {hunt.fault} | {'' if hunt.commands == _DIFF else commands} | {answer} |")
    return "".join(f"{row}\n" for row in rows)


def render_page(text: str) -> str:
    """The page with its table."""
    return _TABLE.sub(lambda match: f"{match[1]}\n{scenario_table()}\n{match[2]}", text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(render_page(path.read_text(encoding="utf-8")), encoding="utf-8")
