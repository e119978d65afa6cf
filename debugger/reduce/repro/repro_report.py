"""The README.md of a reproducer: expected and actual values, versions, and commands."""

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
from ...compare.report.runtime_differences import reasons_from_notes, reasons_predicting
from ...peers.command_template import fill_command_placeholders
from ...peers.external_program import INPUTS_FOLDER, OUTPUTS_FOLDER
from ..initial_candidate import Finding
from ..interestingness import Observation
from ..reducer import ReductionResult
from .repro_folder import ReproFolder

#: Maximum length of a printed value.
_MAX_VALUE_CHARS = 1000
_FAILURE_TEXTS = {
    "refused": "refuses the model",
    "failed": "fails while it runs the model",
    "crashed": "crashes",
    "hung": "does not come to an end",
}


@dataclass(frozen=True)
class FindingSource:
    """The source of a finding. ``peer``: the runtime that differs, with its version and configuration; empty for two
    models, a NaN, or a stop."""

    models: Sequence[str]
    peer: str = ""
    version: str = ""
    configuration: Mapping[str, str] = field(default_factory=dict)
    #: The user's command whose success is the finding.
    command: str = ""
    #: The expression of the breakpoint.
    expression: str = ""
    #: Commands to examine the folder with loopdbg; ``{model}``: the file.
    commands: Sequence[str] = ()


def finding_title(source: FindingSource, reduced: ReductionResult) -> str:
    """Return the finding in one line."""
    result = reduced.observation
    if source.command:
        return "A test succeeds"
    if source.peer:
        runtime = f"{source.peer} {source.version}".strip()
        if result.kind in _FAILURE_TEXTS:
            return f"{runtime} {_FAILURE_TEXTS[result.kind]}"
        return f"{runtime} gives another {'value' if result.kind == 'value' else result.kind} of '{result.output}'"
    if len(source.models) == 2:
        return f"{source.models[0]} and {source.models[1]} give two values of '{result.output}'"
    if result.kind == "stop":
        return f"'{source.expression}' is true"
    steps = reduced.candidate.documents[0].nodes()
    maker = next((step.op_type for step in steps if result.output in step.outputs), "the model")
    return f"{maker} makes {'a NaN' if result.kind == 'nan' else 'an infinity'}: '{result.output}'"


def report_text(pack: ReproFolder, reduced: ReductionResult, finding: Finding, source: FindingSource) -> str:
    """Return the whole text."""
    result, title = reduced.observation, finding_title(source, reduced)
    parts = [
        f"# {_escape_markdown(title)}",
        *_expected_and_actual_sections(result, source),
        *_known_reason_section(reduced, source),
        "## To see it",
        _command_lines(pack, source),
        *_script_results_section(pack),
        "## Versions",
        "\n".join(f"- {_escape_markdown(line)}" for line in _version_lines(source)),
        "## The model",
        f"Reduced from {_escape_markdown(' and '.join(source.models))}: {finding.original_node_count} nodes before, "
        f"{reduced.candidate.node_count} now, in {count_text(reduced.tests, 'test')}"
        f"{'' if reduced.end_reason == 'smallest' else ', and not to the end'}.",
    ]
    for path, document in zip(pack.models, reduced.candidate.documents, strict=True):
        parts += [f"`{path.name}`:", _code_block(document.text().strip().split("\n"))]
    return "\n\n".join(parts) + "\n"


