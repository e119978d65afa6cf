"""The coverage of runs of models and sessions."""

from __future__ import annotations

from collections.abc import Mapping

from ...runtime.errors import UsageError
from ...runtime.model import Data, Model
from ..session.session import Session
from .recorder import CoverageRecorder
from .report import Coverage
from .source_marks import node_coverage


def measure(model: Model, inputs: Mapping[str, Data] | None = None, max_iterations: int | None = None) -> Coverage:
    """Run a model once and return what the run covers; see :meth:`Model.coverage`."""
    recorder = CoverageRecorder(model)
    model.execute(inputs, max_iterations=max_iterations, observer=recorder)
    return recorder.coverage


def session_coverage(session: Session) -> Coverage:
    """The coverage of a run of a session's model with its inputs; the session does not move.

    Raises:
        UsageError: it is a recording.
    """
    if not session.controller.has_branches:
        raise UsageError("a recording cannot be run; coverage needs the model: open it in place of the recording")
    coverage = measure(session.model, session.inputs, session.max_iterations)
    marks = node_coverage(session.model.graph, coverage)
    session.controller.line_signs = {node: covered.mark.value for node, covered in marks.items()}
    return coverage
