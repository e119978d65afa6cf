"""What a recording cannot do since nothing can be run, and how it says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from ...runtime.errors import Remedy, UsageError
from ...runtime.model import Model
from ...runtime.plan.plan import Plan
from .reader import Trace


class RecordedModel(Model):
    """The model of a recording: its graph can be looked at, but not run."""

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace.graph, Path(trace.model))

    @property
    def plan(self) -> Plan:
        """There is none.

        Raises:
            UsageError: always.
        """
        refuse("running it")

    def __repr__(self) -> str:
        return f"<RecordedModel {self.name}>"


class Unrunnable:
    """The part of a session that would have to run something."""

    def next_node(self, count: int = 1) -> NoReturn:
        """A recording has boundaries only.

        Raises:
            UsageError: always.
        """
        refuse("stepping by nodes")

    def back_node(self, count: int = 1) -> NoReturn:
        """See :meth:`next_node`."""
        refuse("stepping by nodes")

    def set(self, *_: object, **__: object) -> NoReturn:
        """What was recorded cannot be changed.

        Raises:
            UsageError: always.
        """
        refuse("changing a value")

    def assign(self, text: str, frame: Any = None) -> NoReturn:
        """See :meth:`set`."""
        refuse("changing a value")

    def undo(self) -> NoReturn:
        """See :meth:`set`."""
        refuse("changing a value")

    def switch(self, number: int) -> NoReturn:
        """There is one line of time only.

        Raises:
            UsageError: always.
        """
        refuse("a branch")

    def side_by_side(self, *_: object) -> NoReturn:
        """See :meth:`switch`."""
        refuse("a branch")

    @property
    def branches(self) -> NoReturn:
        """See :meth:`switch`."""
        refuse("a branch")

    @property
    def branch(self) -> NoReturn:
        """See :meth:`switch`."""
        refuse("a branch")

    @property
    def timeline(self) -> NoReturn:
        """There are no checkpoints, and none are needed.

        Raises:
            UsageError: always.
        """
        raise UsageError("a recording needs no checkpoints: it goes to any recorded boundary")


def refuse(what: str) -> NoReturn:
    """Say that something is not possible here, and where it is.

    Raises:
        UsageError: always.
    """
    raise UsageError(f"{what} is not possible: this is a recording", Remedy.RUN_MODEL)
