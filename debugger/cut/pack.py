"""What is left of a reduction as a folder that others can run: the model, its data, scripts, and a report."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ...runtime.atomic_file import atomic_binary, write_text
from ...runtime.child_process import python_command, run
from ...runtime.model import Data, Model
from ..formats.test_data import write_data
from . import scripts
from .document import Candidate
from .find import Finding, read
from .folder import DATA
from .predicate import Predicate, Shown
from .reduce import Reduced

#: In which way a script sees the finding, by what was shown; else ``differs``.
_HOW = {"refused": "fails", "failed": "fails", "crashed": "fails", "hung": "hangs", "nan": "nan", "inf": "inf"}
_HOW["stop"] = "same"
#: The models of a pack; of two that differ the second one is the other.
_STEMS = ("model", "other")
#: Seconds that a script may take.
_PATIENCE = 120


@dataclass(frozen=True)
class Ran:
    """What a script of the pack did here. ``status``: 1 where the finding shows, negative for a signal."""

    script: str
    status: int
    last: str

    @property
    def shows(self) -> bool:
        """The finding shows, or the runtime crashed or hung."""
        return self.status == 1 or self.status < 0


@dataclass
class Pack:
    """A folder that was written. ``models``: the files that runtimes open; ``again``: what it showed when it was read
    back, None where it did not."""

    folder: Path
    models: list[Path]
    files: list[Path] = field(default_factory=list)
    again: Shown | None = None
    ran: list[Ran] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """What the models take, their weights included."""
        weights = (
            path.with_suffix(".bin") if path.suffix == ".xml" else path.with_name(f"{path.name}.data")
            for path in self.models
        )
        return sum(path.stat().st_size for path in (*self.models, *weights) if path.exists())

    def moved(self, folder: Path) -> Pack:
        """The same pack after its files were moved into another folder."""
        models, files = ([folder / path.name for path in paths] for paths in (self.models, self.files))
        return replace(self, folder=folder, models=models, files=files)


def write(reduced: Reduced, finding: Finding, title: str, folder: Path) -> Pack:
    """Write all but the report into an empty folder.

    Raises:
        OSError: it cannot be written.
    """
    candidate = reduced.candidate
    models = [one.save(folder, stem) for one, stem in zip(candidate.documents, _STEMS, strict=False)]
    pack = Pack(folder, models)
    if models[0].suffix == ".onnx":
        _test_data(folder, candidate.documents[0].model(), candidate.inputs, reduced.shown.outputs)
    pack.files += _scripts(folder, pack, candidate, reduced.shown, finding, title)
    return pack


def check(pack: Pack, predicate: Predicate, inputs: Mapping[str, Data]) -> None:
    """See that the files show the finding: read back and run as before, and by each script whose runtime is here."""
    documents = tuple(read(path) for path in pack.models)
    pack.again = predicate(Candidate(documents, inputs))
    for path in pack.files:
        package = path.stem.removeprefix("run_")
        if path.suffix == ".py" and importlib.util.find_spec(package) is not None:
            pack.ran.append(run_script(path))


def run_script(path: Path, python: str = "") -> Ran:
    """Run a script of a pack by itself; ``python``: with another interpreter than that of this process."""
    path = path.resolve()
    done = run(python_command(str(path), python=python), timeout=_PATIENCE, cwd=path.parent)
    if done is None:
        return Ran(path.name, -1, f"no end within {_PATIENCE} s")
    lines = (done.stdout.strip() or done.stderr.strip()).decode("utf-8", "replace").splitlines()
    return Ran(path.name, done.returncode, " ".join(lines[-1].split()) if lines else "")


def _test_data(folder: Path, model: Model, inputs: Mapping[str, Data], outputs: Mapping[str, Data]) -> None:
    """Inputs and outputs as ONNX keeps those of its own tests."""
    for what, ports, values in (("input", model.inputs, inputs), ("output", model.outputs, outputs)):
        found = [(port.name, port.type, values[port.name]) for port in ports if port.name in values]
        write_data(folder / DATA, what, found)


def _scripts(folder: Path, pack: Pack, candidate: Candidate, shown: Shown, finding: Finding, title: str) -> list[Path]:
    how = "two" if len(pack.models) == 2 else _HOW.get(shown.kind, "differs")
    names = [path.name for path in pack.models]
    inputs = candidate.of(candidate.documents[0]) if len(pack.models) == 1 else candidate.inputs
    rtol, atol = scripts.tolerance_of(shown.outputs, finding.tolerance)
    script = scripts.Script(title, how, names, inputs, shown.outputs, rtol, atol)
    if not scripts.can_be_written({**inputs, **shown.outputs}):
        return []
    made = {"run_openvino.py": scripts.openvino_script(script)}
    if pack.models[0].suffix == ".onnx":
        made["run_onnxruntime.py"] = scripts.onnxruntime_script(script)
        torch = _in_torch(candidate, script)
        if torch:
            made["run_torch.py"] = torch
    written = []
    for name, text in made.items():
        write_text(folder / name, text)
        written.append(folder / name)
    away = scripts.in_a_file(script)
    if away:
        with atomic_binary(folder / scripts.DATA) as file:
            np.savez(file, **away)
        written.append(folder / scripts.DATA)
    return written


def _in_torch(candidate: Candidate, script: scripts.Script) -> str:
    """Empty where PyTorch has no words for it."""
    from .onnx_document import OnnxDocument
    from .torch_script import torch_script

    (document, *others) = candidate.documents
    return "" if others or not isinstance(document, OnnxDocument) else torch_script(document.proto, script)
