"""The line of somebody's code that a stack trace means, in the forms in which exporters write traces.

``File "model.py", line 87, in forward`` with the line's text below, the innermost call last (Python's own form, which
``torch.export`` keeps); the same of TorchScript, where ``<--- HERE`` marks the text; and ``model.py(87): forward``, the
innermost call first (torch's older exporter).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..record import record
from .origin import NOWHERE, Origin

_FILE = re.compile(r'^[ \t]*File "(.+)", line (\d{1,9})(?:, in (.*))?$', re.MULTILINE)
_CALL = re.compile(r"^[ \t]*(\S.*\.py)\((\d{1,9})\): (.*)$", re.MULTILINE)
#: Packages of which no line is of the model: what calls a model's code, and what that calls.
_PACKAGES = "torch|functorch|onnxscript|torch_xla|tensorflow|keras|jax|jaxlib|flax"
_FRAMEWORK = re.compile(rf"(?:(?:site|dist)-packages|lib/python[\d.]+)/(?:{_PACKAGES})/|/torch/nn/modules/")
_HERE = "<--- HERE"
#: A line that points at the one above.
_MARK = re.compile(rf"[\^~ ]*(?:{_HERE})?")
#: Of a line's text so much is kept, and so many of the calls around it.
_LONGEST, _CALLERS = 400, 16


@record(frozen=True)
class _Call:
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


def of_stack_trace(text: str) -> Origin:
    """The innermost line that is neither a framework's own nor generated; a framework's where there is no other.

    ``traced`` is the line of generated code inside that, as torch has it of the bodies of loops.
    """
    calls = _calls(text)
    files = [call for call in calls if not call.is_generated]
    own = [call for call in files if not call.is_framework] or files[-1:]
    if not own:
        return NOWHERE
    *around, found = own
    traced = calls[-1].code.partition(";")[0].rstrip() if calls[-1].is_generated else ""
    callers = tuple((call.file, call.line) for call in around[-_CALLERS:])
    return Origin(found.file, found.line, found.code, found.function, traced=traced, callers=callers)


def _calls(text: str) -> Sequence[_Call]:
    """The calls, the innermost last."""
    heads = list(_FILE.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    calls = [
        _Call(head[1], int(head[2]), head[3] or "", _code(text[head.end() : end]))
        for head, end in zip(heads, ends, strict=False)
    ]
    return calls or [_Call(head[1], int(head[2]), head[3], "") for head in _CALL.finditer(text)][::-1]


def _code(below: str) -> str:
    """The line's text among the lines below its head."""
    lines = below.strip("\n").split("\n")
    marked = next((k for k, line in enumerate(lines) if line.endswith(_HERE)), None)
    if marked is not None:
        first = next((k for k, line in enumerate(lines) if "~" in line and _is_mark(line)), marked)
        return lines[max(first - 1, 0)].strip()[:_LONGEST]
    return lines[0].strip()[:_LONGEST] if not _is_mark(lines[0]) else ""


def _is_mark(line: str) -> bool:
    return _MARK.fullmatch(line) is not None
