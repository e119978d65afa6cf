"""The model of a recording: a loop graph that cannot be run."""

from __future__ import annotations

from pathlib import Path

from ...runtime.errors import Remedy, UsageError
from ...runtime.model import Model
from ...runtime.plan.plan import Plan
from .trace_store import TraceStore

#: Reason of refusals by recordings.
RECORDING_REFUSAL = "this is a recording"


class RecordedModel(Model):
    """The model of a recording: its graph can be read, but not run."""

    def __init__(self, trace: TraceStore) -> None:
        super().__init__(trace.graph, Path(trace.model))

    @property
    def plan(self) -> Plan:
        """Not available.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"running it is not possible: {RECORDING_REFUSAL}", Remedy.RUN_MODEL)

    def __repr__(self) -> str:
        return f"<RecordedModel {self.name}>"
