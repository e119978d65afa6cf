"""Requests to the session worker: commands of keys, and console lines by the place of their output."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Self


class SessionCommand(StrEnum):
    """A command of a key; the value is its displayed name."""

    START = "start"
    STEP = "step"
    NEXT_NODE = "next node"
    INTO = "into"
    FINISH = "finish"
    CONTINUE = "continue"
    RESTART = "restart"
    BACK = "back"
    BACK_NODE = "back node"
    REVERSE_CONTINUE = "reverse-continue"


class TypedLine(str):
    """A typed line, with its output in the transcript."""


class EchoedCommand(str):
    """A line run by a key, with its output in the transcript."""


class PanelQuery(str):
    """A line whose output is shown in a panel."""


class BreakpointEdit(str):
    """An edit of the breakpoint editor; as a string its displayed name."""

    number: int
    condition: str
    ignore: int
    commands: tuple[str, ...]

    def __new__(cls, number: int, condition: str, ignore: int, commands: Sequence[str]) -> Self:
        """``condition``: "" for none; ``ignore``: the number of hits to ignore; ``commands``: console lines."""
        edit = super().__new__(cls, f"edit breakpoint {number}")
        edit.number, edit.condition, edit.ignore, edit.commands = number, condition, ignore, tuple(commands)
        return edit


#: A plain str is a line run by a click or a key, with a one-sentence output.
WorkerRequest = SessionCommand | str
#: Usually short commands: requests made while one runs are queued.
SHORT_COMMANDS: frozenset[WorkerRequest] = frozenset(
    {
        SessionCommand.START,
        SessionCommand.RESTART,
        SessionCommand.STEP,
        SessionCommand.NEXT_NODE,
        SessionCommand.INTO,
        SessionCommand.BACK,
        SessionCommand.BACK_NODE,
    }
)
