"""What a debuggee tells of itself, and what of it leaves the tool: the commands of the console that read and write.

Rooms that this one does not know do the work of some: see :mod:`...runtime.extensions`.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...runtime.api_boundary import public_class
from ...runtime.errors import UsageError
from ...runtime.model import Run
from ...runtime.plugin_registry import load_plugin
from .controller import Controller
from .source_listing import SourceListing, list_source

if TYPE_CHECKING:
    from ..termination.explanation import Why
    from .branch_difference import BranchDifference


@public_class
class SessionQueries:
    """The part of a debuggee that moves nothing."""

    _internals: Controller

    def why(self, frame: Any = None) -> Why:
        """Why the loop ended, or why it goes on: ``headline``, ``condition``, ``steps``, ``sides``, ``about`` so many
        more iterations; ``str()`` is what the console prints.

        ``frame``: the one that is meant, the innermost by default.

        >>> _ = session.step(3)
        >>> session.why().condition, session.why().ended
        (True, None)
        >>> print(session.why())
        loop 'sqrt' goes on to iteration 3: ...
        """
        from ..termination.explanation import explain_termination

        frame = self._internals.frame_or_innermost(frame)
        return explain_termination(frame, frame.history.recent_boundaries(), self._internals.model.graph)

    def listing(self, which: str | int = "", frame: Any = None) -> SourceListing:
        """The pseudo-code with the values of this iteration: ``rows`` with a line, a sign and values each; ``str()`` is
        what the console prints.

        ``which``: "" for the lines around the one that runs next, a line's number, or ``"all"``; ``frame``: the one
        that is meant, the innermost by default.

        Raises:
            UsageError: there is no such line.

        >>> _ = session.next_node()
        >>> [(row.line.text, row.value()) for row in session.listing(11).rows if row.values]
        [('half = x * 0.5', '1.0')]
        """
        inside = self._internals
        frame = inside.frame_or_innermost(frame)
        return list_source(inside.symbols.pseudo_code, frame, inside.breakpoints, str(which), running=not inside.done)

    def compare(self, number: int = 0) -> BranchDifference:
        """Where another branch (0: the one that this came from) and the current one first differ: ``iteration``,
        ``name``, ``left``, ``right``; ``str()`` is what the console prints.

        Raises:
            UsageError: there is no such branch, or it is this one; or this is a recording.

        >>> _ = session.step(2), session.set("x", 3.0), session.step(), session.switch(1), session.step()
        >>> found = session.compare(2)
        >>> found.iteration, found.name, found.left, found.right
        (2, 'x', array(3., dtype=float32), array(1.4166667, dtype=float32))
        """
        from .branch_difference import compare_branches

        if not self._internals.has_branches:
            self._internals.refuse("a branch")
        timeline = self._internals.timeline
        here = timeline.current_branch
        other = timeline.branch_numbered(number) if number else here.parent
        if other is None or other is here:
            raise UsageError("compare needs another branch; branch lists them")
        with self._internals.session_lock.hold():
            return compare_branches(other, here, timeline.boundary_pairs(other, here))

    def record(
        self,
        path: str | Path,
        *,
        nodes: bool = False,
        every: int = 1,
        only: Collection[str] | None = None,
        force: bool = False,
    ) -> Run:
        """Run the model with these inputs from beginning to end, and record every boundary in a file; where this stands
        stays as it is. The file is opened by :meth:`Trace.open`.

        ``nodes``: all values of the bodies too; ``every``: every how-manieth boundary, besides the first and last of
        each entry; ``only``: these values alone; ``force``: overwrite what is there.

        Raises:
            UsageError: the file is there already or cannot be written; something was set on this branch, which no run
                from the beginning has; or this is a recording.
            TraceError: the file could not be written to its end.

        >>> session.record(folder / "run.loopdb").loops[0].iterations
        5
        >>> with loopdbg.Trace.open(folder / "run.loopdb") as trace:
        ...     trace.outputs["root"]
        array(1.4142135, dtype=float32)
        """
        done: Run = load_plugin("record")(self, Path(path), nodes=nodes, every=every, only=only, force=force)
        return done

    def extract(self, folder: str | Path, *, whole: bool = False, frame: Any = None, force: bool = False) -> Any:
        """Write the iteration that comes next, or is running, as a model of its own with its inputs and expected
        outputs; ``whole``: all of this entry of the loop. Returns what was written: ``model`` (the path), ``loop``,
        ``iteration``, ``inputs``, ``outputs``.

        ``frame``: the one whose loop is meant, the innermost by default; ``force``: write into a folder that is not
        empty.

        Raises:
            UsageError: no loop is running, the folder cannot be written, or this is a recording.
            UnsupportedError: it cannot be a model of its own.

        >>> _ = session.step(2)
        >>> session.extract(folder / "part").what
        "iteration 2 of loop 'sqrt'"
        """
        frame = self._internals.frame_or_innermost(frame)
        return load_plugin("extract")(self, Path(folder), frame, whole, force)

    def repro(self, folder: str | Path, what: str = "nan", *, force: bool = False) -> Any:
        """Write the smallest part of the model that shows something, as a folder for a bug report; returns what came of
        it: ``confirmed``, ``title``, ``pack`` (the files); ``str()`` is what the console prints.

        ``what``: ``nan`` (the first NaN or Inf), ``onnxruntime`` or ``openvino`` (what that runtime does otherwise), or
        ``if EXPR`` (where an expression is true).

        Raises:
            UsageError: nothing of the kind happens, the folder cannot be written, or this is a recording.

        >>> session.repro(folder / "report", "if err < 1e-3").confirmed
        True
        """
        return load_plugin("repro")(self, Path(folder), what, force)

    # -- in notebooks

    def widget(self) -> Any:
        """A widget for notebooks that steps this: see :func:`loopdbg.widget`.

        Raises:
            UsageError: the package ``anywidget`` is not installed.

        >>> session.widget().view["stop"]
        "before iteration 0 of loop 'sqrt'"
        """
        return load_plugin("widget")(self)

    def _repr_html_(self) -> str:
        drawn: str = load_plugin("html")("session", self)
        return drawn
