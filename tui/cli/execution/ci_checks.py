"""What a run is checked for and what came of it, a case each: for ``--junit``, and for annotations (``--github``)."""

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
    from ....debugger.export_formats.junit import JUnitCase
    from ....runtime.graph import Graph, Loop, Node, Origin
    from ....runtime.model import Run

#: The case of the run itself.
_RUN_CASE = "run"
#: What stands for itself in a GitHub command, and how it is written there; and of its properties.
_MESSAGE_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY_ESCAPES = {**_MESSAGE_ESCAPES, ":": "%3A", ",": "%2C"}


class CheckReport:
    """The checks of one run. As a context manager it tells of them at the end, and of an error that ended the run;
    where neither option asks for that, it keeps nothing."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._junit: Path | None = options.junit
        self._github: bool = options.github
        self._model = Path(options.model).name
        self._cases: list[JUnitCase] = []
        #: The model, once it is read: it knows where its nodes were written.
        self.graph: Graph | None = None

    @property
    def is_requested(self) -> bool:
        """Whether anybody asks for cases."""
        return self._junit is not None or self._github

    def __enter__(self) -> CheckReport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if isinstance(error, SystemExit):
            return
        if error is not None:
            text = error_text(error) if isinstance(error, LoopdbgError) else str(error)
            self.record_error(text or type(error).__name__, type(error).__name__)
        self.write_reports()

    # -- what came of it

    def record_run(self, run: Run, seconds: float) -> None:
        """The run came to its end, or to that of a limit."""
        properties = {f"{loop.path}: iterations": loop.iterations for loop in run.loops}
        reasons = {f"{loop.path}: stopped by": loop.stopped_by.value for loop in run.loops if loop.stopped_by}
        self._add_case(_RUN_CASE, seconds=seconds, properties={**properties, **reasons})

    def record_pass(self, name: str) -> None:
        """Something is as it should be."""
        self._add_case(name)

    def record_failure(
        self, name: str, text: str, kind: str, values: Collection[str] = (), loop: Loop | None = None
    ) -> None:
        """Something is not as it should be. ``values``: what it is about, within the body of ``loop``."""
        self._add_case(name, failure=(text,), kind=kind, origin=self._value_origin(values, loop))

    def record_error(self, text: str, kind: str, name: str = _RUN_CASE) -> None:
        """Something could not be found out: the run itself, where nothing else is named."""
        self._add_case(name, error=(text,), kind=kind, origin=self._message_origin(text))

    def record_remaining_passes(self, names: Collection[str]) -> None:
        """All of these of which nothing else was said passed."""
        there = {case.name for case in self._cases}
        for name in names:
            if name not in there:
                self.record_pass(name)

    def report_abandoned_run(self, text: str) -> None:
        """The process ends here, for lack of an answer."""
        self.record_error(text, "OutOfTime")
        self.write_reports()

    def _add_case(self, name: str, *, origin: Origin | None = None, **about: Any) -> None:
        if not self.is_requested:
            return
        from ....debugger.export_formats.junit import JUnitCase

        if origin is not None and origin.file:
            about.update(file=self._repository_path(origin), line=origin.line)
        self._cases.append(JUnitCase(name, self._model, **about))

    # -- where it was written

    def _value_origin(self, values: Collection[str], loop: Loop | None) -> Origin | None:
        """Where the first of some values is computed, by what a model tells of its nodes."""
        if not self.is_requested or self.graph is None:
            return None
        from ....runtime.graph import walk

        carried = {edge.param.name: edge.result.name for edge in loop.back_edges} if loop is not None else {}
        wanted = {carried.get(name, name) for name in values}
        nodes = walk(self.graph if loop is None else loop.body)
        return next((node.origin for node in nodes if node.origin.file and _computes_any(node, wanted)), None)

    def _message_origin(self, text: str) -> Origin | None:
        """Where the node was written that a message begins with."""
        if not self.is_requested or self.graph is None:
            return None
        from ....runtime.graph import walk

        return next((node.origin for node in walk(self.graph) if text.startswith(node.describe())), None)

    def _repository_path(self, origin: Origin) -> str:
        """The file as seen from the root of what is checked out, where it is there; else as the exporter wrote it."""
        assert self.graph is not None
        root = os.path.realpath(os.environ.get("GITHUB_WORKSPACE") or os.curdir)
        for path in (origin.file, os.path.join(self.graph.folder, origin.file_name)):
            found = os.path.realpath(path)
            if os.path.isfile(found) and found.startswith(f"{root}{os.sep}"):
                return os.path.relpath(found, root)
        return origin.file

    # -- telling

    def write_reports(self) -> None:
        """Write the report, and what GitHub shows beside the lines of a change.

        Raises:
            UsageError: the report cannot be written.
        """
        if self._github:
            for line in _github_annotations(self._cases):
                terminal.err_command(line)
        if self._junit is not None:
            from ....debugger.export_formats.junit import write_report

            write_report(self._junit, self._cases, f"loopdbg run {self._model}")


def _computes_any(node: Node, names: Collection[str]) -> bool:
    return any(value is not None and value.name in names for value in node.outputs)


def _github_annotations(cases: Collection[JUnitCase]) -> Iterator[str]:
    """Workflow commands of GitHub Actions, which reads them on either stream."""
    for case in cases:
        lines = case.error or case.failure
        if lines:
            place = {"file": case.file, "line": case.line or ""} if case.file else {}
            about = {**place, "title": f"{case.classname}: {case.name}"}
            named = ",".join(
                f"{word}={_escape(escape_unprintable(str(value)), _PROPERTY_ESCAPES)}"
                for word, value in about.items()
                if value
            )
            yield f"::error {named}::{_escape(escape_lines(lines), _MESSAGE_ESCAPES)}"


def _escape(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)
