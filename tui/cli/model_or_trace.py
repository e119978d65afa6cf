"""Opens files that are models or recordings, distinguished by their contents."""

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

#: Run options that a recording does not support.
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
    """A replay session of the recording ``options.model``.

    Raises:
        UsageError: An option requires a model that is run.
        TraceError: The file is no trace, or damaged.
    """
    for option in _RUN_ONLY_OPTIONS:
        value = getattr(options, option, None)
        if value not in (None, [], False) or (value == 0 and value is not False):
            raise UsageError(
                f"--{option.replace('_', '-')}: {options.model} is a recording, which has its inputs and limits"
            )
    from ...debugger.trace.reader import Trace
    from ...debugger.trace.replay import Replay

    with Trace.open(options.model) as trace:
        yield Replay(trace)


def pair_weights(paths: Sequence[str], weights: Sequence[str]) -> list[str | None]:
    """The weights file of each path, None if not given: the weights belong to the IRs, in order.

    Raises:
        UsageError: There are more weights than IRs.
    """
    is_ir = [Path(path).suffix.lower() == ".xml" and not is_sqlite_file(path) for path in paths]
    if len(weights) > sum(is_ir):
        irs = [path for path, ir in zip(paths, is_ir, strict=True) if ir]
        text = f"no OpenVINO IR but {' and '.join(irs)} is read" if irs else "no OpenVINO IR is read"
        raise UsageError(f"--weights {weights[-1]}: {text}, and nothing else has its constants in a file of their own")
    remaining = iter(weights)
    return [next(remaining, None) if ir else None for ir in is_ir]


def distinct_labels(paths: Sequence[str]) -> list[str]:
    """The names of two files, with the differing folders if the names are equal."""
    names = [Path(path).name for path in paths]
    if names[0] != names[1]:
        return names
    absolute = [os.path.abspath(path) for path in paths]
    folder = os.path.commonpath([os.path.dirname(path) for path in absolute])
    return [os.path.relpath(path, folder) for path in absolute]


def load_model_or_trace(options: argparse.Namespace) -> Model:
    """Load the model ``options.model``, or the model of a recording, which cannot be run.

    Raises:
        ModelError: The file cannot be read.
        TraceError: The recording cannot be read.
        UsageError: Weights are given for a recording.
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
