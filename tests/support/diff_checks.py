"""For tests of diff: two models in ONNX's text form, compared, and what is reported about them."""

from __future__ import annotations

from typing import Any

import loopdbg
from loopdbg.debugger.compare.report.findings import Comparison
from loopdbg.debugger.compare.report.text_report import report_lines
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from text_models import model


def compare_models(
    left: str | loopdbg.Model, right: str | loopdbg.Model, most: int | None = None, **inputs: Any
) -> Comparison:
    """What a comparison of two models finds, both given the same inputs."""
    sides = [
        ModelSide(model(item) if isinstance(item, str) else item, inputs, most, label)
        for item, label in ((left, "left"), (right, "right"))
    ]
    return compare_sides(sides[0], sides[1], ComparisonOptions())


def static_differences(comparison: Comparison) -> list[tuple[str, str]]:
    """What is listed as written otherwise: its kind and the name on the left."""
    return [(difference.kind, difference.name) for difference in comparison.static_differences]


def report_text(comparison: Comparison) -> str:
    """The report."""
    return "\n".join(report_lines(comparison))


def blamed_cause(comparison: Comparison) -> str:
    """The node that is to blame, or where the difference comes from."""
    first = comparison.first
    cause = None if first is None else first.cause
    if cause is None:
        return ""
    if cause.node is not None:
        return f"{cause.node.op_type} {cause.node.name}"
    return cause.remark if cause.source is None else f"{cause.source.role} {cause.source.name}"
