"""``extract``: a loop, or one iteration of its body, as a model of its own with inputs and expected outputs.

What is written is run once, and has to give the run's numbers to the bit: what does not is refused, and left out.
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
from .output_folder import TEST_DATA_FOLDER, write_folder, write_test_data
from .submodel import NOT_COMPUTED, Submodel, same_bits


@dataclass(frozen=True)
class ExtractionResult:
    """What was written. ``iteration`` None: all of the entry. ``expected``: the outputs whose values are known, all but
    where the iteration fails: ``failure`` tells why."""

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
        """In words what it is: ``iteration 3 of loop 'sqrt'``."""
        whole = "all iterations" if self.iteration is None else f"iteration {self.iteration}"
        return f"{whole} of loop '{self.loop}'{_entry_text(self.entry)}"

    @property
    def proof(self) -> str:
        """In words what it does by itself."""
        if not self.failure:
            return "the same bits by itself"
        return f"it fails by itself as in the run: {self.failure}; expected outputs: {self._computed_text}"

    @property
    def _computed_text(self) -> str:
        told = ", ".join(f"'{name}'" for name in self.expected)
        return f"{told}, computed before that" if told else "none, nothing was computed before that"


def extract(
    runs: CaptureRuns, place: LoopEntryRef, iteration: int | None, target: Path, *, force: bool = False
) -> ExtractionResult:
    """Write one iteration (None: all of them) of an entry of a loop into a folder.

    Raises:
        UsageError: the run does not come there, or the folder cannot be written.
        UnsupportedError: it cannot be a model of its own.
        ExecutionError: it fails, or is not the same by itself.
    """
    part = build_submodel(runs, place, iteration)
    with write_folder(target, force) as folder:
        path = write_submodel(part, folder)
        model = load(path)
        # What fails at the boundary behind it is no failure of the iteration.
        whole = all(value is not NOT_COMPUTED for value in part.output_values.values())
        failure = "" if iteration is None or whole else runs.failure_of_iteration(place, iteration)
        (_check_failure if failure else _check_values)(part, model, runs.model)
        what = ExtractionResult(
            target / path.name,
            place.plan.loop.name,
            place.entry,
            iteration,
            tuple(port.name for port in model.inputs),
            tuple(port.name for port in model.outputs),
            tuple(_values_by_port(part, model)["outputs"]),
            failure,
        )
        write_text(folder / "README.md", _readme_text(what, runs.model))
    return what


def build_submodel(runs: CaptureRuns, place: LoopEntryRef, iteration: int | None) -> Submodel:
    """The part of a model, in memory.

    Raises:
        UsageError, UnsupportedError, ExecutionError: as :func:`extract`.
    """
    model, loop = runs.model, place.plan.loop
    if model._internals.is_over_requests:
        raise UnsupportedError(f"{model.name}: a loop over requests is no part of the file")
    one = None if iteration is None else partial(runs.capture_iteration, place, iteration)
    if model.graph.system is System.OPENVINO:
        from . import ir_extract

        return ir_extract.extract_from_ir(model, loop, one, partial(runs.capture_entry, place))
    from ...runtime.frontends.onnx.source_map import source_map_for
    from . import onnx_extract, onnx_from_graph

    found = source_map_for(model.path, model.graph) if model.graph.system is System.ONNX else None
    where = None if found is None else found.locate(loop)
    if one is not None:
        if found is not None and where is not None and onnx_extract.has_original_body(where, loop):
            return onnx_extract.extract_body(found, where, loop, one)
        return onnx_from_graph.write_body(model, loop, one)
    whole = partial(runs.capture_entry, place)
    if found is not None and where is not None:
        return onnx_extract.extract_loop_node(found, where, loop, whole)
    return onnx_from_graph.write_loop(model, loop, whole)


def write_submodel(part: Submodel, folder: Path) -> Path:
    """Write a part and what it is fed and should give, by the names that it has; returns the model's file."""
    if part.weights is not None:  # an IR
        from . import ir_extract

        path = ir_extract.write_ir(part, folder)
        for what, named in _values_by_port(part, load(path)).items():
            if named or what == "inputs":
                npz.write(path.with_suffix(f".{what}.npz"), named)
        return path
    from ...runtime.frontends.onnx.model_file import write_model

    path = folder / "model.onnx"
    write_model(part.model, path)
    for what, ports, values in (
        ("input", part.inputs, part.input_values),
        ("output", part.outputs, part.output_values),
    ):
        known = [(port.name, port.type, values[port.value]) for port in ports]
        write_test_data(folder / TEST_DATA_FOLDER, what, [None if one[2] is NOT_COMPUTED else one for one in known])
    return path


