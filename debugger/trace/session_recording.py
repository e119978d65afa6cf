"""Records the run of a session in a file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ...runtime.errors import UsageError
from ...runtime.model import Run
from ..session.session import Session
from .recorder import Recorder, RecordOptions


def record_session(
    session: Session, path: Path, *, nodes: bool, every: int, only: Collection[str] | None, force: bool
) -> Run:
    """Run the model of a session with its inputs to the end, and record the run; the session does not move.

    Raises:
        UsageError: it is a recording, or its branch has edits; or the file cannot be written.
        TraceError: the file could not be written completely.
    """
    if not session.controller.has_branches:
        raise UsageError("a recording cannot be run; record needs the model: open it in place of the recording")
    if any(branch.edits for branch in session.branch.ancestry()):
        raise UsageError("what was set on this branch is part of no run from the beginning; undo it, or save the model")
    if every < 1:
        raise UsageError(
            f"every {every} boundaries makes no sense; give 1 or more",
            name="every",
            expected="1 or more",
            got=str(every),
        )
    options = RecordOptions(nodes, every, only, force)
    with Recorder(path, session.model, session.inputs, options) as recorder:
        run = session.model.execute(session.inputs, on_iteration=recorder, max_iterations=session.max_iterations)
        recorder.finish(run)
    return run
