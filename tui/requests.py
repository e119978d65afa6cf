"""What can be asked of the driver: a key's command, or a line for the console and where its answer belongs."""

from __future__ import annotations

from enum import StrEnum


class Command(StrEnum):
    """What a key asks for; the value is what the screen calls it."""

    START = "start"
    STEP = "step"
    NODE = "next node"
    INTO = "into"
    FINISH = "finish"
    CONTINUE = "continue"
    RESTART = "restart"
    BACK = "back"
    BACK_NODE = "back node"
    BACK_ON = "reverse-continue"


class Typed(str):
    """A line that a person typed: what it says belongs into the transcript."""


class Listed(str):
    """A line that a key stands for, with its answer in the transcript all the same."""


class Panel(str):
    """A line whose answer has a screen of its own."""


#: A plain line is what a click or a key means: its answer is one sentence.
Request = Command | str
#: Commands that are short as a rule: what is asked for while one of them runs is meant to come after it.
STEPS: frozenset[Request] = frozenset(
    {
        Command.START,
        Command.RESTART,
        Command.STEP,
        Command.NODE,
        Command.INTO,
        Command.BACK,
        Command.BACK_NODE,
    }
)
