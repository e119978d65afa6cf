"""Coverage next to the pseudo-code of a model: a mark for each line, and what was missed there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ...runtime.graph import Graph, Node
from ..describe.pseudo_code import build_pseudo_code
from .points import CoveragePoint, PointKind, point_sites
from .report import Coverage


class CoverageMark(StrEnum):
    """How much of a line is covered."""

    COVERED = "+"
    PARTIAL = "~"
    MISSED = "-"


@dataclass(frozen=True)
class NodeCoverage:
    """The coverage of a node, or of a loop by itself. ``missed``: the points that no run hit."""

    mark: CoverageMark
    missed: tuple[CoveragePoint, ...]

    @property
    def missed_text(self) -> str:
        """What was missed: ``then first, then last``; of a node that never ran: ``never ran``."""
        if self.mark is CoverageMark.MISSED:
            return "never ran"
        return ", ".join(f"{point.kind.value} {point.way}" for point in self.missed)


def node_coverage(graph: Graph, coverage: Coverage) -> dict[Node, NodeCoverage]:
    """The coverage of the nodes in loops, and of the loops."""
    points: dict[Node, list[CoveragePoint]] = {}
    for site in point_sites(graph):
        if not site.point.is_fault:
            points.setdefault(site.node or site.loop, []).append(site.point)
    return {node: _node_coverage(members, coverage) for node, members in points.items()}


def _node_coverage(members: list[CoveragePoint], coverage: Coverage) -> NodeCoverage:
    missed = tuple(point for point in members if point.id not in coverage.hits)
    if not missed:
        return NodeCoverage(CoverageMark.COVERED, ())
    never_ran = len(missed) == len(members) or any(point.kind is PointKind.NODE for point in missed)
    return NodeCoverage(CoverageMark.MISSED if never_ran else CoverageMark.PARTIAL, missed)


def lines_with_coverage(graph: Graph, coverage: Coverage) -> Iterator[tuple[str, str, str]]:
    """The lines of the main graph's pseudo-code: the mark (empty outside of loops), the text, what was missed."""
    by_node = node_coverage(graph, coverage)
    for line in build_pseudo_code(graph).lines:
        of_node = None if line.node is None else by_node.get(line.node)
        yield ("", str(line), "") if of_node is None else (of_node.mark.value, str(line), of_node.missed_text)
