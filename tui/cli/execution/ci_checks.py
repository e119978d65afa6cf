"""Results of the checks of a run, for ``--junit`` and for annotations (``--github``)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ....runtime.errors import LoopdbgError
from ....runtime.text import escape_lines, escape_unprintable
from .. import terminal
from ..remedies import error_text

if TYPE_CHECKING:
    from ....debugger.coverage.report import Coverage
    from ....debugger.export_formats.junit import JUnitCase
    from ....runtime.graph import Graph, Loop, Node, Origin
    from ....runtime.model import Run

#: Exit status of a run with findings of ``--diagnose``.
DIAGNOSED_STATUS = 10
#: The case of the run itself.
_RUN_CASE = "run"
#: Escapes in GitHub workflow commands: of messages, and of properties.
_MESSAGE_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY_ESCAPES = {**_MESSAGE_ESCAPES, ":": "%3A", ",": "%2C"}


class CheckReport:
    """The checks of one run. As a context manager it writes the reports at the end, including an error that ended the
    run; no-op without either option."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._junit: Path | None = options.junit
        self._github: bool = options.github
        self._model = Path(options.model).name
        self._cases: list[JUnitCase] = []
        #: The graph of the model, once loaded: it has the source positions of nodes.
        self.graph: Graph | None = None
        #: What the run covered, with --coverage.
        self.coverage: Coverage | None = None

    @property
    def is_requested(self) -> bool:
        """Whether a report is requested."""
        return self._junit is not None or self._github

    def __enter__(self) -> CheckReport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, SystemExit):
            return
        if error is not None:
            text = error_text(error) if isinstance(error, LoopdbgError) else str(error)
            self.record_error(text or type(error).__name__, type(error).__name__)
        self.write_reports()

    # -- results

    def record_run(self, run: Run, seconds: float) -> None:
        """Record a run that ended or hit a limit."""
        properties = {f"{loop.path}: iterations": loop.iterations for loop in run.loops}
        reasons = {f"{loop.path}: stopped by": loop.stopped_by.value for loop in run.loops if loop.stopped_by}
        covered = {} if self.coverage is None else coverage_properties(self.coverage)
        self._add_case(_RUN_CASE, seconds=seconds, properties={**properties, **reasons, **covered})

    def record_pass(self, name: str) -> None:
        """Record a passed check."""
        self._add_case(name)

    def record_failure(
        self, name: str, text: str, kind: str, values: Collection[str] = (), loop: Loop | None = None, node: str = ""
    ) -> None:
        """Record a failed check. ``values``: the values concerned, in the body of ``loop``, or ``node``."""
        origin = self._node_origin(node) if node else self._value_origin(values, loop)
        self._add_case(name, failure=(text,), kind=kind, origin=origin)

    def record_error(self, text: str, kind: str, name: str = _RUN_CASE) -> None:
        """Record a check that could not be evaluated; by default the run itself."""
        self._add_case(name, error=(text,), kind=kind, origin=self._message_origin(text))

    def record_remaining_passes(self, names: Collection[str]) -> None:
        """Record a pass for each name without another result."""
        recorded = {case.name for case in self._cases}
        for name in names:
            if name not in recorded:
                self.record_pass(name)

    def report_abandoned_run(self, text: str) -> None:
        """Write the reports before the process is aborted by a timeout."""
        self.record_error(text, "OutOfTime")
        self.write_reports()

    def _add_case(self, name: str, *, origin: Origin | None = None, **details: Any) -> None:
        if not self.is_requested:
            return
        from ....debugger.export_formats.junit import JUnitCase

        if origin is not None and origin.file:
            assert self.graph is not None
            details.update(file=repository_path(origin, self.graph), line=origin.line)
        self._cases.append(JUnitCase(name, self._model, **details))

    # -- source positions

    def _value_origin(self, values: Collection[str], loop: Loop | None) -> Origin | None:
        """The source position of the node that computes the first of some values."""
        if not self.is_requested or self.graph is None:
            return None
        from ....runtime.graph import walk

        carried = {edge.param.name: edge.result.name for edge in loop.back_edges} if loop is not None else {}
        computed = {carried.get(name, name) for name in values}
        nodes = walk(self.graph if loop is None else loop.body)
        return next((node.origin for node in nodes if node.origin.file and _computes_any(node, computed)), None)

    def _node_origin(self, name: str) -> Origin | None:
        """The source position of a node."""
        if not self.is_requested or self.graph is None:
            return None
        from ....runtime.graph import walk

        return next((node.origin for node in walk(self.graph) if node.name == name), None)

    def _message_origin(self, text: str) -> Origin | None:
        """The source position of the node that a message begins with."""
        if not self.is_requested or self.graph is None:
            return None
        from ....runtime.graph import walk

        return next((node.origin for node in walk(self.graph) if text.startswith(node.describe())), None)

    # -- reports

    def write_reports(self) -> None:
        """Write the JUnit report and the GitHub annotations.

        Raises:
            UsageError: The report cannot be written.
        """
        if self._github:
            for line in github_annotations(self._cases):
                terminal.err_workflow_command(line)
        if self._junit is not None:
            from ....debugger.export_formats.junit import write_report

            write_report(self._junit, self._cases, f"loopdbg run {self._model}")


def coverage_properties(coverage: Coverage) -> dict[str, object]:
    """Coverage as properties of a test."""
    return {
        "coverage": f"{coverage.percent:.1f}",
        "coverage: points": f"{coverage.covered} of {coverage.total}",
        "coverage: missed": "; ".join(map(str, coverage.missed)),
    }


def repository_path(origin: Origin, graph: Graph) -> str:
    """The path of a source file relative to the repository root if it exists in it, else as the exporter wrote it."""
    root = os.path.realpath(os.environ.get("GITHUB_WORKSPACE") or os.curdir)
    for path in (origin.file, os.path.join(graph.folder, origin.file_name)):
        resolved = os.path.realpath(path)
        if os.path.isfile(resolved) and resolved.startswith(f"{root}{os.sep}"):
            return os.path.relpath(resolved, root)
    return origin.file


def _computes_any(node: Node, names: Collection[str]) -> bool:
    return any(value is not None and value.name in names for value in node.outputs)


def github_annotations(cases: Collection[JUnitCase]) -> Iterator[str]:
    """Error annotations as workflow commands of GitHub Actions, which reads both streams."""
    for case in cases:
        lines = case.error or case.failure
        if lines:
            position = {"file": case.file, "line": case.line or ""} if case.file else {}
            fields = {**position, "title": f"{case.classname}: {case.name}"}
            properties = ",".join(
                f"{word}={_escape(escape_unprintable(str(value)), _PROPERTY_ESCAPES)}"
                for word, value in fields.items()
                if value
            )
            yield f"::error {properties}::{_escape(escape_lines(lines), _MESSAGE_ESCAPES)}"


def _escape(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)
