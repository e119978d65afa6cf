"""Session commands that do not move the position: queries and exports.

Some are implemented in packages that this one does not import: see :mod:`...runtime.plugin_registry`.
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
    """The part of a session that does not move it."""

    _internals: Controller

    def why(self, frame: Any = None) -> Why:
        """Why the loop ended or continues: ``headline``, ``condition``, ``steps``, ``sides``, ``about`` (estimated
        number of further iterations); ``str()`` is the console output.

        Args:
            frame: the frame of the loop, the innermost by default.

        >>> _ = session.step(3)
        >>> session.why().condition, session.why().ended
        (True, None)
        >>> print(session.why())
        loop 'sqrt' goes on to iteration 3: ...
        """
        from ..termination.explanation import explain_termination

        frame = self._internals.reader_of(frame)
        return explain_termination(frame, frame.history.recent_boundaries(), self._internals.model.graph)

    def listing(self, which: str | int = "", frame: Any = None) -> SourceListing:
        """The pseudo-code with the values of this iteration: ``rows`` with a line, a marker and values each; ``str()``
        is the console output.

        Args:
            which: "" for the lines around the one that runs next, a line's number, or ``"all"``.
            frame: the frame of the loop, the innermost by default.

        Raises:
            UsageError: there is no such line.

        >>> _ = session.next_node()
        >>> [(row.line.text, row.value()) for row in session.listing(11).rows if row.values]
        [('half = x * 0.5', '1.0')]
        """
        state = self._internals
        frame = state.reader_of(frame)
        return list_source(state.symbols.pseudo_code, frame, state.breakpoints, str(which), running=not state.done)

    def compare(self, number: int = 0) -> BranchDifference:
        """The first difference between another branch (0: the parent) and the current one: ``iteration``, ``name``,
        ``left``, ``right``; ``str()`` is the console output.

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
        current = timeline.current_branch
        other = timeline.branch_numbered(number) if number else current.parent
        if other is None or other is current:
            raise UsageError("compare needs another branch; branch lists them")
        with self._internals.session_lock.hold():
            return compare_branches(other, current, timeline.boundary_pairs(other, current))

    def record(
        self,
        path: str | Path,
        *,
        nodes: bool = False,
        every: int = 1,
        only: Collection[str] | None = None,
        force: bool = False,
    ) -> Run:
        """Run the model with these inputs from start to end, and record every boundary in a file for
        :meth:`Trace.open`; the session does not move.

        Args:
            nodes: record all values of the bodies as well.
            every: record only every N-th boundary, and the first and last of each entry.
            only: record only these values.
            force: overwrite an existing file.

        Raises:
            UsageError: the file exists already or cannot be written; the branch has edits, which a run from the start
                does not reproduce; or this is a recording.
            TraceError: the file could not be written completely.

        >>> session.record(folder / "run.loopdb").loops[0].iterations
        5
        >>> with loopdbg.Trace.open(folder / "run.loopdb") as trace:
        ...     trace.outputs["root"]
        array(1.4142135, dtype=float32)
        """
        run: Run = load_plugin("record")(self, Path(path), nodes=nodes, every=every, only=only, force=force)
        return run

    def extract(self, folder: str | Path, *, whole: bool = False, frame: Any = None, force: bool = False) -> Any:
        """Write the next or current iteration as a separate model with its inputs and expected outputs. Returns
        ``model`` (the path), ``loop``, ``iteration``, ``inputs``, ``outputs``.

        Args:
            whole: extract this entire entry of the loop.
            frame: the frame of the loop, the innermost by default.
            force: write into a folder that is not empty.

        Raises:
            UsageError: no loop is running, the folder cannot be written, or this is a recording.
            UnsupportedError: it cannot be a separate model.

        >>> _ = session.step(2)
        >>> session.extract(folder / "part").what
        "iteration 2 of loop 'sqrt'"
        """
        frame = self._internals.reader_of(frame)
        return load_plugin("extract")(self, Path(folder), frame, whole, force)

    def repro(self, folder: str | Path, what: str = "nan", *, force: bool = False) -> Any:
        """Reduce the model to the smallest part that reproduces a fault, as a folder for a bug report; returns
        ``confirmed``, ``title``, ``pack`` (the files); ``str()`` is the console output.

        Args:
            what: ``nan`` (the first NaN or Inf), ``onnxruntime`` or ``openvino`` (a different result there), or
                ``if EXPR`` (an expression becomes true).

        Raises:
            UsageError: the fault does not occur, the folder cannot be written, or this is a recording.

        >>> session.repro(folder / "report", "if err < 1e-3").confirmed
        True
        """
        return load_plugin("repro")(self, Path(folder), what, force)

    # -- in notebooks

    def widget(self) -> Any:
        """A notebook widget that steps this session: see :func:`loopdbg.widget`.

        Raises:
            UsageError: the package ``anywidget`` is not installed.

        >>> session.widget().view["stop"]
        "before iteration 0 of loop 'sqrt'"
        """
        return load_plugin("widget")(self)

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("session", self)
        return html
