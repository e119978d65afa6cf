"""User-visible errors.

A message states the problem, its location (file, loop, node, iteration) and a remedy, in one line. ``exit_status`` is
the exit status of the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Self, TypedDict, TypeVar, Unpack

ErrorKind = TypeVar("ErrorKind", bound="LoopdbgError")


class Remedy(Enum):
    """The remedy for an error, worded for the Python API; names in braces are fields of the error."""

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


class NodeFields(TypedDict):
    """What an error about a node states of it."""

    node: str
    op_type: str


class ErrorFields(TypedDict, total=False):
    """The facts of an error, each None or absent where it is unknown or does not apply."""

    node: str | None
    op_type: str | None
    loop: str | None
    iteration: int | None
    name: str | None
    expected: str | None
    got: str | None


class LoopdbgError(Exception):
    """Base class of all user-facing errors; the message is one line.

    Its facts are keyword arguments and attributes, so that no program has to parse the message; each is None where it
    is unknown or does not apply.

    Attributes:
        what: the problem.
        remedy: the remedy, where it differs between Python and the command line.
        node: name of the node that failed.
        op_type: the operator of that node.
        loop: name of the loop.
        iteration: the iteration of the loop; of a reached limit, the number of iterations.
        name: name of the input or value.
        expected: what is required of the value, such as its dtype and shape.
        got: what the value is instead.
        fields: the facts by name, which fill the placeholders of the remedy.
        exit_status: exit status of the command line.

    >>> try:
    ...     model.run({"a": 2.0})
    ... except loopdbg.LoopdbgError as error:
    ...     print(type(error).__name__, error.name, error.expected, error.exit_status)
    InputError tol float32[] 1
    """

    exit_status = 1

    def __init__(self, what: str = "", remedy: Remedy | None = None, **fields: Unpack[ErrorFields]) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.fields: ErrorFields = fields
        self.node: str | None = fields.get("node")
        self.op_type: str | None = fields.get("op_type")
        self.loop: str | None = fields.get("loop")
        self.iteration: int | None = fields.get("iteration")
        self.name: str | None = fields.get("name")
        self.expected: str | None = fields.get("expected")
        self.got: str | None = fields.get("got")

    @classmethod
    def with_location(cls, where: str, error: LoopdbgError) -> Self:
        """An error of this class that prepends a location to ``error``; the remedy is kept.

        >>> loopdbg.UsageError.with_location("line 3", loopdbg.UsageError("no such value"))
        UsageError('line 3: no such value')
        """
        return cls(f"{where}: {error.what}", error.remedy, **error.fields)

    def format(self, remedy_texts: Mapping[Remedy, str]) -> str:
        """The message worded for a front end; a remedy without such wording is printed as in Python.

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
    """The model is valid, but contains an unsupported feature (an operator, a type).

    >>> issubclass(loopdbg.UnsupportedError, loopdbg.ModelError)
    True
    """


class InputError(LoopdbgError):
    """A model input is missing, unknown, or has the wrong dtype or shape: see ``name``, ``expected`` and ``got``.

    >>> model.run({"a": 2.0})
    Traceback (most recent call last):
    loopdbg.InputError: input 'tol' (float32[]) is missing; give it as inputs={'tol': ...}
    """


class ExecutionError(LoopdbgError):
    """A node or a boundary failed while the model ran; message and attributes name loop, iteration and node.

    >>> issubclass(loopdbg.ExecutionError, loopdbg.LoopdbgError)
    True
    """


class LimitError(LoopdbgError):
    """A user-defined limit was reached, or a provably infinite loop was rejected: see ``loop``.

    >>> model.run(inputs, max_iterations=2)
    Traceback (most recent call last):
    loopdbg.LimitError: loop 'sqrt' reached the limit of 2 iterations without ending
    """

    exit_status = 4


class TraceError(LoopdbgError):
    """A recorded trace is invalid or cannot be written; the message names the file.

    >>> loopdbg.Trace.open("newton_sqrt.onnx")
    Traceback (most recent call last):
    loopdbg.TraceError: newton_sqrt.onnx: this is no trace
    """


class UsageError(LoopdbgError):
    """An invalid command or API call.

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
    """SIGTERM or SIGHUP ends the command line: not an error; handlers may only clean up.

    ``number``: the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal_number = number

    def __str__(self) -> str:
        return f"terminated by signal {self.signal_number}"


class OutOfMemoryError(LoopdbgError, MemoryError):
    """A command or a call needs more memory than available; its target is unchanged.

    >>> issubclass(loopdbg.OutOfMemoryError, MemoryError)
    True
    """


class InternalError(LoopdbgError):
    """A fault of loopdbg itself; its target remains usable.

    >>> issubclass(loopdbg.InternalError, loopdbg.LoopdbgError)
    True
    """


def file_error(kind: type[ErrorKind], path: object, problem: str, error: OSError) -> ErrorKind:
    """The error for a file operation that the system refused. ``problem``: such as ``cannot be read``."""
    reason = error.strerror or one_line(error)
    return kind(f"{path}: {problem}: {reason}", name=str(path), got=reason)


def missing_folder_error(path: object, folder: object) -> UsageError:
    """The error for a file in a folder that does not exist."""
    return UsageError(f"{path}: there is no folder '{folder}'", name=str(folder), expected="a folder")


#: NumPy's messages for shapes that exceed its index type.
_SIZE_OVERFLOW_TEXTS = ("too large to convert", "iterator is too large", "array is too big", "Maximum allowed")


def one_line(error: BaseException) -> str:
    """The message of any exception as one line, for use in other messages."""
    text = " ".join(str(error).split()) or type(error).__name__
    if any(phrase in text for phrase in _SIZE_OVERFLOW_TEXTS):
        return "a number or the size of a tensor is too large for this machine"
    return text if len(text) <= 400 else text[:397] + "..."
