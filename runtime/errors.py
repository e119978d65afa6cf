"""Every error that a user can meet.

A message says what is wrong, where (file, loop, node, iteration) and what to do, in one line. ``exit_status`` is what
the command line ends with.
"""

from __future__ import annotations


class LoopdbgError(Exception):
    """The root of all errors that are meant for a person; its text is one line."""

    exit_status = 1


class ModelError(LoopdbgError):
    """The model file is broken, or its own specification rejects it."""


class UnsupportedError(ModelError):
    """The model is legal, but something in it (an operator, a type) cannot be run here."""


class InputError(LoopdbgError):
    """A model input is missing, unknown, or has the wrong dtype or shape."""


class ExecutionError(LoopdbgError):
    """A node or a boundary failed while the model ran; the text names loop, iteration and node."""


class LimitError(LoopdbgError):
    """A limit that the user set, or the refusal to start a loop that nothing can end."""

    exit_status = 4


class TraceError(LoopdbgError):
    """A recorded trace is broken, is none at all, or cannot be written; the text names the file."""


class UsageError(LoopdbgError):
    """A command or an API call that makes no sense as given."""

    exit_status = 2


class InterruptError(LoopdbgError):
    """The run was interrupted (Ctrl-C, or ``Session.interrupt``)."""

    exit_status = 130


def one_line(error: BaseException) -> str:
    """The message of any exception as one line, for use inside our own messages."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 400 else text[:397] + "..."
