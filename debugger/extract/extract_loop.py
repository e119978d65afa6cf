"""``extract``: writes a loop, or one iteration of its body, as a standalone model with inputs and expected outputs.

The written model is run once and must reproduce the values of the run bit for bit; otherwise it is discarded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ...runtime.atomic_file import write_text
from ...runtime.errors import ExecutionError, LoopdbgError, Remedy, UnsupportedError, UsageError
from ...runtime.graph import System
from ...runtime.model import Model, load
from ...runtime.plan.plan import LoopPlan
from ...runtime.text import did_you_mean
from ..export_formats import npz
from .capture_runs import CaptureRuns, LoopEntryRef
from .output_folder import TEST_DATA_FOLDER, staging_folder, write_test_data
from .submodel import NOT_COMPUTED, Submodel, same_bits


@dataclass(frozen=True)
class ExtractionResult:
    """Describes the written model. ``iteration`` None: the whole entry. ``expected``: the outputs with known values,
    which are all of them unless the iteration fails; ``failure`` is the reason."""

    model: Path
    loop: str
    entry: tuple[int, ...]
    iteration: int | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    expected: tuple[str, ...] = ()
    failure: str = ""

    @property
    def what(self) -> str:
        """Description, such as ``iteration 3 of loop 'sqrt'``."""
        iteration_text = "all iterations" if self.iteration is None else f"iteration {self.iteration}"
        return f"{iteration_text} of loop '{self.loop}'{_entry_text(self.entry)}"

    @property
    def proof(self) -> str:
        """Description of the verification result."""
        if not self.failure:
            return "the same bits by itself"
        return f"it fails by itself as in the run: {self.failure}; expected outputs: {self.computed_outputs_text}"

    @property
    def computed_outputs_text(self) -> str:
        """The outputs that were computed before the failure."""
        names = ", ".join(f"'{name}'" for name in self.expected)
        return f"{names}, computed before that" if names else "none, nothing was computed before that"


def extract(
    runs: CaptureRuns, entry_ref: LoopEntryRef, iteration: int | None, target: Path, *, force: bool = False
) -> ExtractionResult:
    """Write one iteration (None: all of them) of a loop entry into a folder.

    Raises:
        UsageError: the run does not reach the iteration, or the folder cannot be written.
        UnsupportedError: the part cannot be a standalone model.
        ExecutionError: the part fails, or computes other values than the run.
    """
    part = build_submodel(runs, entry_ref, iteration)
    with staging_folder(target, force) as folder:
        path = write_submodel(part, folder)
        model = load(path)
        # A failure at the boundary after the iteration is not a failure of the iteration.
        is_complete = all(value is not NOT_COMPUTED for value in part.output_values.values())
        failure = "" if iteration is None or is_complete else runs.failure_of_iteration(entry_ref, iteration)
        (_check_failure if failure else _check_values)(part, model, runs.model)
        result = ExtractionResult(
            target / path.name,
            entry_ref.plan.loop.name,
            entry_ref.entry,
            iteration,
            tuple(port.name for port in model.inputs),
            tuple(port.name for port in model.outputs),
            tuple(values_by_port(part, model)["outputs"]),
            failure,
        )
        write_text(folder / "README.md", _readme_text(result, runs.model))
    return result


def build_submodel(runs: CaptureRuns, entry_ref: LoopEntryRef, iteration: int | None) -> Submodel:
    """Build the part of a model in memory.

    Raises:
        UsageError, UnsupportedError, ExecutionError: as :func:`extract`.
    """
    model, loop = runs.model, entry_ref.plan.loop
    if model.graph.is_over_requests:
        raise UnsupportedError(f"{model.name}: a loop over requests is no part of the file")
    capture_iteration = None if iteration is None else partial(runs.capture_iteration, entry_ref, iteration)
    if model.graph.system is System.OPENVINO:
        from . import ir_extract

        return ir_extract.extract_from_ir(model, loop, capture_iteration, partial(runs.capture_entry, entry_ref))
    from ...runtime.modelfile.onnx import has_original_body, open_onnx_file
    from . import onnx_extract, onnx_from_graph

    source = open_onnx_file(model.path, model.graph) if model.graph.system is System.ONNX else None
    location = None if source is None else source.locate(loop)
    if capture_iteration is not None:
        if source is not None and location is not None and has_original_body(location, loop):
            return onnx_extract.extract_body(source, location, loop, capture_iteration)
        return onnx_from_graph.build_body_submodel(model, loop, capture_iteration)
    capture_entry = partial(runs.capture_entry, entry_ref)
    if source is not None and location is not None:
        return onnx_extract.extract_loop_node(source, location, loop, capture_entry)
    return onnx_from_graph.write_loop(model, loop, capture_entry)


def write_submodel(part: Submodel, folder: Path) -> Path:
    """Write a part with its inputs and expected outputs; return the path of the model file."""
    if part.weights is not None:  # an IR
        from . import ir_extract

        path = ir_extract.write_ir(part, folder)
        for kind, arrays in values_by_port(part, load(path)).items():
            if arrays or kind == "inputs":
                npz.write(path.with_suffix(f".{kind}.npz"), arrays)
        return path
    from ...runtime.modelfile.onnx_storage import write_model

    path = folder / "model.onnx"
    write_model(part.model, path)
    for kind, ports, values in (
        ("input", part.inputs, part.input_values),
        ("output", part.outputs, part.output_values),
    ):
        rows = [(port.name, port.type, values[port.value]) for port in ports]
        write_test_data(folder / TEST_DATA_FOLDER, kind, [None if item[2] is NOT_COMPUTED else item for item in rows])
    return path


def values_by_port(part: Submodel, model: Model) -> dict[str, dict[str, Any]]:
    """Inputs and expected outputs of a part by the port names of its model."""
    outputs = {
        port.name: part.output_values[source.value] for port, source in zip(model.outputs, part.outputs, strict=True)
    }
    return {
        "inputs": {
            port.name: part.input_values[source.value] for port, source in zip(model.inputs, part.inputs, strict=True)
        },
        "outputs": {name: value for name, value in outputs.items() if value is not NOT_COMPUTED},
    }


def find_loop(model: Model, name: str | None) -> LoopPlan:
    """The plan of a loop by name or path; without a name the only one.

    Raises:
        UsageError: no loop matches, or several do.
    """
    plans = model.plan.loops
    if not plans:
        raise UsageError(f"{model.name} has no loop to extract", name=model.name)
    matches = [plan for plan in plans if name in (None, plan.path, plan.loop.name)]
    if name is None and len(matches) > 1:
        raise UsageError(f"{model.name} has several loops: {_loop_names(plans)}", Remedy.NAME_LOOP)
    if not matches:
        raise UsageError(
            f"{model.name} has no loop '{name}'{did_you_mean(name or '', [plan.loop.name for plan in plans])}"
            f"; it has {_loop_names(plans)}",
            loop=name,
        )
    if len(matches) > 1:
        raise UsageError(
            f"several loops are called '{name}'; give one by its path: {_loop_names(matches, paths=True)}", loop=name
        )
    return matches[0]


def _loop_names(plans: Any, paths: bool = False) -> str:
    return ", ".join(f"'{plan.path if paths else plan.loop.name}'" for plan in plans)


def _check_values(part: Submodel, model: Model, source: Model) -> None:
    """Check that the part alone reproduces the values of the run."""
    arrays = values_by_port(part, model)
    try:
        outputs = model.run(arrays["inputs"])
    except LoopdbgError as error:
        raise ExecutionError(f"{source.name}: what was cut out does not run by itself: {error}") from None
    for name, value in arrays["outputs"].items():
        if not same_bits(outputs[name], value):
            raise ExecutionError(f"{source.name}: what was cut out gives another '{name}' than the run: it is left out")


def _check_failure(part: Submodel, model: Model, source: Model) -> None:
    """Check that the part alone fails as it did in the run."""
    try:
        model.run(values_by_port(part, model)["inputs"])
    except ExecutionError:
        return
    raise ExecutionError(
        f"{source.name}: what was cut out does not fail by itself as it did in the run: it is left out"
    )


def _entry_text(entry: tuple[int, ...]) -> str:
    return f", entry {'/'.join(map(str, entry))}" if entry else ""


def _readme_text(result: ExtractionResult, source: Model) -> str:
    name = result.model.name
    origin = f"Cut out of {source.name} by loopdbg{_version_suffix()}."
    if result.failure:
        text = (
            f"{origin} In that run this iteration failed:\n\n    {result.failure}\n\n"
            f"By itself `{name}` fails, too. Expected outputs: {result.computed_outputs_text}."
        )
    else:
        text = (
            f"{origin} The expected outputs are what loopdbg computed in that run;\n"
            f"by itself `{name}` gave the same bits. Run with loopdbg, it is compared with them."
        )
    return f"# {result.what}\n\n{text}\n"


def _version_suffix() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f" {version('loopdbg')}"
    except PackageNotFoundError:
        return ""
