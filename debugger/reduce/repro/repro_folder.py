"""The result of a reduction as a folder that others can run: the model, its data, scripts, and a report."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ....runtime.atomic_file import atomic_binary, write_text
from ....runtime.child_process import python_command, run_child
from ....runtime.model import Data, Model
from ...export_formats.onnx_test_data import write_test_data
from ...extract.output_folder import TEST_DATA_FOLDER
from ...peers.external_program import INPUTS_FOLDER, write_inputs
from ..documents.document import ReductionCandidate
from ..initial_candidate import Finding, read_document
from ..interestingness import CommandTest, InterestingnessTest, Observation, PeerDisagreement
from ..reducer import ReductionResult
from . import repro_scripts

#: Mode of a script, by the kind of observation; else ``differs``.
_SCRIPT_MODE_BY_KIND = {
    "refused": "fails",
    "failed": "fails",
    "crashed": "fails",
    "hung": "hangs",
    "nan": "nan",
    "inf": "inf",
}
_SCRIPT_MODE_BY_KIND["stop"] = "same"
#: File names of the models; the second is the other one of two.
_MODEL_STEMS = ("model", "other")
#: Timeout of a script in seconds.
_SCRIPT_TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class ScriptRun:
    """The result of a script. ``status``: 1 if the finding shows, negative for a signal."""

    script: str
    status: int
    last_line: str


@dataclass
class ReproFolder:
    """A written folder. ``models``: the files for runtimes; ``recheck``: the observation after reading it back, None
    if it did not show."""

    folder: Path
    models: list[Path]
    files: list[Path] = field(default_factory=list)
    recheck: Observation | None = None
    script_runs: list[ScriptRun] = field(default_factory=list)
    #: Whether the data has a leading axis that counts requests.
    is_over_requests: bool = False

    @property
    def nbytes(self) -> int:
        """The size of the models, including their weights."""
        weights = (
            path.with_suffix(".bin") if path.suffix == ".xml" else path.with_name(f"{path.name}.data")
            for path in self.models
        )
        return sum(path.stat().st_size for path in (*self.models, *weights) if path.exists())

    def moved_to(self, folder: Path) -> ReproFolder:
        """Return the folder after its files were moved."""
        models, files = ([folder / path.name for path in paths] for paths in (self.models, self.files))
        return replace(self, folder=folder, models=models, files=files)


def write_repro(reduced: ReductionResult, finding: Finding, title: str, folder: Path) -> ReproFolder:
    """Write all files except the report into an empty folder.

    Raises:
        OSError: it cannot be written.
    """
    candidate = reduced.candidate
    models = [document.save(folder, stem) for document, stem in zip(candidate.documents, _MODEL_STEMS, strict=False)]
    pack = ReproFolder(folder, models, is_over_requests=candidate.documents[0].is_over_requests)
    if models[0].suffix == ".onnx":
        built = [document.build_model() for document in candidate.documents]
        _write_test_data(folder, built, candidate.inputs, reduced.observation.outputs)
    if is_shown_by_command(finding.test):
        document = candidate.documents[0]
        write_inputs(folder / INPUTS_FOLDER, candidate.inputs_for(document), document.outputs)
    pack.files += _write_scripts(folder, pack, candidate, reduced.observation, finding, title)
    return pack


def is_shown_by_command(test: InterestingnessTest) -> bool:
    """Whether a finding is shown by a program that reads a folder of inputs."""
    return isinstance(test, CommandTest) or (isinstance(test, PeerDisagreement) and test.peer.is_command)


def check_repro(pack: ReproFolder, predicate: InterestingnessTest, inputs: Mapping[str, Data]) -> None:
    """Check that the files show the finding: they are read and run as the candidate was."""
    documents = tuple(read_document(path) for path in pack.models)
    for document in documents:
        document.is_over_requests = pack.is_over_requests
    pack.recheck = predicate(ReductionCandidate(documents, inputs))


def run_scripts(pack: ReproFolder) -> None:
    """Run each script whose runtime is installed."""
    for path in pack.files:
        package = path.stem.removeprefix("run_")
        if path.suffix == ".py" and importlib.util.find_spec(package) is not None:
            pack.script_runs.append(run_script(path))


def run_script(path: Path) -> ScriptRun:
    """Run a script of a folder."""
    path = path.resolve()
    process = run_child(python_command(str(path)), timeout=_SCRIPT_TIMEOUT_SECONDS, cwd=path.parent)
    if process is None:
        return ScriptRun(path.name, -1, f"no end within {_SCRIPT_TIMEOUT_SECONDS} s")
    lines = (process.stdout.strip() or process.stderr.strip()).decode("utf-8", "replace").splitlines()
    return ScriptRun(path.name, process.returncode, " ".join(lines[-1].split()) if lines else "")


def _write_test_data(
    folder: Path, models: Sequence[Model], inputs: Mapping[str, Data], outputs: Mapping[str, Data]
) -> None:
    """Write the inputs of the models, and the outputs of the first, as ONNX test data."""
    taken = list({port.name: port for model in reversed(models) for port in model.inputs}.values())
    first = [port.name for port in models[0].inputs]
    taken.sort(key=lambda port: first.index(port.name) if port.name in first else len(first))
    for prefix, ports, values in (("input", taken, inputs), ("output", models[0].outputs, outputs)):
        tensors = [(port.name, port.type, values[port.name]) for port in ports if port.name in values]
        write_test_data(folder / TEST_DATA_FOLDER, prefix, tensors)


def _write_scripts(
    folder: Path, pack: ReproFolder, candidate: ReductionCandidate, result: Observation, finding: Finding, title: str
) -> list[Path]:
    mode = "two" if len(pack.models) == 2 else _SCRIPT_MODE_BY_KIND.get(result.kind, "differs")
    names = [path.name for path in pack.models]
    inputs = candidate.inputs_for(candidate.documents[0]) if len(pack.models) == 1 else candidate.inputs
    rtol, atol = repro_scripts.overall_tolerance(result.outputs, finding.tolerance)
    script = repro_scripts.ReproScript(title, mode, names, inputs, result.outputs, rtol, atol, pack.is_over_requests)
    if result.kind == "command" or not repro_scripts.is_plain_numpy({**inputs, **result.outputs}):
        return []
    texts = {"run_openvino.py": repro_scripts.openvino_script(script)}
    if pack.models[0].suffix == ".onnx":
        texts["run_onnxruntime.py"] = repro_scripts.onnxruntime_script(script)
        torch = _torch_script_text(candidate, script)
        if torch:
            texts["run_torch.py"] = torch
    written = []
    for name, text in texts.items():
        write_text(folder / name, text)
        written.append(folder / name)
    arrays = repro_scripts.data_file_arrays(script)
    if arrays:
        with atomic_binary(folder / repro_scripts.DATA_FILE) as file:
            np.savez(file, **arrays)
        written.append(folder / repro_scripts.DATA_FILE)
    return written


def _torch_script_text(candidate: ReductionCandidate, script: repro_scripts.ReproScript) -> str:
    """The PyTorch script; empty if it cannot be expressed in PyTorch."""
    from ..documents.onnx_document import OnnxDocument
    from .torch_script import torch_script

    (document, *others) = candidate.documents
    return "" if others or not isinstance(document, OnnxDocument) else torch_script(document.proto, script)
