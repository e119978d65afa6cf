"""Recordings where a command takes a model: told apart by what is in the file, and opened."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...runtime.errors import UsageError
from ...runtime.frontends import is_sqlite_file
from ...runtime.model import Model, load

if TYPE_CHECKING:
    from ...debugger.trace.replay import Replay

#: Options of a run that a recording has no use for: what is not None, False or empty was given.
_RUN_ONLY_OPTIONS = (
    "input",
    "inputs",
    "requests",
    "state",
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


@contextmanager
def open_recording(options: argparse.Namespace) -> Iterator[Replay]:
    """The recording that ``options.model`` names, under the debugger.

    Raises:
        UsageError: an option makes sense only where something is run.
        TraceError: it is no trace, or damaged.
    """
    for option in _RUN_ONLY_OPTIONS:
        given = getattr(options, option, None)
        if given not in (None, [], False) or (given == 0 and given is not False):
            raise UsageError(
                f"--{option.replace('_', '-')}: {options.model} is a recording, which has its inputs and limits"
            )
    from ...debugger.trace.reader import Trace
    from ...debugger.trace.replay import Replay

    with Trace.open(options.model) as trace:
        yield Replay(trace)


def pair_weights(paths: Sequence[str], given: Sequence[str]) -> list[str | None]:
    """Of each file that with its constants, None where none was named: they are those of the IRs, in order.

    Raises:
        UsageError: there are more than IRs.
    """
    separate = [Path(path).suffix.lower() == ".xml" and not is_sqlite_file(path) for path in paths]
    if len(given) > sum(separate):
        irs = [path for path, apart in zip(paths, separate, strict=True) if apart]
        what = f"no OpenVINO IR but {' and '.join(irs)} is read" if irs else "no OpenVINO IR is read"
        raise UsageError(f"--weights {given[-1]}: {what}, and nothing else has its constants in a file of their own")
    named = iter(given)
    return [next(named, None) if apart else None for apart in separate]


def distinct_labels(paths: Sequence[str]) -> list[str]:
    """The names of two files, with the folders in which they differ where the names do not."""
    names = [Path(path).name for path in paths]
    if names[0] != names[1]:
        return names
    whole = [os.path.abspath(path) for path in paths]
    folder = os.path.commonpath([os.path.dirname(path) for path in whole])
    return [os.path.relpath(path, folder) for path in whole]


def load_model_or_trace(options: argparse.Namespace) -> Model:
    """The model of the file that ``options.model`` names, or the one that a recording is of, which cannot be run.

    Raises:
        ModelError: the file cannot be read.
        TraceError: it is a recording that cannot be read.
        UsageError: weights for a recording.
    """
    path: str = options.model
    if not is_sqlite_file(path):
        return load(path, options.weights)
    if options.weights is not None:
        raise UsageError(f"--weights: {path} is a recording, which has what it needs")
    from ...debugger.trace.recorded_model import RecordedModel
    from ...debugger.trace.trace_store import TraceStore

    with TraceStore.open(path) as trace:
        return RecordedModel(trace)
