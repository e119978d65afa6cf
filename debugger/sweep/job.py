"""What is to be done: one model, its cases, and what is asked of each run. It goes to other processes as it is."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from ...runtime.atomic_file import write_bytes
from ...runtime.errors import LoopdbgError, ModelError, UsageError
from ...runtime.frontends import split_model_path
from ...runtime.model import Model, load
from ...runtime.stable_file import open_regular_file
from .cases import CaseSet
from .row import RESULT_COLUMNS

#: Stands for the main graph where loops are named by their indices.
MAIN_GRAPH = -1
#: The breakpoint that is no expression.
NAN_BREAKPOINT = "nan"
#: What a case may take where nothing is said of it: seconds, and bytes of memory.
DEFAULT_TIMEOUT_SECONDS, DEFAULT_MEMORY_BYTES = 60.0, 2 << 30


@dataclass(frozen=True)
class SweepSpec:
    """What is asked of each run, the same for all.

    ``asserts`` have to hold at every boundary; ``breaks`` end a case where one is true, ``nan`` where a value is NaN or
    Inf; ``measures`` are computed at the end of each loop that has their values. ``max_iterations``: the most of any
    loop. ``timeout``: the seconds of a case, ``max_memory``: the bytes that it may take; None: any. ``against``: a
    runtime, a model, or a folder of expected outputs.
    ``operators``: files that are run first.
    """

    asserts: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    max_iterations: int | None = None
    timeout: float | None = DEFAULT_TIMEOUT_SECONDS
    against: str = ""
    operators: tuple[str, ...] = ()
    max_memory: int | None = DEFAULT_MEMORY_BYTES

    def __post_init__(self) -> None:
        """Raises UsageError: an expression is none, or a measure is called as a column."""
        for text in (*self.asserts, *(text for text in self.breaks if text != NAN_BREAKPOINT), *self.measures):
            # Here: a process that runs cases without expressions need not wait for their language.
            from ..expression.language import parse

            parse(text)
        for text in self.measures:
            if text in (*RESULT_COLUMNS, "id", "model", "set", "case", "versions"):
                raise UsageError(f"the measure '{text}' is called as a column of the rows: write it as '({text})'")
        if len(set(self.measures)) < len(self.measures):
            raise UsageError("a measure stands there twice")

    def as_json(self) -> dict[str, object]:
        """What rows depend on."""
        return {
            **{name: list(getattr(self, name)) for name in ("asserts", "breaks", "measures")},
            **{name: getattr(self, name) for name in ("max_iterations", "timeout", "against", "max_memory")},
        }


@dataclass(frozen=True)
class SweepJob:
    """One model with its cases.

    ``number``: which of the models; ``hash``: of its file and its weights; ``loops``: their paths, none where it cannot
    be opened; ``files``: their bytes by name, for workers that do not have the files.
    """

    number: int
    path: str
    hash: str
    cases: CaseSet
    spec: SweepSpec
    weights: str | None = None
    loops: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def open(self) -> Model:
        """The model.

        Raises:
            ModelError: it cannot be read, or is another one than when the sweep began.
        """
        if model_hash(self.path, self.weights) != self.hash:
            raise ModelError(f"{self.path}: is another file than when the sweep began")
        return load(self.path, self.weights)

    def with_file_contents(self) -> SweepJob:
        """The same with the bytes of its files."""
        return replace(self, files={path.name: path.read_bytes() for path in model_files(self.path, self.weights)})


def unpack_files(job: SweepJob, folder: Path) -> SweepJob:
    """A job whose files are written into a folder, if it carries them."""
    if not job.files:
        return job
    for name, data in job.files.items():
        write_bytes(folder / name, data)
    file, function = split_model_path(job.path)
    path = str(folder / file.name) + (f":{function}" if function else "")
    weights = None if job.weights is None else str(folder / Path(job.weights).name)
    return replace(job, path=path, weights=weights, files={})


def model_files(path: str, weights: str | None) -> list[Path]:
    """The files that a model is in: its own first, then its constants."""
    file, _ = split_model_path(path)
    beside = [file.with_suffix(".bin")] if file.suffix == ".xml" else [Path(f"{file}.data"), Path(f"{file}_data")]
    named = [Path(weights)] if weights else beside
    return [file, *(one for one in named if one.is_file())]


def model_hash(path: str, weights: str | None = None) -> str:
    """A short hash of all bytes of a model; zeros where it cannot be read."""
    hashed = blake2b(digest_size=6)
    try:
        for one in model_files(path, weights):
            with open_regular_file(one) as file:
                while block := file.read(1 << 20):
                    hashed.update(block)
    except (OSError, LoopdbgError):
        return "0" * 12
    hashed.update(split_model_path(path)[1].encode())
    return hashed.hexdigest()


def version_text() -> str:
    """What the rows depend on besides the model."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        own = version("loopdbg")
    except PackageNotFoundError:
        own = "?"
    return f"loopdbg {own}, numpy {np.__version__}, python {sys.version.split()[0]}"
