"""What a run is checked for and what came of it, a case each: for ``--junit``, and for annotations (``--github``)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...runtime.errors import LoopdbgError
from ...runtime.text import printable, printable_lines
from . import terminal
from .remedies import told

if TYPE_CHECKING:
    from ...debugger.formats.junit import Case
    from ...runtime.graph import Graph, Loop, Node, Origin
    from ...runtime.model import Run

#: The case of the run itself.
_RUN = "run"
#: What stands for itself in a GitHub command, and how it is written there; and of its properties.
_ESCAPED = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_ESCAPED_TOO = {**_ESCAPED, ":": "%3A", ",": "%2C"}


class Checks:
    """The checks of one run. As a context manager it tells of them at the end, and of an error that ended the run;
    where neither option asks for that, it keeps nothing."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._junit: Path | None = options.junit
        self._github: bool = options.github
        self._model = Path(options.model).name
        self._cases: list[Case] = []
        #: The model, once it is read: it knows where its nodes were written.
        self.graph: Graph | None = None

    @property
    def wanted(self) -> bool:
        """Whether anybody asks for cases."""
        return self._junit is not None or self._github

    def __enter__(self) -> Checks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if isinstance(error, SystemExit):
            return
        if error is not None:
            text = told(error) if isinstance(error, LoopdbgError) else str(error)
            self.broken(text or type(error).__name__, type(error).__name__)
        self.tell()

    # -- what came of it

    def ran(self, run: Run, seconds: float) -> None:
        """The run came to its end, or to that of a limit."""
        properties = {f"{loop.path}: iterations": loop.iterations for loop in run.loops}
        reasons = {f"{loop.path}: stopped by": loop.stopped_by.value for loop in run.loops if loop.stopped_by}
        self._add(_RUN, seconds=seconds, properties={**properties, **reasons})

    def passed(self, name: str) -> None:
        """Something is as it should be."""
        self._add(name)

    def failed(self, name: str, text: str, kind: str, values: Collection[str] = (), loop: Loop | None = None) -> None:
        """Something is not as it should be. ``values``: what it is about, within the body of ``loop``."""
        self._add(name, failure=(text,), kind=kind, origin=self._origin(values, loop))

    def broken(self, text: str, kind: str, name: str = _RUN) -> None:
        """Something could not be found out: the run itself, where nothing else is named."""
        self._add(name, error=(text,), kind=kind, origin=self._origin_in(text))

    def rest(self, names: Collection[str]) -> None:
        """All of these of which nothing else was said passed."""
        there = {case.name for case in self._cases}
        for name in names:
            if name not in there:
                self.passed(name)

    def give_up(self, text: str) -> None:
        """The process ends here, for lack of an answer."""
        self.broken(text, "OutOfTime")
        self.tell()

    def _add(self, name: str, *, origin: Origin | None = None, **about: Any) -> None:
        if not self.wanted:
            return
        from ...debugger.formats.junit import Case

        if origin is not None and origin.file:
            about.update(file=self._path(origin), line=origin.line)
        self._cases.append(Case(name, self._model, **about))

    # -- where it was written

    def _origin(self, values: Collection[str], loop: Loop | None) -> Origin | None:
        """Where the first of some values is computed, by what a model tells of its nodes."""
        if not self.wanted or self.graph is None:
            return None
        from ...runtime.graph import walk

        carried = {edge.param.name: edge.result.name for edge in loop.back_edges} if loop is not None else {}
        wanted = {carried.get(name, name) for name in values}
        nodes = walk(self.graph if loop is None else loop.body)
        return next((node.origin for node in nodes if node.origin.file and _gives(node, wanted)), None)

    def _origin_in(self, text: str) -> Origin | None:
        """Where the node was written that a message begins with."""
        if not self.wanted or self.graph is None:
            return None
        from ...runtime.graph import walk

        return next((node.origin for node in walk(self.graph) if text.startswith(node.describe())), None)

    def _path(self, origin: Origin) -> str:
        """The file as seen from the root of what is checked out, where it is there; else as the exporter wrote it."""
        assert self.graph is not None
        root = os.path.realpath(os.environ.get("GITHUB_WORKSPACE") or os.curdir)
        for path in (origin.file, os.path.join(self.graph.folder, origin.base)):
            found = os.path.realpath(path)
            if os.path.isfile(found) and found.startswith(f"{root}{os.sep}"):
                return os.path.relpath(found, root)
        return origin.file

    # -- telling

    def tell(self) -> None:
        """Write the report, and what GitHub shows beside the lines of a change.

        Raises:
            UsageError: the report cannot be written.
        """
        if self._github:
            for line in _annotations(self._cases):
                terminal.err_command(line)
        if self._junit is not None:
            from ...debugger.formats.junit import write

            write(self._junit, self._cases, f"loopdbg run {self._model}")


def _gives(node: Node, names: Collection[str]) -> bool:
    return any(value is not None and value.name in names for value in node.outputs)


def _annotations(cases: Collection[Case]) -> Iterator[str]:
    """Workflow commands of GitHub Actions, which reads them on either stream."""
    for case in cases:
        lines = case.error or case.failure
        if lines:
            place = {"file": case.file, "line": case.line or ""} if case.file else {}
            about = {**place, "title": f"{case.classname}: {case.name}"}
            named = ",".join(
                f"{word}={_escaped(printable(str(value)), _ESCAPED_TOO)}" for word, value in about.items() if value
            )
            yield f"::error {named}::{_escaped(printable_lines(lines), _ESCAPED)}"


def _escaped(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)
