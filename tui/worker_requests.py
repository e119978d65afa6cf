"""What can be asked of the driver: a key's command, or a line for the console and where its answer belongs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Self


class SessionCommand(StrEnum):
    """What a key asks for; the value is what the screen calls it."""

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
    """A line that a person typed: what it says belongs into the transcript."""


class EchoedCommand(str):
    """A line that a key stands for, with its answer in the transcript all the same."""


class PanelQuery(str):
    """A line whose answer has a screen of its own."""


class BreakpointEdit(str):
    """What the box of a breakpoint asks for; as text what the screen calls it."""

    number: int
    condition: str
    ignore: int
    commands: tuple[str, ...]

    def __new__(cls, number: int, condition: str, ignore: int, commands: Sequence[str]) -> Self:
        """``condition``: "" for none; ``ignore``: so many hits are passed; ``commands``: lines for the console."""
        made = super().__new__(cls, f"edit breakpoint {number}")
        made.number, made.condition, made.ignore, made.commands = number, condition, ignore, tuple(commands)
        return made


#: A plain line is what a click or a key means: its answer is one sentence.
WorkerRequest = SessionCommand | str
#: Commands that are short as a rule: what is asked for while one of them runs is meant to come after it.
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
