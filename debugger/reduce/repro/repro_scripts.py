"""The scripts of a reproducer: each runs the model in one runtime, without other dependencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ....runtime.model import Data
from ...compare.running.value_comparison import Tolerance
from ...tensorrt_export.script_code import docstring_text

#: Data with more elements is stored in a separate file.
MAX_INLINE_ELEMENTS = 300
#: The data file.
DATA_FILE = "data.npz"


@dataclass(frozen=True)
class ReproScript:
    """The contents of a script. ``mode``: how it shows: differs, fails, hangs, nan, inf, two (models), same."""

    title: str
    mode: str
    files: Sequence[str]
    inputs: Mapping[str, Data]
    expected: Mapping[str, Data]
    rtol: float
    atol: float
    #: Whether inputs and outputs have a leading axis that counts requests.
    is_over_requests: bool = False


def read_template(name: str) -> str:
    """Return a part of a script, with fields for :meth:`str.format`."""
    return (Path(__file__).with_name("templates") / f"{name}.txt").read_text(encoding="utf-8")


def onnxruntime_script(script: ReproScript) -> str:
    """Return a script for ONNX Runtime."""
    return _script_text(script, "onnxruntime")


def openvino_script(script: ReproScript) -> str:
    """Return a script for OpenVINO."""
    return _script_text(script, "openvino")


def overall_tolerance(expected: Mapping[str, Data], tolerance: Tolerance) -> tuple[float, float]:
    """Return the tolerance for all outputs together."""
    pairs = [tolerance.for_dtypes(value.dtype) for value in expected.values() if isinstance(value, np.ndarray)]
    return max((tol for tol, _ in pairs), default=0.0), max((tol for _, tol in pairs), default=0.0)


def is_plain_numpy(values: Mapping[str, Data]) -> bool:
    """Whether NumPy's own types can represent the values."""
    arrays = [item for value in values.values() for item in (value if isinstance(value, list | tuple) else [value])]
    return all(item is not None and np.asarray(item).dtype.kind != "V" for item in arrays)


def data_file_arrays(script: ReproScript) -> dict[str, Any]:
    """Return the arrays of the data file, by their names in the scripts; empty if all are inline."""
    values = {**{f"in {k}": v for k, v in script.inputs.items()}, **{f"out {k}": v for k, v in script.expected.items()}}
    if sum(np.size(value) for value in values.values()) <= MAX_INLINE_ELEMENTS:
        return {}
    return {
        name: value for name, value in values.items() if isinstance(value, np.ndarray) and not value.dtype.hasobject
    }


def _script_text(script: ReproScript, package: str) -> str:
    system = "import signal\n" if script.mode == "hangs" else ""
    arrays = data_file_arrays(script)
    nonfinite = script.mode in ("nan", "inf")
    inputs = [f"    {name!r}: {_value_code(value, f'in {name}', arrays)},\n" for name, value in script.inputs.items()]
    expected = [
        f"    {name!r}: {_value_code(value, f'out {name}', arrays)},\n" for name, value in script.expected.items()
    ]
    parts = [
        read_template("head").format(title=docstring_text(script.title), package=package, system=system),
        f'DATA = np.load(HERE / "{DATA_FILE}")\n' if arrays else "",
        f"INPUTS = {{\n{''.join(inputs)}}}\n" if inputs else "INPUTS = {}\n",
        f"#: {_EXPECTED_COMMENTS.get(script.mode, 'What the specification asks for')}.\n",
        f"EXPECTED = {{\n{''.join(expected)}}}\n",
        read_template(package + "_requests" * script.is_over_requests).format(files=list(script.files)),
        "" if nonfinite else read_template("compare").format(rtol=script.rtol, atol=script.atol),
        read_template(f"end_{'nonfinite' if nonfinite else script.mode}").format(package=package, how=script.mode),
    ]
    return "".join(parts)


def _value_code(value: Data, name: str, arrays: Mapping[str, Any]) -> str:
    """A value as Python code."""
    if name in arrays:
        return f"DATA[{name!r}]"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value_code(item, '', {}) for item in value)}]"
    array = np.asarray(value)
    kind = "object" if array.dtype.kind in "OUT" else f'"{array.dtype.name}"'
    text = _number_code(array.tolist())
    return f"np.array({text}, {kind})" if array.size or array.ndim == 1 else f"np.zeros({array.shape}, {kind})"


def _number_code(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_number_code, value))}]"
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    return repr(value)


_EXPECTED_COMMENTS = {"two": "What the first model gives", "nan": "What loopdbg gives", "inf": "What loopdbg gives"}
