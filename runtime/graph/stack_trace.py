"""The line of somebody's code that a stack trace means, in the forms in which exporters write traces.

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
#: Packages of which no line is of the model: what calls a model's code, and what that calls.
_PACKAGES = "torch|functorch|onnxscript|torch_xla|tensorflow|keras|jax|jaxlib|flax"
_FRAMEWORK = re.compile(rf"(?:(?:site|dist)-packages|lib/python[\d.]+)/(?:{_PACKAGES})/|/torch/nn/modules/")
_HERE_MARKER = "<--- HERE"
#: A line that points at the one above.
_MARKER_LINE = re.compile(rf"[\^~ ]*(?:{_HERE_MARKER})?")
#: Of a line's text so much is kept, and so many of the calls around it.
_MAX_CODE_CHARS, _MAX_CALLERS = 400, 16


@record(frozen=True)
class _StackFrame:
    file: str
    line: int
    function: str
    code: str

    @property
    def is_generated(self) -> bool:
        """Code that never was in a file: ``<eval_with_key>.7``, what torch wrote of a loop's body."""
        return self.file.startswith("<")

    @property
    def is_framework(self) -> bool:
        return _FRAMEWORK.search(self.file.replace("\\", "/")) is not None


def origin_from_stack_trace(text: str) -> Origin:
    """The innermost line that is neither a framework's own nor generated; a framework's where there is no other.

    ``traced`` is the line of generated code inside that, as torch has it of the bodies of loops.
    """
    calls = _parse_frames(text)
    files = [call for call in calls if not call.is_generated]
    own = [call for call in files if not call.is_framework] or files[-1:]
    if not own:
        return UNKNOWN_ORIGIN
    *around, found = own
    traced = calls[-1].code.partition(";")[0].rstrip() if calls[-1].is_generated else ""
    callers = tuple((call.file, call.line) for call in around[-_MAX_CALLERS:])
    return Origin(found.file, found.line, found.code, found.function, traced=traced, callers=callers)


def _parse_frames(text: str) -> Sequence[_StackFrame]:
    """The calls, the innermost last."""
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
    """The line's text among the lines below its head."""
    lines = below.strip("\n").split("\n")
    marked = next((k for k, line in enumerate(lines) if line.endswith(_HERE_MARKER)), None)
    if marked is not None:
        first = next((k for k, line in enumerate(lines) if "~" in line and _is_marker_line(line)), marked)
        return lines[max(first - 1, 0)].strip()[:_MAX_CODE_CHARS]
    return lines[0].strip()[:_MAX_CODE_CHARS] if not _is_marker_line(lines[0]) else ""


def _is_marker_line(line: str) -> bool:
    return _MARKER_LINE.fullmatch(line) is not None
