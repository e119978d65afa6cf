"""Writes docs/api.md, the reference of the public API, from the docstrings: ``make docs``."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import loopdbg
from loopdbg.debugger.session.session_frames import SessionFrame

_READ = property | cached_property
_MEMBERS = _READ | classmethod
PAGE = Path(__file__).with_name("api.md")

#: Every name of ``loopdbg.__all__`` is in one section.
SECTIONS = {
    "Models": ("load", "Model", "Port", "LoopNode", "Run", "LoopTotals", "Explanation", "operator"),
    "Sessions": ("debug", "Session", "Stop", "Reason", "Why", "plot", "widget"),
    "Frames": ("Frame", "CarriedValue", "StoppedBy"),
    "Recordings": ("Recorder", "Trace", "Replay"),
    "Comparisons": ("diff", "Diff", "FirstDifference", "LoopDifference", "Verdict"),
    "Sweeps": ("sweep", "Row", "Status"),
    "References": ("record_reference", "ReferenceRecorder", "Reference", "Track"),
    "Types": ("TensorType", "SequenceType", "OptionalType"),
    "Errors": (
        *("LoopdbgError", "ModelError", "UnsupportedError", "InputError", "ExecutionError", "LimitError"),
        *("TraceError", "UsageError", "InterruptError", "OutOfMemoryError", "InternalError"),
    ),
}

HEAD = """# API

What `import loopdbg` gives. This page is made from the docstrings by `make docs`; the test suite runs its examples.
What begins with an underscore, and what is imported from below `loopdbg`, may change with any version.

The examples run in the folder `sample_models`, each from this beginning; `folder` is an empty folder (a `Path`), and
`recording` a trace of this run, opened as `trace`, which `replay` goes through:

```python
{setup}
```
"""

SETUP = """\
import os
import numpy as np
import loopdbg
from loopdbg import Reason, Stop, StoppedBy

model = loopdbg.load("newton_sqrt.onnx")
inputs = {"a": 2.0, "tol": 1e-6}
session = loopdbg.debug(model, inputs)
ref = loopdbg.record_reference()"""


def members(cls: type) -> dict[str, Any]:
    """The public methods and properties that a class has of itself or of bases of ours."""
    results: dict[str, Any] = {}
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] == "loopdbg":
            for name, value in vars(base).items():
                if not name.startswith("_") and (
                    callable(value) or isinstance(value, property | cached_property | classmethod)
                ):
                    results.setdefault(name, value)
    return dict(sorted(results.items()))


def documented() -> Iterator[tuple[str, Any]]:
    """Every public name with what it represents, those of classes after their class."""
    for name in sorted({*loopdbg.__all__} - {"__version__"}):
        value = getattr(loopdbg, name)
        yield name, value
        if inspect.isclass(value) and (name == "LoopdbgError" or not issubclass(value, Exception | enum.Enum)):
            yield from ((f"{name}.{member}", getattr(value, member)) for member in members(value))
    for member in sorted(members(SessionFrame).keys() - members(loopdbg.Frame).keys()):
        yield f"SessionFrame.{member}", getattr(SessionFrame, member)
    yield "SessionFrame[expression]", SessionFrame.__getitem__


def _text(value: Any) -> str:
    """A docstring as Markdown."""
    text = re.sub(r":(?:class|meth|func|attr|mod|data):`~?[.\w]*?(\w+)`", r"`\1`", inspect.getdoc(value) or "")
    text = text.replace("``", "`")
    blocks: list[str] = []
    for block in text.split("\n\n"):
        if block.startswith(">>>"):
            blocks.append(f"```pycon\n{block}\n```")
        elif heading := re.match(r"(Args|Attributes|Raises|Returns|Yields):\n", block):
            entries = inspect.cleandoc("\n" + block.partition("\n")[2])
            if heading[1] not in ("Returns", "Yields"):
                entries = re.sub(r"(?m)^(\*{0,2}\w+(?:, \w+)*): ", r"- `\1`: ", entries).replace("\n    ", "\n  ")
            blocks.append(f"{heading[0]}\n{entries}")
        else:
            blocks.append(block)
    return "\n\n".join(blocks)


def _signature(value: Any) -> str:
    """What follows a callable's name."""
    if isinstance(value, property | cached_property) or (
        inspect.isclass(value) and issubclass(value, enum.Enum | Exception)
    ):
        return ""
    if inspect.isclass(value) and value.__init__ is object.__init__:
        return ""
    if inspect.isclass(value) and value.__name__ in ("Frame", "Trace"):
        return ""  # no one makes one by hand
    if "keywords" in inspect.signature(value).parameters:
        return f"({', '.join(inspect.get_annotations(value))})"  # a record
    parameters = list(inspect.signature(value).parameters.values())
    kept = [parameter.replace(annotation=parameter.empty) for parameter in parameters if parameter.name != "self"]
    return re.sub(r"<factory>|<dataclasses[^>]*>|RecordOptions\(.*?\)", "...", str(inspect.Signature(kept)))


def _entry(level: int, name: str, value: Any) -> str:
    words = [f"`{word.value}`" for word in value] if inspect.isclass(value) and issubclass(value, enum.Enum) else []
    one_of = f"\n\nOne of {', '.join(words)}." if words else ""
    return f"{'#' * level} `{name}{_signature(value)}`\n\n{_text(value)}{one_of}\n"


def _of_class(name: str) -> Iterator[str]:
    """What the class of a name has, but for what it shares with another one of the page."""
    value = getattr(loopdbg, name)
    if not inspect.isclass(value):
        return
    base = loopdbg.Session if name == "Replay" else loopdbg.LoopdbgError
    shared = members(base) if value is not base else {}
    own = [member for member in members(value) if member not in shared]
    yield from (_entry(4, member, getattr(value, member)) for member in own)
    if name == "Frame":
        yield "A frame of a session has besides:\n"
        more = members(SessionFrame).keys() - set(own)
        yield _entry(4, "frame[expression]", SessionFrame.__getitem__).replace("(expression)", "")
        yield from (_entry(4, member, getattr(SessionFrame, member)) for member in sorted(more))


def page() -> str:
    """The page as it should be."""
    parts = [HEAD.format(setup=SETUP)]
    for title, names in SECTIONS.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts += [_entry(3, name, getattr(loopdbg, name)), *_of_class(name)]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
