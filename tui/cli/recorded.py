"""Recordings where a command takes a model: told apart by what is in the file, and opened."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...runtime.errors import UsageError
from ...runtime.model import Model, load

if TYPE_CHECKING:
    from ...debugger.recording.replay import Replay

#: Options of a run that a recording has no use for: what is not None, False or empty was given.
_OF_A_RUN = (
    "input",
    "inputs",
    "seed",
    "dim",
    "max_iterations",
    "record",
    "record_nodes",
    "every",
    "only",
    "force",
    "resume",
    "weights",
)


def is_database(path: str) -> bool:
    """True for an SQLite file, which no model file is: whether it is a trace, opening it tells."""
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\x00"
    except OSError:
        return False


@contextmanager
def opened(options: argparse.Namespace) -> Iterator[Replay]:
    """The recording that ``options.model`` names, under the debugger.

    Raises:
        UsageError: an option makes sense only where something is run.
        TraceError: it is no trace, or damaged.
    """
    for option in _OF_A_RUN:
        given = getattr(options, option, None)
        if given not in (None, [], False) or (given == 0 and given is not False):
            raise UsageError(
                f"--{option.replace('_', '-')}: {options.model} is a recording, which has its inputs and limits"
            )
    from ...debugger.recording.reader import Trace
    from ...debugger.recording.replay import Replay

    with Trace.open(options.model) as trace:
        yield Replay(trace)


def add_weights_option(parser: argparse.ArgumentParser) -> None:
    """The option of whatever opens a model file."""
    parser.add_argument(
        "--weights", metavar="FILE", help="OpenVINO IR: the file with its constants, if not MODEL.bin beside MODEL.xml"
    )


def model_of(options: argparse.Namespace) -> Model:
    """The model of the file that ``options.model`` names, or the one that a recording is of, which cannot be run.

    Raises:
        ModelError: the file cannot be read.
        TraceError: it is a recording that cannot be read.
        UsageError: weights for a recording.
    """
    path: str = options.model
    if not is_database(path):
        return load(path, options.weights)
    if options.weights is not None:
        raise UsageError(f"--weights: {path} is a recording, which has what it needs")
    from ...debugger.recording.reader import Trace
    from ...debugger.recording.recorded_model import RecordedModel

    with Trace.open(path) as trace:
        return RecordedModel(trace)
