"""Every error that a user can meet.

A message says what is wrong, where (file, loop, node, iteration) and what to do, in one line. ``exit_status`` is what
the command line ends with.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Self


class Remedy(Enum):
    """What can be done about an error, in the words of the Python API; names in braces are fields of the error."""

    FEWER_ITERATIONS = "give max_iterations=N to compare fewer iterations"
    GIVE_INPUT = "give it as inputs={{'{name}': ...}}"
    GIVE_ARRAY = "give it as inputs={{'{name}': array}}"
    WRITE_INTO_FOLDER = "force=True writes into it"
    LIMIT_ITERATIONS = "give max_iterations=N to run it"
    SET_MAX_LENGTH = "longest=N says the longest that it may get"
    NAME_LOOP = "say which as loop='NAME'"
    ONE_ITERATION = "extract one iteration, whose draws are inputs: iteration=K"
    REGISTER_OPERATOR = "register a Python function for it (loopdbg.operator), or remove it"
    OVERWRITE = "Options(force=True) overwrites it"
    RECORD_TRACE = "a trace is what loopdbg.Recorder writes"
    RECORD_NODES = "a recording with nodes holds all body values (Options(nodes=True))"
    RESUME_RECORDING = "Recorder.resumed goes on from there"
    RUN_MODEL = "loopdbg.debug(MODEL, inputs) runs the model"


class LoopdbgError(Exception):
    """The root of all errors that are meant for a person; its text is one line.

    ``what`` went wrong, and what to do about it, where somebody who calls Python does that otherwise than somebody at a
    command line: ``remedy``, with ``fields`` for its words.

    ``exit_status``: what the command line ends with.

    >>> try:
    ...     loopdbg.load("nowhere.onnx")
    ... except loopdbg.LoopdbgError as error:
    ...     print(type(error).__name__, error.exit_status)
    ModelError 1
    """

    exit_status = 1

    def __init__(self, what: str = "", remedy: Remedy | None = None, **fields: str) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.fields = fields

    @classmethod
    def with_location(cls, where: str, error: LoopdbgError) -> Self:
        """Return an error of this class with the location of ``error`` in front of its text, and the same remedy.

        >>> loopdbg.UsageError.with_location("line 3", loopdbg.UsageError("no such value"))
        UsageError('line 3: no such value')
        """
        return cls(f"{where}: {error.what}", error.remedy, **error.fields)

    def format(self, remedy_texts: Mapping[Remedy, str]) -> str:
        """Return the text with the remedy in the wording of a front end, or as in Python where it has none.

        >>> loopdbg.UsageError("no such value").format({})
        'no such value'
        """
        text = self.what
        if self.remedy is not None:
            text += f"; {remedy_texts.get(self.remedy, self.remedy.value).format(**self.fields)}"
        return " ".join(text.split()) if "\n" in text or "\r" in text else text

    def __str__(self) -> str:
        return self.format({})


class ModelError(LoopdbgError):
    """The model file is broken, or its own specification rejects it.

    >>> loopdbg.load("nowhere.onnx")
    Traceback (most recent call last):
    loopdbg.ModelError: nowhere.onnx: no such file
    """


class UnsupportedError(ModelError):
    """The model is legal, but something in it (an operator, a type) cannot be run here.

    >>> issubclass(loopdbg.UnsupportedError, loopdbg.ModelError)
    True
    """


class InputError(LoopdbgError):
    """A model input is missing, unknown, or has the wrong dtype or shape.

    >>> model.run({"a": 2.0})
    Traceback (most recent call last):
    loopdbg.InputError: input 'tol' (float32[]) is missing; give it as inputs={'tol': ...}
    """


class ExecutionError(LoopdbgError):
    """A node or a boundary failed while the model ran; the text names loop, iteration and node.

    >>> issubclass(loopdbg.ExecutionError, loopdbg.LoopdbgError)
    True
    """


class LimitError(LoopdbgError):
    """A limit that the user set, or the refusal to start a loop that nothing can end.

    >>> model.run(inputs, max_iterations=2)
    Traceback (most recent call last):
    loopdbg.LimitError: loop 'sqrt' reached the limit of 2 iterations without ending
    """

    exit_status = 4


class TraceError(LoopdbgError):
    """A recorded trace is broken, is none at all, or cannot be written; the text names the file.

    >>> loopdbg.Trace.open("newton_sqrt.onnx")
    Traceback (most recent call last):
    loopdbg.TraceError: newton_sqrt.onnx: this is no trace
    """


class UsageError(LoopdbgError):
    """A command or an API call that makes no sense as given.

    >>> session.step(0)
    Traceback (most recent call last):
    loopdbg.UsageError: 0 times makes no sense; give 1 or more
    """

    exit_status = 2


class InterruptError(LoopdbgError):
    """The run was interrupted (Ctrl-C, or ``Session.interrupt``).

    >>> loopdbg.InterruptError().exit_status
    130
    """

    exit_status = 130


class TerminationExit(SystemExit):
    """SIGTERM or SIGHUP ends the command line: no error, and nothing may handle it but by cleaning up.

    ``number``: the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal_number = number

    def __str__(self) -> str:
        return f"terminated by signal {self.signal_number}"


class OutOfMemoryError(LoopdbgError, MemoryError):
    """A command or a call needs more memory than is available; whatever it was asked of is as it was before.

    >>> issubclass(loopdbg.OutOfMemoryError, MemoryError)
    True
    """


class InternalError(LoopdbgError):
    """A fault of loopdbg itself; what it was asked of can be used on.

    >>> issubclass(loopdbg.InternalError, loopdbg.LoopdbgError)
    True
    """


#: How NumPy says that a shape is beyond its numbers; how many bytes it lacks it says well.
_SIZE_OVERFLOW_TEXTS = ("too large to convert", "iterator is too large", "array is too big", "Maximum allowed")


def one_line(error: BaseException) -> str:
    """The message of any exception as one line, for use inside our own messages."""
    text = " ".join(str(error).split()) or type(error).__name__
    if any(words in text for words in _SIZE_OVERFLOW_TEXTS):
        return "a number or the size of a tensor is too large for this machine"
    return text if len(text) <= 400 else text[:397] + "..."