def _expected_and_actual_sections(result: Observation, source: FindingSource) -> list[str]:
    if result.kind in _FAILURE_TEXTS:
        expected = [line for name, value in result.outputs.items() for line in _assignment_lines(name, value)]
        return [
            "## Expected",
            _code_block(expected),
            "## What came",
            _code_block((result.text or result.kind).splitlines()),
        ]
    if result.kind == "stop":
        return ["## What came", f"loopdbg: {_escape_markdown(result.text)}."]
    if result.kind == "command":
        return ["## What came", "This command ends with status 0:", _code_block([result.text])]
    if result.kind in ("nan", "inf"):
        return [
            "## Expected",
            "Numbers: nothing that goes in is NaN or infinite.",
            "## What came",
            _code_block(_assignment_lines(result.output, result.actual)),
        ]
    first = "What the specification asks for" if source.peer else source.models[0]
    second = f"{source.peer} {source.version}".strip() if source.peer else source.models[-1]
    return [
        "## Expected",
        f"{_escape_markdown(first)}:\n\n{_code_block(_assignment_lines(result.output, result.expected))}",
        "## What came",
        f"{_escape_markdown(second)}:\n\n{_code_block(_assignment_lines(result.output, result.actual))}",
    ]


def _escape_markdown(text: str) -> str:
    """Escape text from files for Markdown: one line without code, links, images and HTML."""
    return re.sub(r"([\\`<>\[\]|&])", r"\\\1", escape_unprintable(text))


def _code_block(lines: Sequence[str]) -> str:
    """Lines as a block of code that their contents cannot end."""
    text = escape_lines(lines)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _assignment_lines(name: str, value: Any) -> list[str]:
    first, *rest = _value_text(value).split("\n")
    return [f"{name} = {first}", *rest]


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"sequence of {len(value)}: {', '.join(_value_text(item) for item in value[:4])}"[:_MAX_VALUE_CHARS]
    array = np.asarray(value)
    text = np.array2string(array, max_line_width=110, threshold=40)[:_MAX_VALUE_CHARS]
    return f"{array.dtype.name}{list(array.shape)}\n{text}" if array.ndim else f"{array.dtype.name} {text}"


def _known_reason_section(reduced: ReductionResult, source: FindingSource) -> list[str]:
    """Known reasons for the finding."""
    if not source.peer:
        return []
    graph = reduced.candidate.documents[0].build_model().graph
    notes = [*graph.notes, *(note for loop in loops(graph) for note in loop.notes)]
    effects = ("failure",) if reduced.observation.kind in _FAILURE_TEXTS else ("values", "trips")
    items = [r for effect in effects for r in reasons_predicting(reasons_from_notes(notes), effect, source.peer)]
    return ["## Known", *dict.fromkeys(_escape_markdown(f"{r.rule}: {r.text}") for r in items)] if items else []


def _command_lines(pack: ReproFolder, source: FindingSource) -> str:
    lines = []
    for path in pack.files:
        if path.suffix == ".py":
            package = path.stem.removeprefix("run_")
            lines.append(f"pip install {package}; python {path.name}")
    lines += _program_lines(pack, source)
    lines += [line.format(model=pack.models[0].name) for line in source.commands]
    return f"{_code_block(lines)}\n\nA script ends with status 1 where the finding shows."


def _program_lines(pack: ReproFolder, source: FindingSource) -> list[str]:
    """The command of a peer or a test, for the files of the folder."""
    command = source.command or source.configuration.get("command", "")
    names = {"{model}": pack.models[0].name, "{inputs}": INPUTS_FOLDER, "{outputs}": OUTPUTS_FOLDER}
    return [f"mkdir -p {OUTPUTS_FOLDER}", fill_command_placeholders(command, names)] if command else []


def _script_results_section(pack: ReproFolder) -> list[str]:
    if not pack.script_runs:
        return []
    rows = [f"| `{run.script}` | {run.status} | {_escape_markdown(run.last_line)} |" for run in pack.script_runs]
    return ["Here:", "\n".join(["| script | status | last line |", "| --- | --- | --- |", *rows])]


def _version_lines(source: FindingSource) -> list[str]:
    lines = [f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"]
    if source.peer:
        settings = ", ".join(f"{name}={value}" for name, value in source.configuration.items())
        lines.append(f"{source.peer} {source.version}".strip() + (f" ({settings})" if settings else ""))
    for package in ("loopdbg", "numpy", "onnx"):
        try:
            lines.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return lines