def _values_by_port(part: Submodel, model: Model) -> dict[str, dict[str, Any]]:
    """What a part is fed and should give, by the names of its model."""
    given = {port.name: part.output_values[one.value] for port, one in zip(model.outputs, part.outputs, strict=True)}
    return {
        "inputs": {
            port.name: part.input_values[one.value] for port, one in zip(model.inputs, part.inputs, strict=True)
        },
        "outputs": {name: value for name, value in given.items() if value is not NOT_COMPUTED},
    }


def find_loop(model: Model, name: str | None) -> LoopPlan:
    """The plan of a loop by name or path; the only one where none is named.

    Raises:
        UsageError: there is none, or several.
    """
    plans = model.plan.loops
    if not plans:
        raise UsageError(f"{model.name} has no loop to extract")
    found = [plan for plan in plans if name in (None, plan.path, plan.loop.name)]
    if name is None and len(found) > 1:
        raise UsageError(f"{model.name} has several loops: {_loop_names(plans)}", Remedy.NAME_LOOP)
    if not found:
        raise UsageError(
            f"{model.name} has no loop '{name}'{did_you_mean(name or '', [plan.loop.name for plan in plans])}"
            f"; it has {_loop_names(plans)}"
        )
    if len(found) > 1:
        raise UsageError(f"several loops are called '{name}'; give one by its path: {_loop_names(found, paths=True)}")
    return found[0]


def _loop_names(plans: Any, paths: bool = False) -> str:
    return ", ".join(f"'{plan.path if paths else plan.loop.name}'" for plan in plans)


def _check_values(part: Submodel, model: Model, source: Model) -> None:
    """Hold that the part by itself gives what it gave in the run."""
    sides = _values_by_port(part, model)
    try:
        outputs = model.run(sides["inputs"])
    except LoopdbgError as error:
        raise ExecutionError(f"{source.name}: what was cut out does not run by itself: {error}") from None
    for name, value in sides["outputs"].items():
        if not same_bits(outputs[name], value):
            raise ExecutionError(f"{source.name}: what was cut out gives another '{name}' than the run: it is left out")


def _check_failure(part: Submodel, model: Model, source: Model) -> None:
    """Hold that the part fails by itself, as it did in the run."""
    try:
        model.run(_values_by_port(part, model)["inputs"])
    except ExecutionError:
        return
    raise ExecutionError(
        f"{source.name}: what was cut out does not fail by itself as it did in the run: it is left out"
    )


def _entry_text(entry: tuple[int, ...]) -> str:
    return f", entry {'/'.join(map(str, entry))}" if entry else ""


def _readme_text(what: ExtractionResult, source: Model) -> str:
    name = what.model.name
    cut = f"Cut out of {source.name} by loopdbg{_version_suffix()}."
    if what.failure:
        text = (
            f"{cut} In that run this iteration failed:\n\n    {what.failure}\n\n"
            f"By itself `{name}` fails, too. Expected outputs: {what._computed_text}."
        )
    else:
        text = (
            f"{cut} The expected outputs are what loopdbg computed in that run;\n"
            f"by itself `{name}` gave the same bits. Run with loopdbg, it is compared with them."
        )
    return f"# {what.what}\n\n{text}\n"


def _version_suffix() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f" {version('loopdbg')}"
    except PackageNotFoundError:
        return ""
