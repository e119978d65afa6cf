"""The learner's state: the queries of state questions on a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...runtime.graph import StoppedBy
from ..session.session import Session
from .scene import SceneRun, to_python


@dataclass(frozen=True)
class LearnerEdit:
    """An edit on this branch or an ancestor: the assignment, and the iteration of the innermost loop."""

    text: str
    iteration: int

    @property
    def name(self) -> str:
        """The name of the edited value."""
        return self.text.partition(" = ")[0]


class LearnerState:
    """The current state of a session; ``run``: the reference run of its scene without edits."""

    def __init__(self, session: Session, run: SceneRun) -> None:
        self._session = session
        self.reference_run = run
        self.frame = session.controller.frame

    @property
    def at_boundary(self) -> bool:
        """Whether the stop is at a boundary of the innermost loop, or at its end."""
        return self.frame.loop is not None and self.frame.at_boundary

    @property
    def stopped_by(self) -> StoppedBy | None:
        """What ended the loop; None while it runs."""
        return self.frame.stopped_by

    @property
    def loop_name(self) -> str:
        """The name of the innermost loop; "" in the main graph."""
        return self.frame.name if self.frame.loop is not None else ""

    @property
    def iteration(self) -> int:
        return self.frame.iteration

    def carried(self, name: str, level: int = 0) -> Any:
        """A carried value of the loop ``level`` levels out from the innermost; None if there is none."""
        frames = self._session.controller.frames
        frame = self.frame if not level else frames[-1 - level] if level < len(frames) else None
        return None if frame is None or frame.loop is None else to_python(frame.carried.get(name))

    def value(self, name: str) -> Any:
        """A value of the innermost loop; None if there is none."""
        return to_python(self.frame.values.get(name))

    @property
    def outer_iteration(self) -> int | None:
        """The iteration of the enclosing loop; None if there is none."""
        return self.frame.entry[-1] if self.frame.entry else None

    @property
    def edits(self) -> list[LearnerEdit]:
        """The edits on this branch and its ancestors, newest first."""
        edits = []
        for branch in self._session.branch.ancestry():
            iteration = branch.fork[-2] if branch.fork is not None and len(branch.fork) > 1 else 0
            edits += [LearnerEdit(text, iteration) for text in reversed(branch.edits)]
        return edits
