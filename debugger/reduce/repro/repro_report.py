"""The README.md of a pack: what was expected, what came, with what, and how to see it."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np

from ....runtime.graph import loops
from ....runtime.text import count_text, escape_lines, escape_unprintable
from ...compare.report.runtime_rules import reasons_from_notes, reasons_predicting
from ..initial_candidate import Finding
from ..interestingness import Observation
from ..reducer import ReductionResult
from .repro_folder import ReproFolder

#: Characters of a value that are printed.
_MAX_VALUE_CHARS = 1000
_FAILURE_TEXTS = {
    "refused": "refuses the model",
    "failed": "fails while it runs the model",
    "crashed": "crashes",
    "hung": "does not come to an end",
}


@dataclass(frozen=True)
class FindingSource:
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


def finding_title(about: FindingSource, reduced: ReductionResult) -> str:
    """The finding in one line."""
    shown = reduced.observation
    if about.peer:
        said = f"{about.peer} {about.version}"
        if shown.kind in _FAILURE_TEXTS:
            return f"{said} {_FAILURE_TEXTS[shown.kind]}"
        return f"{said} gives another {'value' if shown.kind == 'value' else shown.kind} of '{shown.output}'"
    if len(about.models) == 2:
        return f"{about.models[0]} and {about.models[1]} give two values of '{shown.output}'"
    if shown.kind == "stop":
        return f"'{about.expression}' is true"
    steps = reduced.candidate.documents[0].nodes()
    maker = next((step.op_type for step in steps if shown.output in step.outputs), "the model")
    return f"{maker} makes {'a NaN' if shown.kind == 'nan' else 'an infinity'}: '{shown.output}'"


def report_text(pack: ReproFolder, reduced: ReductionResult, finding: Finding, about: FindingSource) -> str:
    """The whole text."""
    shown, title = reduced.observation, finding_title(about, reduced)
    parts = [
        f"# {_escape_markdown(title)}",
        *_expected_and_actual(shown, about),
        *_known_reasons(reduced, about),
        "## To see it",
        _commands(pack, about),
        *_script_results(pack),
        "## Versions",
        "\n".join(f"- {_escape_markdown(line)}" for line in _versions(about)),
        "## The model",
        f"Reduced from {_escape_markdown(' and '.join(about.models))}: {finding.original_node_count} nodes before, "
        f"{reduced.candidate.node_count} now, in {count_text(reduced.tests, 'test')}"
        f"{'' if reduced.end_reason == 'smallest' else ', and not to the end'}.",
    ]
    for path, document in zip(pack.models, reduced.candidate.documents, strict=True):
        parts += [f"`{path.name}`:", _code_block(document.text().strip().split("\n"))]
    return "\n\n".join(parts) + "\n"


def _expected_and_actual(shown: Observation, about: FindingSource) -> list[str]:
    if shown.kind in _FAILURE_TEXTS:
        expected = [line for name, value in shown.outputs.items() for line in _assignment_lines(name, value)]
        return [
            "## Expected",
            _code_block(expected),
            "## What came",
            _code_block((shown.text or shown.kind).splitlines()),
        ]
    if shown.kind == "stop":
        return ["## What came", f"loopdbg: {_escape_markdown(shown.text)}."]
    if shown.kind in ("nan", "inf"):
        return [
            "## Expected",
            "Numbers: nothing that goes in is NaN or infinite.",
            "## What came",
            _code_block(_assignment_lines(shown.output, shown.actual)),
        ]
    first = "What the specification asks for" if about.peer else about.models[0]
    then = f"{about.peer} {about.version}" if about.peer else about.models[-1]
    return [
        "## Expected",
        f"{_escape_markdown(first)}:\n\n{_code_block(_assignment_lines(shown.output, shown.expected))}",
        "## What came",
        f"{_escape_markdown(then)}:\n\n{_code_block(_assignment_lines(shown.output, shown.actual))}",
    ]


def _escape_markdown(text: str) -> str:
    """Text with names out of files, as Markdown: one line without code, links, images and HTML."""
    return re.sub(r"([\\`<>\[\]|&])", r"\\\1", escape_unprintable(text))


def _code_block(lines: Sequence[str]) -> str:
    """Lines as a block of code, which nothing in them ends."""
    text = escape_lines(lines)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _assignment_lines(name: str, value: Any) -> list[str]:
    first, *more = _value_text(value).split("\n")
    return [f"{name} = {first}", *more]


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"sequence of {len(value)}: {', '.join(_value_text(one) for one in value[:4])}"[:_MAX_VALUE_CHARS]
    array = np.asarray(value)
    text = np.array2string(array, max_line_width=110, threshold=40)[:_MAX_VALUE_CHARS]
    return f"{array.dtype.name}{list(array.shape)}\n{text}" if array.ndim else f"{array.dtype.name} {text}"


def _known_reasons(reduced: ReductionResult, about: FindingSource) -> list[str]:
    """What is known of it already."""
    if not about.peer:
        return []
    graph = reduced.candidate.documents[0].build_model().graph
    notes = [*graph.notes, *(note for loop in loops(graph) for note in loop.notes)]
    effects = ("failure",) if reduced.observation.kind in _FAILURE_TEXTS else ("values", "trips")
    found = [one for effect in effects for one in reasons_predicting(reasons_from_notes(notes), effect, about.peer)]
    return ["## Known", *dict.fromkeys(_escape_markdown(f"{one.rule}: {one.text}") for one in found)] if found else []


def _commands(pack: ReproFolder, about: FindingSource) -> str:
    lines = []
    for path in pack.files:
        if path.suffix == ".py":
            package = path.stem.removeprefix("run_")
            lines.append(f"pip install {package}; python {path.name}")
    lines += [line.format(model=pack.models[0].name) for line in about.commands]
    return f"{_code_block(lines)}\n\nA script ends with status 1 where the finding shows."


def _script_results(pack: ReproFolder) -> list[str]:
    if not pack.script_runs:
        return []
    rows = [f"| `{one.script}` | {one.status} | {_escape_markdown(one.last_line)} |" for one in pack.script_runs]
    return ["Here:", "\n".join(["| script | status | last line |", "| --- | --- | --- |", *rows])]


def _versions(about: FindingSource) -> list[str]:
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
