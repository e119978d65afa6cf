"""Extracts the source line from a stack trace, in the formats of exporters.

``File "model.py", line 87, in forward`` with the line's text below, the innermost call last (Python's own form, which
``torch.export`` keeps); the same of TorchScript, where ``<--- HERE`` marks the text; and ``model.py(87): forward``, the
innermost call first (torch's older exporter).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..record import record
from .origin import UNKNOWN_ORIGIN, Origin

_PYTHON_FRAME = re.compile(r'^[ \t]*File "(.+)", line (\d{1,9})(?:, in (.*))?$', re.MULTILINE)
_TORCHSCRIPT_FRAME = re.compile(r"^[ \t]*(\S.*\.py)\((\d{1,9})\): (.*)$", re.MULTILINE)
#: Framework packages, whose lines are not the model's code.
_PACKAGES = "torch|functorch|onnxscript|torch_xla|tensorflow|keras|jax|jaxlib|flax"
_FRAMEWORK = re.compile(rf"(?:(?:site|dist)-packages|lib/python[\d.]+)/(?:{_PACKAGES})/|/torch/nn/modules/")
_HERE_MARKER = "<--- HERE"
#: A line that marks the one above.
_MARKER_LINE = re.compile(rf"[\^~ ]*(?:{_HERE_MARKER})?")
#: Limits for the text of a line and for the number of callers.
_MAX_CODE_CHARS, _MAX_CALLERS = 400, 16


@record(frozen=True)
class _StackFrame:
    file: str
    line: int
    function: str
    code: str

    @property
    def is_generated(self) -> bool:
        """Code without a file: ``<eval_with_key>.7``, which torch generates for a loop's body."""
        return self.file.startswith("<")

    @property
    def is_framework(self) -> bool:
        return _FRAMEWORK.search(self.file.replace("\\", "/")) is not None


def origin_from_stack_trace(text: str) -> Origin:
    """The innermost line that is neither in a framework nor generated; one in a framework where there is no other.

    ``traced`` is the line of generated code inside it, which torch writes for the bodies of loops.
    """
    calls = _parse_frames(text)
    file_calls = [call for call in calls if not call.is_generated]
    user_calls = [call for call in file_calls if not call.is_framework] or file_calls[-1:]
    if not user_calls:
        return UNKNOWN_ORIGIN
    *outer, innermost = user_calls
    traced = calls[-1].code.partition(";")[0].rstrip() if calls[-1].is_generated else ""
    callers = tuple((call.file, call.line) for call in outer[-_MAX_CALLERS:])
    return Origin(innermost.file, innermost.line, innermost.code, innermost.function, traced=traced, callers=callers)


def _parse_frames(text: str) -> Sequence[_StackFrame]:
    """The stack frames, the innermost last."""
    heads = list(_PYTHON_FRAME.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    calls = [
        _StackFrame(head[1], int(head[2]), head[3] or "", _frame_code(text[head.end() : end]))
        for head, end in zip(heads, ends, strict=False)
    ]
    return (
        calls or [_StackFrame(head[1], int(head[2]), head[3], "") for head in _TORCHSCRIPT_FRAME.finditer(text)][::-1]
    )


def _frame_code(below: str) -> str:
    """The text of a frame's line, from the lines below its header."""
    lines = below.strip("\n").split("\n")
    marked = next((k for k, line in enumerate(lines) if line.endswith(_HERE_MARKER)), None)
    if marked is not None:
        first = next((k for k, line in enumerate(lines) if "~" in line and _is_marker_line(line)), marked)
        return lines[max(first - 1, 0)].strip()[:_MAX_CODE_CHARS]
    return lines[0].strip()[:_MAX_CODE_CHARS] if not _is_marker_line(lines[0]) else ""


def _is_marker_line(line: str) -> bool:
    return _MARKER_LINE.fullmatch(line) is not None
