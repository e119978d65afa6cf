"""The scripts of a reproducer: each runs the model in one runtime, without other dependencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


def onnxruntime_script(script: ReproScript) -> str:
    """Return a script for ONNX Runtime."""
    return _script_text(script, "onnxruntime", _ONNXRUNTIME)


def openvino_script(script: ReproScript) -> str:
    """Return a script for OpenVINO."""
    return _script_text(script, "openvino", _OPENVINO)


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


def _script_text(script: ReproScript, package: str, run: str) -> str:
    system = "import signal\n" if script.mode == "hangs" else ""
    arrays = data_file_arrays(script)
    inputs = [f"    {name!r}: {_value_code(value, f'in {name}', arrays)},\n" for name, value in script.inputs.items()]
    expected = [
        f"    {name!r}: {_value_code(value, f'out {name}', arrays)},\n" for name, value in script.expected.items()
    ]
    parts = [
        _HEAD.format(title=docstring_text(script.title), package=package, system=system),
        f'DATA = np.load(HERE / "{DATA_FILE}")\n' if arrays else "",
        f"INPUTS = {{\n{''.join(inputs)}}}\n" if inputs else "INPUTS = {}\n",
        f"#: {_EXPECTED_COMMENTS.get(script.mode, 'What the specification asks for')}.\n",
        f"EXPECTED = {{\n{''.join(expected)}}}\n",
        run.format(files=list(script.files)),
        "" if script.mode in ("nan", "inf") else _COMPARE.format(rtol=script.rtol, atol=script.atol),
        _ENDS[script.mode].format(package=package, how=script.mode),
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
_HEAD = '''"""{title}

Needs {package} alone, which brings NumPy: pip install {package}
The exit status is 1 where the finding shows, and 0 where it does not.
"""

{system}import sys
from pathlib import Path

import numpy as np
import {package}

HERE = Path(__file__).parent
'''
_ONNXRUNTIME = '''

def run(file):
    """The outputs of a model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(HERE / file), options, providers=["CPUExecutionProvider"])
    known = {{port.name for port in session.get_inputs()}}
    return session.run(None, {{name: value for name, value in INPUTS.items() if name in known}})


FILES = {files}
'''
_OPENVINO = '''

def run(file):
    """The outputs of a model."""
    core = openvino.Core()
    wanted = {{"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_NUM_THREADS": "1"}}
    model = core.compile_model(core.read_model(HERE / file), "CPU", wanted)
    known = {{name for port in model.inputs for name in port.get_names()}}
    given = {{name: value for name, value in INPUTS.items() if name in known}}
    if file.endswith(".xml"):
        given = dict(enumerate(INPUTS.values()))
    results = model.create_infer_request().infer(given)
    return [np.array(results[port]) for port in model.outputs]


FILES = {files}
'''
_COMPARE = '''

def same(a, b):
    """Whether two values are the same within the tolerance."""
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return False
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    return np.allclose(b.astype(float), a.astype(float), {rtol!r}, {atol!r}, equal_nan=True)


def show(name, expected, got):
    """Print two values."""
    print(f"{{name}}: expected {{str(expected)[:300]}}, got {{str(got)[:300]}}")

'''
_DIFFERS = """
got = run(FILES[0])
for (name, value), other in zip(EXPECTED.items(), got):
    show(name, value, other)
shown = not all(same(value, other) for value, other in zip(EXPECTED.values(), got))
print("{package}", {package}.__version__.split("-")[0], "shows it" if shown else "does not show it")
sys.exit(shown)
"""
_ENDS = {
    "differs": _DIFFERS,
    "fails": """
print("{package}", {package}.__version__.split("-")[0], flush=True)
try:
    got = run(FILES[0])
except Exception as error:
    print("{package}", {package}.__version__.split("-")[0], "fails:", " ".join(str(error).split())[:600])
    sys.exit(1)
for (name, value), other in zip(EXPECTED.items(), got):
    show(name, value, other)
print("{package}", {package}.__version__.split("-")[0], "does not fail")
""",
    "hangs": """
#: The system ends the script after this time and CPU time in seconds, whatever the runtime does.
SECONDS, OF_A_PROCESSOR = 20, 5
signal.alarm(SECONDS)
signal.setitimer(signal.ITIMER_PROF, OF_A_PROCESSOR)
limits = f"{{SECONDS}} s, {{OF_A_PROCESSOR}} s of a processor"
print("{package}", {package}.__version__.split("-")[0], f"hangs unless it ends within {{limits}}", flush=True)
got = run(FILES[0])
for (name, value), other in zip(EXPECTED.items(), got):
    show(name, value, other)
print("{package}", {package}.__version__.split("-")[0], "does not hang")
""",
    "two": """
one, other = map(run, FILES)
for name, a, b in zip(EXPECTED, one, other):
    print(f"{{name}}: {{FILES[0]}} gives {{str(a)[:300]}}, {{FILES[1]}} gives {{str(b)[:300]}}")
shown = not all(map(same, one, other))
print("{package}", {package}.__version__.split("-")[0], "shows it" if shown else "does not show it")
sys.exit(shown)
""",
    "same": """
got = run(FILES[0])
for (name, value), other in zip(EXPECTED.items(), got):
    show(name, value, other)
shown = all(same(value, other) for value, other in zip(EXPECTED.values(), got))
print("{package}", {package}.__version__.split("-")[0], "shows it" if shown else "does not show it")
sys.exit(shown)
""",
}
_ENDS |= {
    kind: f"""
got = run(FILES[0])
for name, value in zip(EXPECTED, got):
    print(f"{{{{name}}}}: {{{{str(value)[:300]}}}}")
shown = any(np.{test}(np.asarray(value, float)).any() for value in got)
print("{{package}}", {{package}}.__version__.split("-")[0], "shows it" if shown else "does not show it")
sys.exit(shown)
"""
    for kind, test in (("nan", "isnan"), ("inf", "isinf"))
}
