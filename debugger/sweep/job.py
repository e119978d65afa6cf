"""Specification of a sweep: one model, its cases, and the checks of each run. It is sent to other processes
unchanged."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

import numpy as np

from ...runtime.atomic_file import write_bytes
from ...runtime.errors import LoopdbgError, ModelError, UsageError
from ...runtime.frontends import split_model_path
from ...runtime.model import Model, load
from ...runtime.safe_file_reading import open_regular_file
from .cases import CaseSet
from .row import RESULT_COLUMNS

#: Index of the main graph among loop indices.
MAIN_GRAPH = -1
#: The breakpoint that is no expression.
NAN_BREAKPOINT = "nan"
#: Default limits of a case: seconds, and bytes of memory.
DEFAULT_TIMEOUT_SECONDS, DEFAULT_MEMORY_BYTES = 60.0, 2 << 30


@dataclass(frozen=True)
class SweepSpec:
    """The checks and limits of each run, the same for all.

    ``asserts`` have to hold at every boundary; ``breaks`` end a case if one is true, ``nan`` if a value is NaN or Inf;
    ``measures`` are computed at the end of each loop that has their values. ``max_iterations``: the maximum of any
    loop. ``timeout``: the seconds of a case, ``max_memory``: its bytes of memory; None: no limit. ``against``: a
    runtime, a model, or a folder of expected outputs. ``operators``: Python files to run first. ``coverage``: a folder
    of this machine that processes write the coverage of their cases into; empty: it is not measured.
    """

    asserts: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    max_iterations: int | None = None
    timeout: float | None = DEFAULT_TIMEOUT_SECONDS
    against: str = ""
    operators: tuple[str, ...] = ()
    max_memory: int | None = DEFAULT_MEMORY_BYTES
    coverage: str = ""

    def __post_init__(self) -> None:
        """Raises UsageError: an invalid expression, or a measure has the name of a column."""
        for text in (*self.asserts, *(text for text in self.breaks if text != NAN_BREAKPOINT), *self.measures):
            # Lazy import: a process that runs cases without expressions does not load their parser.
            from ..breakpoints.assertion import parse_assertion

            parse_assertion(text)
        for text in self.measures:
            if text in (*RESULT_COLUMNS, "id", "model", "set", "case", "versions"):
                raise UsageError(
                    f"the measure '{text}' is called as a column of the rows: write it as '({text})'", name=text
                )
        if len(set(self.measures)) < len(self.measures):
            raise UsageError("a measure is given twice")

    @property
    def process_timeout(self) -> float | None:
        """The seconds after which a process does not end a case by itself: each side may take the timeout."""
        return None if self.timeout is None else 2 * self.timeout if self.against else self.timeout

    def as_json(self) -> dict[str, object]:
        """Return the fields that rows depend on."""
        return {
            **{name: list(getattr(self, name)) for name in ("asserts", "breaks", "measures")},
            **{name: getattr(self, name) for name in ("max_iterations", "timeout", "against", "max_memory")},
        }


@dataclass(frozen=True)
class SweepJob:
    """One model with its cases.

    ``number``: index of the model; ``hash``: of its file and its weights; ``loops``: their paths, empty if it cannot be
    opened; ``files``: their bytes by name, for workers without access to the files.
    """

    #: The plugin that runs the cases in a process, called with the job and, if it is open already, the model.
    executor: ClassVar[str] = "sweep_cases"

    number: int
    path: str
    hash: str
    cases: CaseSet
    spec: SweepSpec
    weights: str | None = None
    loops: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def open(self) -> Model:
        """Open the model.

        Raises:
            ModelError: it cannot be read, or has changed since the sweep began.
        """
        if model_hash(self.path, self.weights) != self.hash:
            raise ModelError(f"{self.path}: is another file than when the sweep began")
        return load(self.path, self.weights)

    def with_file_contents(self) -> SweepJob:
        """Return the job with the bytes of its files."""
        return replace(self, files={path.name: path.read_bytes() for path in model_files(self.path, self.weights)})


def unpack_files(job: SweepJob, folder: Path) -> SweepJob:
    """Write the files that a job carries into a folder, and return the job with their paths."""
    if not job.files:
        return job
    for name, data in job.files.items():
        write_bytes(folder / name, data)
    file, function = split_model_path(job.path)
    path = str(folder / file.name) + (f":{function}" if function else "")
    weights = None if job.weights is None else str(folder / Path(job.weights).name)
    return replace(job, path=path, weights=weights, files={})


def model_files(path: str, weights: str | None) -> list[Path]:
    """Return the files of a model: the main file first, then its constants."""
    file, _ = split_model_path(path)
    candidates = [file.with_suffix(".bin")] if file.suffix == ".xml" else [Path(f"{file}.data"), Path(f"{file}_data")]
    paths = [Path(weights)] if weights else candidates
    return [file, *(path_ for path_ in paths if path_.is_file())]


def model_hash(path: str, weights: str | None = None) -> str:
    """Return a short hash of all bytes of a model; zeros if it cannot be read."""
    hasher = blake2b(digest_size=6)
    try:
        for path_ in model_files(path, weights):
            with open_regular_file(path_) as file:
                while block := file.read(1 << 20):
                    hasher.update(block)
    except (OSError, LoopdbgError):
        return "0" * 12
    hasher.update(split_model_path(path)[1].encode())
    return hasher.hexdigest()


def version_text() -> str:
    """Return the versions that the rows depend on."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        version_ = version("loopdbg")
    except PackageNotFoundError:
        version_ = "?"
    return f"loopdbg {version_}, numpy {np.__version__}, python {sys.version.split()[0]}"
