"""Where a learner stands: what questions about a state ask of a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...runtime.graph import StoppedBy
from ..scope.iteration_values import FrameWithHistory
from ..session.session_base import SessionBase
from .scene import SceneRun, to_python


@dataclass(frozen=True)
class LearnerEdit:
    """A change on this branch or one that it came from: what was set, and at which iteration of the innermost loop."""

    text: str
    iteration: int

    @property
    def name(self) -> str:
        """What was set."""
        return self.text.partition(" = ")[0]


class LearnerState:
    """A session as it stands; ``played``: its scene as it runs when nothing is changed."""

    def __init__(self, session: SessionBase, played: SceneRun) -> None:
        self._session = session
        self.reference_run = played
        self.frame: FrameWithHistory = session.frame

    @property
    def at_boundary(self) -> bool:
        """Between two iterations of the innermost loop, or where it ended."""
        return self.frame.loop is not None and self.frame.at_boundary

    @property
    def stopped_by(self) -> StoppedBy | None:
        """What ended the loop; None while it runs."""
        return self.frame.stopped_by

    @property
    def loop_name(self) -> str:
        """The innermost loop; "" in the main graph."""
        return self.frame.name if self.frame.loop is not None else ""

    @property
    def iteration(self) -> int:
        return self.frame.iteration

    def carried(self, name: str, out: int = 0) -> Any:
        """A carried value of the innermost loop, or of one around it; None where there is none."""
        frames = self._session.frames
        frame = self.frame if not out else frames[-1 - out] if out < len(frames) else None
        return None if frame is None or frame.loop is None else to_python(frame.carried.get(name))

    def value(self, name: str) -> Any:
        """Any value that the innermost loop shows; None where there is none."""
        return to_python(self.frame.values.get(name))

    @property
    def outer_iteration(self) -> int | None:
        """The iteration that the loop around is in; None: there is none around."""
        return self.frame.entry[-1] if self.frame.entry else None

    @property
    def edits(self) -> list[LearnerEdit]:
        """What was changed by hand on this line of time, the newest first."""
        found = []
        for branch in self._session.branch.ancestry():
            iteration = branch.fork[-2] if branch.fork is not None and len(branch.fork) > 1 else 0
            found += [LearnerEdit(text, iteration) for text in reversed(branch.edits)]
        return found
