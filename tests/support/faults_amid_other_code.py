"""Ten faults and more, each in a model with much unrelated code, which a repro has to leave out.

``python tests/support/faults_amid_other_code.py FOLDER`` makes a repro of each, and runs it in a fresh environment with
a single runtime.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

from ir_builder import TRUE, IrNetBuilder, back_edges, input_map_entry, loop_sections, output_map_entry, running_sum
from text_models import proto

#: What each model computes besides its fault: inputs, values that the fault needs, outputs.
_NODES_BEFORE_LOOP = """
  squared = Mul (a, a)
  bounded = Tanh (squared)
  scaled = Mul (bounded, weight)
  start = Add (scaled, bias)
"""
_NODES_AFTER_LOOP = """
  doubled = Add (last, last)
  shifted = Sub (doubled, bounded)
  y = Tanh (shifted)
"""
#: A loop with more in its body than any fault needs; {gives} are further results, {more} the nodes that compute them.
_LOOP = """
g (float[2,3,4] a) => (float[2,3,4] y, {outputs})
  <int64 n = {{{trips}}}, float[4] weight = {{0.5, 1, 1.5, 2}}, float bias = {{0.25}}> {{
{before}
  last, {names} = Loop (n, {cond}, start) <body = body
    (int64 i, bool c, float[2,3,4] h) => (bool keep, float[2,3,4] h_new, {gives}) {{
    number = Cast <to = 1> (i)
    turned = Sin (number)
    moved = Add (h, turned)
    h_new = Tanh (moved)
{more}
  }}>
{after}
}}
"""


def _loop(more: str, gives: str, outputs: str, names: str, **changed: str) -> str:
    parts = {"trips": "9", "cond": "", "before": _NODES_BEFORE_LOOP, "after": _NODES_AFTER_LOOP, **changed}
    return _LOOP.format(more=more, gives=gives, outputs=outputs, names=names, **parts)


@dataclass(frozen=True)
class ReproFault:
    """A model with a fault. ``finding``: the options of ``loopdbg repro``; ``runtime``: where it occurs; ``most``: the
    maximum number of remaining nodes."""

    name: str
    text: str
    options: tuple[str, ...]
    runtime: str
    max_remaining_nodes: int
    opset: int = 21
    inputs: Mapping[str, Any] = field(default_factory=dict)
    change: Callable[[onnx.ModelProto], None] = lambda model: None
    #: The second of two models, as a change of the first.
    make_other_model: Callable[[onnx.ModelProto], None] | None = None
    #: An IR instead of the text.
    ir: Callable[[], IrNetBuilder] | None = None

    def write(self, folder: Path) -> list[str]:
        """Write its files; returns the arguments of ``loopdbg repro``."""
        if self.ir is not None:
            path = self.ir().save(folder).rename(folder / f"{self.name}.xml")
            (folder / "model.bin").rename(path.with_suffix(".bin"))
            np.savez(folder / f"{self.name}.inputs.npz", **self.inputs)
            return [str(path), *self.options]
        model = proto(self.text, self.opset)
        self.change(model)
        onnx.save(model, folder / f"{self.name}.onnx")
        paths = [str(folder / f"{self.name}.onnx")]
        if self.make_other_model is not None:
            self.make_other_model(model)
            onnx.save(model, folder / f"{self.name}_other.onnx")
            paths.append(str(folder / f"{self.name}_other.onnx"))
        inputs = self.inputs or {"a": np.linspace(-1, 2, 24, dtype=np.float32).reshape(2, 3, 4)}
        np.savez(folder / f"{self.name}.inputs.npz", **inputs)
        return [*paths, *self.options]


_CONDITION_LINE = "    keep = Identity (c)\n"
_AGAINST_ONNXRUNTIME, _AGAINST_OPENVINO = ("--against", "onnxruntime"), ("--against", "openvino")


def _omit_scan_output(model: onnx.ModelProto) -> None:
    """Leave the last output of the loop, a scan output, without a name."""
    loop = _find_loop(model)
    loop.output[1] = ""
    del model.graph.output[1:]


def _put_nodes_out_of_order(model: onnx.ModelProto) -> None:
    body = _find_loop(model).attribute[0].g
    nodes = [body.node[k] for k in (1, 0, *range(2, len(body.node)))]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del body.node[:]
    body.node.extend(copies)


def _replace_tanh_with_sin(model: onnx.ModelProto) -> None:
    """Use sine where the first model has a hyperbolic tangent."""
    next(node for node in _find_loop(model).attribute[0].g.node if node.output[0] == "h_new").op_type = "Sin"


def _change_weight(model: onnx.ModelProto) -> None:
    weight = next(item for item in model.graph.initializer if item.name == "weight")
    weight.CopyFrom(onnx.numpy_helper.from_array(np.array([0.5, 1, 1.25, 2], np.float32), "weight"))


def _find_loop(model: onnx.ModelProto) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.op_type == "Loop")


def _ir_relu_of_nan() -> IrNetBuilder:
    """A counting Loop, with a ReLU of NaN in its body."""
    net = IrNetBuilder()
    trips, true = net.constant(np.int64(9), name="trips"), net.constant(TRUE, name="true")
    a = net.parameter("2,4", name="a")
    start = net.layer("Tanh", [net.layer("Multiply", [a, a], name="squared")], name="start")
    body = net.body_builder()
    number, h = body.parameter("", "i64", name="i"), body.parameter("2,4", name="h")
    turned = body.layer("Sin", [body.layer("Convert", [number], data='destination_type="f32"', name="number")])
    new = body.layer("Add", [h, turned], name="h_new")
    zero = body.layer("Subtract", [h, h], name="zero")
    unknown = body.layer("Divide", [zero, zero], name="unknown")
    some = body.layer("Multiply", [body.layer("ReLU", [unknown], name="positive"), new], name="some")
    results = [body.result(item) for item in (new, some, body.constant(TRUE, name="keep"))]
    entries = [
        input_map_entry(2, h),
        input_map_entry(-1, number, 'purpose="current_iteration"'),
        output_map_entry(3, results[0]),
    ]
    entries += [
        output_map_entry(4, results[1], 'axis="0" stride="2" part_size="2"'),
        output_map_entry(-1, results[2], 'purpose="execution_condition"'),
    ]
    parts = loop_sections(body, entries, back_edges((results[0], h)))
    loop = net.layer("Loop", [trips, true, start], 2, name="counting", version="opset5", extra=parts)
    net.result(net.layer("Tanh", [(loop, 3)], name="y"))
    net.result((loop, 4))
    return net


def _ir_variable_of_nan() -> IrNetBuilder:
    """A model that keeps a variable, with a ReLU of NaN in its computation."""
    net = IrNetBuilder()
    message = 'variable_id="state" variable_type="f32" variable_shape="2,4"'
    a, less = net.parameter("2,4", name="a"), net.constant(np.full((2, 4), -4, np.float32), name="less")
    state = net.layer("ReadValue", [less], version="opset6", data=message, shape="2,4", name="before")
    grown = net.layer("Add", [state, net.layer("Tanh", [a], name="bounded")], name="grown")
    net.layer("Assign", [grown], version="opset6", data=message, shape="2,4", name="kept")
    positive = net.layer("ReLU", [net.layer("Sqrt", [state], name="root")], name="positive")
    net.result(net.layer("Add", [positive, net.layer("Sin", [grown], name="turned")], name="y"))
    return net


FAULTS = (
    ReproFault(
        "iteration_number",
        _loop(
            _CONDITION_LINE + "    e = Mul (h_new, h)",
            "int64 i, float[2,3,4] e",
            "int64[N] s, float[N,2,3,4] z",
            "s, z",
        ),
        _AGAINST_ONNXRUNTIME,
        "onnxruntime",
        2,
    ),
    ReproFault(
        "softmax",
        _loop(_CONDITION_LINE + "    e = Softmax <axis = 1> (h_new)", "float[2,3,4] e", "float[N,2,3,4] s", "s"),
        _AGAINST_OPENVINO,
        "openvino",
        1,
        opset=12,
    ),
    ReproFault(
        "no_condition",
        _loop(
            "    four = Constant <value = int64 {4}> ()\n    keep = Less (i, four)\n    e = Neg (number)",
            "float e",
            "float[N] s",
            "s",
        ),
        _AGAINST_ONNXRUNTIME,
        "onnxruntime",
        3,
    ),
    ReproFault(
        "omitted_output",
        _loop(_CONDITION_LINE + "    e = Neg (number)", "float e", "float[N] s", "s"),
        _AGAINST_ONNXRUNTIME,
        "onnxruntime",
        4,
        change=_omit_scan_output,
    ),
    ReproFault(
        "outer_value",
        _loop(
            _CONDITION_LINE + "    e = Neg (number)",
            "float e, float[2,3,4] bounded",
            "float[N] s, float[N,2,3,4] z",
            "s, z",
        ),
        _AGAINST_ONNXRUNTIME,
        "onnxruntime",
        3,
    ),
    ReproFault(
        "order",
        _loop(_CONDITION_LINE + "    e = Neg (number)", "float e", "float[N] s", "s"),
        _AGAINST_ONNXRUNTIME,
        "onnxruntime",
        4,
        change=_put_nodes_out_of_order,
    ),
    ReproFault(
        "largest_of_nan",
        _loop(
            _CONDITION_LINE
            + "    zero = Sub (h, h)\n    unknown = Div (zero, zero)\n    some = Concat <axis = 0> (h, unknown)\n"
            "    largest = ReduceMax <keepdims = 0> (some)\n    e = Neg (largest)",
            "float e",
            "float[N] s",
            "s",
        ),
        _AGAINST_ONNXRUNTIME,
        "onnxruntime",
        1,
    ),
    ReproFault(
        "negative_trips",
        _loop(_CONDITION_LINE + "    e = Neg (number)", "float e", "float[N] s", "s", trips="-1", cond="yes").replace(
            "float bias", "bool yes = {1}, float bias"
        ),
        (*_AGAINST_OPENVINO, "--peer-timeout", "3"),
        "openvino",
        3,
    ),
    ReproFault(
        "same_names",
        """
