"""The report of a check: lines, JSON, and cases for JUnit and annotations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ....debugger.diagnostics.report import Diagnostic, finding_json
from ....debugger.export_formats.junit import JUnitCase
from ....debugger.peer_trials.target_report import TargetReport
from ....debugger.peer_trials.trial import Trial
from ....debugger.portability.check import RuleFinding
from ....debugger.portability.known_differences import SPECIFICATION, TargetVerdict
from ....runtime.graph import MAIN, Node, walk
from ....runtime.model import Model
from ....runtime.text import count_text, escape_unprintable
from ..execution.ci_checks import repository_path
from .fix import WrittenFixes, fix_json, fix_lines


@dataclass(frozen=True)
class ModelReport:
    """The result for one model. ``model``: None where it cannot be read; ``error``: why; ``fixes``: with ``--fix``, and
    then ``targets`` are those of the model that was written."""

    path: str
    model: Model | None
    targets: Sequence[TargetReport]
    error: str = ""
    #: What is suspicious in a run with the inputs.
    diagnostics: Sequence[Diagnostic] = ()
    fixes: WrittenFixes | None = None


def check_report_lines(report: ModelReport) -> Iterator[str]:
    """The report as text: a line for each finding, then one for each target."""
    yield escape_unprintable(report.path)
    if report.fixes is not None:
        yield from fix_lines(report.fixes)
    for target in report.targets:
        for finding, count in _group_findings(target.findings):
            yield f"  {escape_unprintable(_finding_line(finding, target, count))}"
        for text in target.contradictions:
            yield f"  {target.target}: CONTRADICTION: {escape_unprintable(text)}"
        if target.trials and not target.trials[0].alike:
            whole, *alone = target.trials
            yield f"  {target.target}: run of the model: {escape_unprintable(whole.text)}"
            for trial in alone:
                same = trial.text == whole.text or (trial.loads, whole.loads) == (False, False)
                yield f"  {target.target}: run of {escape_unprintable(trial.path)} alone: {_trial_text(trial, same)}"
    for diagnostic in report.diagnostics:
        yield f"  run: {escape_unprintable(str(diagnostic))}"
    width = max((len(target.target) for target in report.targets), default=0)
    for target in report.targets:
        yield f"  {target.target:<{width}}  {_verdict_text(target.target, target.verdict)}{_target_summary(target)}"


def check_report_json(reports: Sequence[ModelReport]) -> dict[str, Any]:
    """The reports as one JSON object."""
    return {
        "models": [
            {
                "model": report.path,
                "error": report.error or None,
                "targets": [_target_json(target) for target in report.targets],
                "diagnostics": [finding_json(diagnostic) for diagnostic in report.diagnostics],
                "fix": None if report.fixes is None else fix_json(report.fixes),
            }
            for report in reports
        ]
    }


def check_report_junit_cases(report: ModelReport) -> Iterator[JUnitCase]:
    """A failed case for each finding and contradiction, and a passed one for each target without them."""
    name = Path(report.path).name
    nodes = _nodes_by_name(report.model)
    for target in report.targets:
        group = f"{name}.{target.target}"
        for finding, count in _group_findings(target.findings):
            line = _finding_line(finding, target, count)
            case = f"{finding.rule or finding.source} {finding.path} {finding.node}".strip()
            yield JUnitCase(
                case,
                group,
                failure=(line,),
                kind=finding.verdict.value,
                **_source_position(finding.node, nodes, report.model),
            )
        for text in target.contradictions:
            yield JUnitCase(text, group, error=(text,), kind="contradiction")
        if not target.findings and not target.contradictions:
            yield JUnitCase("loads and behaves alike", group)
    for diagnostic in report.diagnostics:
        case = f"{diagnostic.kind.value} {diagnostic.loop} {diagnostic.node}"
        position = _source_position(diagnostic.node, nodes, report.model)
        yield JUnitCase(case, f"{name}.run", failure=(str(diagnostic),), kind="diagnose", **position)


def _target_json(target: TargetReport) -> dict[str, Any]:
    return {
        "target": target.target,
        "verdict": target.verdict.value,
        "version": target.version or None,
        "findings": [
            {key: value for key, value in asdict(finding).items() if key != "target"}
            | {"verdict": finding.verdict.value, "evidence": list(finding.evidence)}
            for finding in target.findings
        ],
        "trials": [
            {key: value for key, value in asdict(trial).items() if key not in ("target", "version")}
            | {"rules": list(trial.rules)}
            for trial in target.trials
        ],
        "contradictions": list(target.contradictions),
    }


def _group_findings(findings: Sequence[RuleFinding]) -> list[tuple[RuleFinding, int]]:
    """Findings of one rule are one line, with their number."""
    groups: dict[tuple[str, TargetVerdict, str, bool | None], list[RuleFinding]] = {}
    for finding in findings:
        key = (finding.rule, finding.verdict, finding.source, finding.confirmed)
        groups.setdefault(key, []).append(finding)
    return [(group[0], len(group)) for group in groups.values()]


def _finding_line(finding: RuleFinding, target: TargetReport, count: int) -> str:
    place = finding.path
    if finding.node and not finding.path.endswith(f" {finding.node}"):
        place = f"{finding.path}, node '{finding.node}'"
    elif finding.path == MAIN:
        place = "the model"
    more = f" ({count - 1} more like it)" if count > 1 else ""
    evidence = f" Evidence: {', '.join(finding.evidence)}." if finding.evidence else ""
    remedy = f" To do: {finding.remedy}." if finding.remedy else ""
    return (
        f"{finding.target}: {place}: {_verdict_text(finding.target, finding.verdict)}"
        f" [{_source_text(finding, target)}]: {finding.text.rstrip('.')}{more}.{evidence}{remedy}"
    )


def _source_text(finding: RuleFinding, target: TargetReport) -> str:
    if finding.source == "run":
        rule = f", rule {finding.rule}" if finding.rule else ""
        return f"run with {target.version}{rule}"
    outcomes = {
        True: f"; a run with {target.version} agrees",
        False: f"; not seen in a run with {target.version}, with these inputs",
        None: ", not run",
    }
    return f"rule {finding.rule}{outcomes[finding.confirmed]}"


def _verdict_text(target: str, verdict: TargetVerdict) -> str:
    return "is not valid" if target == SPECIFICATION and verdict is TargetVerdict.DOES_NOT_LOAD else verdict.value


def _trial_text(trial: Trial, same: bool) -> str:
    """The result of a loop alone; ``same``: as that of the whole model."""
    if same:
        return "refused too" if not trial.loads else "as the model"
    return escape_unprintable(trial.text)


def _target_summary(target: TargetReport) -> str:
    count = f", {count_text(len(target.findings), 'finding')}" if target.findings else ""
    whole = next(iter(target.trials), None)
    if whole is None or not target.version:
        return f"{count} (by rules)"
    return f"{count} (run with {target.version}: {'the same' if whole.alike else 'see above'})"


def _nodes_by_name(model: Model | None) -> dict[str, Node]:
    return {} if model is None else {node.name: node for node in walk(model.graph)}


def _source_position(name: str, nodes: dict[str, Node], model: Model | None) -> dict[str, Any]:
    """The source position of a node, if the model has it."""
    node = nodes.get(name)
    if node is None or model is None or not node.origin.file:
        return {}
    return {"file": repository_path(node.origin, model.graph), "line": node.origin.line}
