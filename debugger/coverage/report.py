"""The coverage of runs, what ``model.coverage()`` returns, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.graph.graph_json import graph_digest
from ...runtime.lazy_function_registry import load_plugin
from ...runtime.model import Model
from ...runtime.text import count_text, escape_unprintable
from .points import CoveragePoint, PointKind, by_loop, points

#: The kinds of points in the columns of a table.
_COLUMNS = tuple(kind for kind in PointKind if kind is not PointKind.NODE)


@dataclass(frozen=True)
class Coverage:
    """Which points of a model's loops runs hit.

    ``hits``: the ids of the points that at least one run hit. ``digest``: of the model; coverage of one model can be
    added up: ``a | b``. ``runs``: the number of runs.

    >>> coverage = model.coverage(inputs)
    >>> coverage.covered, coverage.total
    (2, 4)
    """

    model: str
    digest: str
    points: tuple[CoveragePoint, ...]
    hits: frozenset[str] = frozenset()
    runs: int = 0

    @classmethod
    def of_model(cls, model: Model, hits: frozenset[str] = frozenset(), runs: int = 0) -> Coverage:
        """The coverage of a model, without points that it does not have.

        >>> loopdbg.Coverage.of_model(model).covered
        0
        """
        members = points(model.graph)
        return cls(model.name, graph_digest(model.graph), members, hits & {point.id for point in members}, runs)

    @property
    def counted(self) -> tuple[CoveragePoint, ...]:
        """The points that count: not the nodes, which follow from branches and iterations, nor a loop without end.

        >>> [str(point) for point in model.coverage(inputs).counted][:1]
        ['main ▸ sqrt: iterations zero']
        """
        return tuple(point for point in self.points if point.kind is not PointKind.NODE and not point.is_fault)

    @property
    def total(self) -> int:
        """The number of points that count.

        >>> model.coverage(inputs).total
        4
        """
        return len(self.counted)

    @property
    def covered(self) -> int:
        """The number of points that count and were hit.

        >>> model.coverage(inputs).covered
        2
        """
        return sum(point.id in self.hits for point in self.counted)

    @property
    def percent(self) -> float:
        """The share of points that were hit, in percent; 100 where there are none.

        >>> model.coverage(inputs).percent
        50.0
        """
        return 100.0 * self.covered / self.total if self.total else 100.0

    @property
    def missed(self) -> tuple[CoveragePoint, ...]:
        """The points that count and were not hit.

        >>> [str(point) for point in model.coverage(inputs).missed]
        ['main ▸ sqrt: iterations zero', 'main ▸ sqrt: iterations one']
        """
        return tuple(point for point in self.counted if point.id not in self.hits)

    @property
    def idle_nodes(self) -> tuple[CoveragePoint, ...]:
        """The nodes that never ran.

        >>> model.coverage(inputs).idle_nodes
        ()
        """
        return tuple(point for point in self.points if point.kind is PointKind.NODE and point.id not in self.hits)

    @property
    def faults(self) -> tuple[CoveragePoint, ...]:
        """The loops that did not end in a run.

        >>> model.coverage(inputs).faults
        ()
        """
        return tuple(point for point in self.points if point.is_fault and point.id in self.hits)

    def __or__(self, other: Coverage) -> Coverage:
        """The coverage of the runs of both.

        Raises:
            UsageError: they are of different models.
        """
        if self.digest != other.digest:
            raise UsageError(f"coverage of {self.model} cannot be added to that of {other.model}: another model")
        return replace(self, hits=self.hits | other.hits, runs=self.runs + other.runs)

    def to_json(self) -> dict[str, Any]:
        """The coverage as a JSON object.

        >>> model.coverage(inputs).to_json()["covered"]
        2
        """
        return {
            "model": self.model,
            "digest": self.digest,
            "runs": self.runs,
            "covered": self.covered,
            "total": self.total,
            "percent": self.percent,
            "points": [{**asdict(p), "kind": p.kind.value, "hit": p.id in self.hits} for p in self.points],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Coverage:
        """Read what :meth:`to_json` returns.

        >>> coverage = model.coverage(inputs)
        >>> loopdbg.Coverage.from_json(coverage.to_json()) == coverage
        True
        """
        rows = data["points"]
        names = ("id", "loop", "node", "op_type", "way")
        members = tuple(CoveragePoint(**{k: row[k] for k in names}, kind=PointKind(row["kind"])) for row in rows)
        hits = frozenset(row["id"] for row in rows if row["hit"])
        return cls(data["model"], data["digest"], members, hits, data["runs"])

    def __str__(self) -> str:
        return "\n".join(coverage_lines(self))

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("text", self)
        return html


def coverage_lines(coverage: Coverage) -> Iterator[str]:
    """The lines of a coverage: the total, a table of the loops, what was missed."""
    yield summary_line(coverage)
    rows = list(loop_rows(coverage))
    if not rows:
        return
    yield ""
    titles = ("loop", *(kind.value for kind in _COLUMNS), "nodes")
    used = [k for k in range(len(titles)) if k == 0 or any(row[k] for row in rows)]
    table = [[titles[k] for k in used], *([row[k] or "-" for k in used] for row in rows)]
    widths = [max(len(line[k]) for line in table) for k in range(len(used))]
    for line in table:
        yield "  ".join(
            [line[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True))]
        )
    for title, selection in (("missed", coverage.missed), ("never ended", coverage.faults)):
        if selection:
            yield ""
            yield f"{title}:"
            yield from (f"  {line}" for line in _point_lines(selection))
    if coverage.idle_nodes:
        yield ""
        yield "nodes never run:"
        for loop, idle in by_loop(coverage.idle_nodes):
            names = ", ".join(escape_unprintable(f"{point.op_type} '{point.node}'") for point in idle)
            yield f"  {escape_unprintable(loop)}: {names}"


def summary_line(coverage: Coverage) -> str:
    """One line: how much is covered, by how many runs."""
    name = escape_unprintable(coverage.model)
    if not coverage.total:
        return f"{name}: no loops, so nothing to cover"
    return (
        f"{name}: {coverage.covered} of {count_text(coverage.total, 'point')} covered "
        f"({coverage.percent:.1f}%) by {count_text(coverage.runs, 'run')}"
    )


def loop_rows(coverage: Coverage) -> Iterator[list[str]]:
    """For each loop its path, and by kind how many of its points were hit; empty where it has none."""
    for loop, own in by_loop(coverage.points):
        row = [escape_unprintable(loop)]
        for kind in (*_COLUMNS, PointKind.NODE):
            members = [point for point in own if point.kind is kind and not point.is_fault]
            row.append(f"{sum(point.id in coverage.hits for point in members)}/{len(members)}" if members else "")
        yield row


def _point_lines(selection: tuple[CoveragePoint, ...]) -> Iterator[str]:
    """Points of one node and kind in one line."""
    groups: dict[tuple[str, str, PointKind], list[CoveragePoint]] = {}
    for point in selection:
        groups.setdefault((point.loop, point.node, point.kind), []).append(point)
    for (loop, node, kind), members in groups.items():
        name = f" {members[0].op_type} '{node}'" if node else ""
        yield escape_unprintable(f"{loop}{name}: {kind.value} {', '.join(point.way for point in members)}")