g (float[2,3,4] a) => (float[2,3,4] y) <int64 n = {3}, float[4] weight = {0.5, 1, 1.5, 2}, float bias = {0.25}> {
"""
        + _NODES_BEFORE_LOOP
        + """
  last = Loop (n, , start) <body = outer (int64 i, bool c, float[2,3,4] h) => (bool keep, float[2,3,4] h_new) {
    keep = Identity (c)
    moved = Sin (h)
    h_new = Loop (n, , moved) <body = inner (int64 i, bool c, float[2,3,4] h) => (bool keep2, float[2,3,4] h2) {
      keep2 = Identity (c)
      h2 = Tanh (h)
    }>
  }>
"""
        + _NODES_AFTER_LOOP
        + "}",
        _AGAINST_OPENVINO,
        "openvino",
        4,
    ),
    # The text form takes the bits of a float16: 16896 is 3.
    ReproFault(
        "overflow",
        """
g (float16[4] a) => (float16[4] y) <int64 n = {300}, float16 factor = {16896}> {
  start = Abs (a)
  last = Loop (n, , start) <body = body (int64 i, bool c, float16[4] h) => (bool keep, float16[4] h_new) {
    keep = Identity (c)
    number = Cast <to = 10> (i)
    more = Mul (h, factor)
    moved = Add (more, number)
    turned = Sin (moved)
    h_new = Add (more, turned)
  }>
  y = Tanh (last)
}""",
        ("--break", "nan"),
        "onnxruntime",
        1,
        inputs={"a": np.array([0.5, 0.25, 0.125, 1], np.float16)},
    ),
    ReproFault(
        "exchanged",
        _loop(_CONDITION_LINE + "    e = Neg (number)", "float e", "float[N] s", "s"),
        (),
        "onnxruntime",
        2,
        make_other_model=_replace_tanh_with_sin,
    ),
    ReproFault(
        "another_weight",
        _loop(_CONDITION_LINE + "    e = Mul (h, weight)", "float[2,3,4] e", "float[N,2,3,4] s", "s"),
        (),
        "openvino",
        2,
        make_other_model=_change_weight,
    ),
    ReproFault(
        "relu_of_nan",
        "",
        _AGAINST_OPENVINO,
        "openvino",
        1,
        inputs={"a": np.linspace(-1, 2, 8, dtype=np.float32).reshape(2, 4)},
        ir=_ir_relu_of_nan,
    ),
    ReproFault(
        "variable_of_nan",
        "",
        _AGAINST_OPENVINO,
        "openvino",
        1,
        inputs={"a": np.linspace(-1, 2, 8, dtype=np.float32).reshape(2, 4)},
        ir=_ir_variable_of_nan,
    ),
    ReproFault(
        "late_slices",
        "",
        _AGAINST_OPENVINO,
        "openvino",
        2,
        inputs={"x": np.arange(8, dtype=np.float32).reshape(4, 2), "start": np.ones((1, 2), np.float32)},
        ir=lambda: running_sum(sliced='axis="0" start="1"'),
    ),
)


def environment(folder: Path, runtime: str) -> Path:
    """The Python of a fresh environment with one runtime."""
    home = folder / f"only_{runtime}"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", runtime], check=True)
    return python


def main(folder: Path, wanted: list[str]) -> None:
    """Make all repros, and run each separately."""
    folder.mkdir(parents=True, exist_ok=True)
    for fault in FAULTS:
        if wanted and fault.name not in wanted:
            continue
        pack = folder / f"{fault.name}_repro"
        command = [sys.executable, "-P", "-m", "loopdbg", "repro", *fault.write(folder), "-o", str(pack), "--force"]
        completed = subprocess.run(command, capture_output=True, text=True, check=False)
        script = pack / f"run_{fault.runtime}.py"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        ran = subprocess.run(
            [environment(folder, fault.runtime), script], capture_output=True, text=True, check=False, env=clean
        )
        lines = completed.stdout.strip().splitlines() or [completed.stderr.strip()]
        last = (ran.stdout.strip() or ran.stderr.strip() or "-").splitlines()[-1]
        print(
            f"{fault.name}: {lines[0]}\n  {'; '.join(lines[1:2])}\n  by itself: status {ran.returncode}: {last}",
            flush=True,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
