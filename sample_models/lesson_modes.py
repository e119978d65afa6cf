"""The loops of lessons on loop modes: one body for each row of the tables of ONNX, OpenVINO and TensorRT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ir_writer import IrGraphWriter, PortMapInput, PortMapOutput
from lesson_text import onnx_text
from openvino_models import NO_TRIP_COUNT, trips
from openvino_models import always as truth
from sample import Array, SampleModel


@dataclass(frozen=True)
class ModeBody:
    """``x_next = operator(x, by)``, with the operator's name in each system; ``by`` is a number, or None: x itself."""

    name: str
    onnx: str
    openvino: str
    tensorrt: str
    by: int | None

    @property
    def operand(self) -> str:
        """The operator's second input in ONNX text."""
        return "x" if self.by is None else "by"


BODIES = (ModeBody("adds", "Add", "Add", "SUM", 2), ModeBody("doubles", "Add", "Add", "SUM", None))


@dataclass(frozen=True)
class LessonMode:
    """A row: whether it is counted, and the source of the condition: "" none, ``asked``: from outside, ``true``:
    initially true. ``always``: the body yields the constant true. The number in a file's name has no meaning."""

    number: int
    counted: bool
    condition: str
    always: bool = False


ONNX_MODES = (
    LessonMode(3, False, ""),
    LessonMode(1, False, "asked"),
    LessonMode(5, False, "true"),
    LessonMode(2, True, ""),
    LessonMode(4, True, "asked"),
)
OPENVINO_MODES = (
    LessonMode(3, False, "true", always=True),
    LessonMode(1, False, "asked"),
    LessonMode(5, False, "true"),
    LessonMode(2, True, "true", always=True),
    LessonMode(4, True, "asked"),
)
TENSORRT_MODES = (
    LessonMode(1, False, "asked"),
    LessonMode(5, False, "true"),
    LessonMode(2, True, ""),
    LessonMode(4, True, "asked"),
)


def onnx_mode_files(body: ModeBody, mode: LessonMode) -> dict[str, bytes]:
    """A row of ONNX's table, in ONNX's text format."""
    constant = "" if body.by is None else f"<int64 by = {{{body.by}}}> "
    first = {"": "", "asked": "first = Less (x0, limit)", "true": ""}[mode.condition]
    condition = {"": "", "asked": "first", "true": "yes"}[mode.condition]
    yes = "\n        <bool yes = {1}>" if mode.condition == "true" else ""
    text = f"""
        main (int64 n, int64 x0, int64 limit) => (int64 x_last){yes} {{
          {first}
          [{body.name}] x_last = Loop <body = {body.name} (int64 i, bool c, int64 x)
              => (bool more, int64 x_next) {constant}{{
            x_next = {body.onnx} (x, {body.operand})
            more = Less (x_next, limit)
          }}> ({"n" if mode.counted else ""}, {condition}, x0)
        }}
    """
    return {".onnxtxt": onnx_text("\n".join(line for line in text.splitlines() if line.strip()))}


def openvino_mode_files(body: ModeBody, mode: LessonMode) -> dict[str, bytes]:
    """A row of Loop-5's table."""
    net = IrGraphWriter()
    n, x0, limit = (net.parameter(name, "i64", ()) for name in ("n", "x0", "limit"))
    inner = net.body()
    x, body_limit = inner.parameter("x", "i64", ()), inner.parameter("limit", "i64", ())
    by = x if body.by is None else inner.constant("by", np.array(body.by, np.int64))
    x_next = inner.binary(body.openvino, "x_next", x, by)
    more = truth(inner, "true") if mode.always else inner.compare("Less", "more", x_next, body_limit)
    x_result, go_on = inner.result(x_next, "x_out"), inner.result(more, "go_on")
    [last] = net.loop(
        body.name,
        inner,
        n if mode.counted else trips(net, NO_TRIP_COUNT),
        net.compare("Less", "first", x0, limit) if mode.condition == "asked" else truth(net, "true"),
        [PortMapInput(x0, x), PortMapInput(limit, body_limit)],
        [PortMapOutput(x_result)],
        [(x_result, x)],
        next_condition=go_on,
    )
    net.result(last, "x_last")
    return net.files(body.name, 11)


def tensorrt_mode_files(body: ModeBody, mode: LessonMode) -> dict[str, bytes]:
    """A row of TensorRT's table of trip limits, as a script."""
    by = "x" if body.by is None else f"network.add_constant((), np.array({body.by}, np.int32)).get_output(0)"
    count = "    loop.add_trip_limit(n, trt.TripLimit.COUNT)\n" if mode.counted else ""
    less = "trt.ElementWiseOperation.LESS"
    limits = {
        "": "",
        "asked": f"    more = network.add_elementwise(x, limit, {less}).get_output(0)\n    more.name = 'more'\n"
        "    loop.add_trip_limit(more, trt.TripLimit.WHILE)\n",
        "true": f"    more = network.add_elementwise(x_next, limit, {less}).get_output(0)\n    more.name = 'more'\n"
        "    go = loop.add_recurrence(network.add_constant((), np.array(True)).get_output(0))\n"
        "    go.get_output(0).name = 'go'\n    go.set_input(1, more)\n"
        "    loop.add_trip_limit(go.get_output(0), trt.TripLimit.WHILE)\n",
    }[mode.condition].replace("'", '"')
    names = ["x0", *(["n"] if mode.counted else []), *(["limit"] if mode.condition else [])]
    arguments, quoted = ", ".join(names), ", ".join(f'"{name}"' for name in names)
    text = f'''"""A loop of the lessons: which trip limits has it?"""

import numpy as np
import tensorrt as trt


def build(network):
    """Fill a network: inputs {arguments}; output x_last."""
    {arguments} = (network.add_input(name, trt.int32, ()) for name in ({quoted}))
    loop = network.add_loop()
    loop.name = "{body.name}"
    recurrence = loop.add_recurrence(x0)
    x = recurrence.get_output(0)
    by = {by}
    x_next = network.add_elementwise(x, by, trt.ElementWiseOperation.{body.tensorrt}).get_output(0)
    x.name, x_next.name = "x", "x_next"
    recurrence.set_input(1, x_next)
{count}{limits}    last = loop.add_loop_output(x, trt.LoopOutput.LAST_VALUE).get_output(0)
    last.name = "x_last"
    network.mark_output(last)
'''
    return {".py": (text if "np." in text else text.replace("import numpy as np\n", "")).encode()}


def _sample_factory(
    write: Callable[[ModeBody, LessonMode], dict[str, bytes]], body: ModeBody, mode: LessonMode
) -> Callable[[], SampleModel]:
    inputs: dict[str, Array] = {name: np.array(value, np.int64) for name, value in (("n", 6), ("x0", 1), ("limit", 9))}
    return lambda: SampleModel(write(body, mode), inputs)


SAMPLES: dict[str, Callable[[], SampleModel]] = {
    f"{system}_{body.name}_{mode.number}": _sample_factory(write, body, mode)
    for system, write, modes in (
        ("onnx", onnx_mode_files, ONNX_MODES),
        ("ir", openvino_mode_files, OPENVINO_MODES),
        ("trt", tensorrt_mode_files, TENSORRT_MODES),
    )
    for body in BODIES
    for mode in modes
}
