"""The README.md of a pack: what was expected, what came, with what, and how to see it."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np

from ...runtime.graph import loops
from ...runtime.text import counted, printable, printable_lines
from ..diff.rules import fitting, reasons_of
from .find import Finding
from .pack import Pack
from .predicate import Shown
from .reduce import Reduced

#: Characters of a value that are printed.
_MOST = 1000
_WHAT = {
    "refused": "refuses the model",
    "failed": "fails while it runs the model",
    "crashed": "crashes",
    "hung": "does not come to an end",
}


@dataclass(frozen=True)
class About:
    """Whose finding it is. ``peer``: the runtime that differs, with its version and what it was told; empty for two
    models, a NaN, or a stop."""

    models: Sequence[str]
    peer: str = ""
    version: str = ""
    configuration: Mapping[str, str] = field(default_factory=dict)
    #: The expression that was waited for.
    expression: str = ""
    #: What to type to look at the pack with this program; ``{model}``: the file.
    commands: Sequence[str] = ()


def title_of(about: About, reduced: Reduced) -> str:
    """The finding in one line."""
    shown = reduced.shown
    if about.peer:
        said = f"{about.peer} {about.version}"
        if shown.kind in _WHAT:
            return f"{said} {_WHAT[shown.kind]}"
        return f"{said} gives another {'value' if shown.kind == 'value' else shown.kind} of '{shown.output}'"
    if len(about.models) == 2:
        return f"{about.models[0]} and {about.models[1]} give two values of '{shown.output}'"
    if shown.kind == "stop":
        return f"'{about.expression}' is true"
    steps = reduced.candidate.documents[0].steps()
    maker = next((step.op_type for step in steps if shown.output in step.outputs), "the model")
    return f"{maker} makes {'a NaN' if shown.kind == 'nan' else 'an infinity'}: '{shown.output}'"


def report(pack: Pack, reduced: Reduced, finding: Finding, about: About) -> str:
    """The whole text."""
    shown, title = reduced.shown, title_of(about, reduced)
    parts = [
        f"# {_prose(title)}",
        *_difference(shown, about),
        *_reasons(reduced, about),
        "## To see it",
        _commands(pack, about),
        *_seen(pack),
        "## Versions",
        "\n".join(f"- {_prose(line)}" for line in _versions(about)),
        "## The model",
        f"Reduced from {_prose(' and '.join(about.models))}: {finding.nodes} nodes before, "
        f"{reduced.candidate.count} now, in {counted(reduced.tests, 'test')}"
        f"{'' if reduced.ended == 'smallest' else ', and not to the end'}.",
    ]
    for path, document in zip(pack.models, reduced.candidate.documents, strict=True):
        parts += [f"`{path.name}`:", _code(document.text().strip().split("\n"))]
    return "\n\n".join(parts) + "\n"


def _difference(shown: Shown, about: About) -> list[str]:
    if shown.kind in _WHAT:
        expected = [line for name, value in shown.outputs.items() for line in _assigned(name, value)]
        return ["## Expected", _code(expected), "## What came", _code((shown.text or shown.kind).splitlines())]
    if shown.kind == "stop":
        return ["## What came", f"loopdbg: {_prose(shown.text)}."]
    if shown.kind in ("nan", "inf"):
        return [
            "## Expected",
            "Numbers: nothing that goes in is NaN or infinite.",
            "## What came",
            _code(_assigned(shown.output, shown.got)),
        ]
    first = "What the specification asks for" if about.peer else about.models[0]
    then = f"{about.peer} {about.version}" if about.peer else about.models[-1]
    return [
        "## Expected",
        f"{_prose(first)}:\n\n{_code(_assigned(shown.output, shown.expected))}",
        "## What came",
        f"{_prose(then)}:\n\n{_code(_assigned(shown.output, shown.got))}",
    ]


def _prose(text: str) -> str:
    """Text with names out of files, as Markdown: one line without code, links, images and HTML."""
    return re.sub(r"([\\`<>\[\]|&])", r"\\\1", printable(text))


def _code(lines: Sequence[str]) -> str:
    """Lines as a block of code, which nothing in them ends."""
    text = printable_lines(lines)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _assigned(name: str, value: Any) -> list[str]:
    first, *more = _text(value).split("\n")
    return [f"{name} = {first}", *more]


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"sequence of {len(value)}: {', '.join(_text(one) for one in value[:4])}"[:_MOST]
    array = np.asarray(value)
    text = np.array2string(array, max_line_width=110, threshold=40)[:_MOST]
    return f"{array.dtype.name}{list(array.shape)}\n{text}" if array.ndim else f"{array.dtype.name} {text}"


def _reasons(reduced: Reduced, about: About) -> list[str]:
    """What is known of it already."""
    if not about.peer:
        return []
    graph = reduced.candidate.documents[0].model().graph
    notes = [*graph.notes, *(note for loop in loops(graph) for note in loop.notes)]
    effects = ("failure",) if reduced.shown.kind in _WHAT else ("values", "trips")
    found = [one for effect in effects for one in fitting(reasons_of(notes), effect, about.peer)]
    return ["## Known", *dict.fromkeys(_prose(f"{one.rule}: {one.text}") for one in found)] if found else []


def _commands(pack: Pack, about: About) -> str:
    lines = []
    for path in pack.files:
        if path.suffix == ".py":
            package = path.stem.removeprefix("run_")
            lines.append(f"pip install {package}; python {path.name}")
    lines += [line.format(model=pack.models[0].name) for line in about.commands]
    return f"{_code(lines)}\n\nA script ends with status 1 where the finding shows."


def _seen(pack: Pack) -> list[str]:
    if not pack.ran:
        return []
    rows = [f"| `{one.script}` | {one.status} | {_prose(one.last)} |" for one in pack.ran]
    return ["Here:", "\n".join(["| script | status | last line |", "| --- | --- | --- |", *rows])]


def _versions(about: About) -> list[str]:
    found = [f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"]
    if about.peer:
        told = ", ".join(f"{name}={value}" for name, value in about.configuration.items())
        found.append(f"{about.peer} {about.version}" + (f" ({told})" if told else ""))
    for package in ("loopdbg", "numpy", "onnx"):
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return found
