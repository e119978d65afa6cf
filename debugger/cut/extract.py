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
from ..formats import arrays
from .captured import Place, Runs
from .folder import DATA, filled, write_data
from .part import NOT_COMPUTED, Part, same_bits


@dataclass(frozen=True)
class Extracted:
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
        return f"{whole} of loop '{self.loop}'{_entry(self.entry)}"

    @property
    def proof(self) -> str:
        """In words what it does by itself."""
        if not self.failure:
            return "the same bits by itself"
        return f"it fails by itself as in the run: {self.failure}; expected outputs: {self._computed}"

    @property
    def _computed(self) -> str:
        told = ", ".join(f"'{name}'" for name in self.expected)
        return f"{told}, computed before that" if told else "none, nothing was computed before that"


def extract(runs: Runs, place: Place, iteration: int | None, target: Path, *, force: bool = False) -> Extracted:
    """Write one iteration (None: all of them) of an entry of a loop into a folder.

    Raises:
        UsageError: the run does not come there, or the folder cannot be written.
        UnsupportedError: it cannot be a model of its own.
        ExecutionError: it fails, or is not the same by itself.
    """
    part = cut(runs, place, iteration)
    with filled(target, force) as folder:
        path = write(part, folder)
        model = load(path)
        # What fails at the boundary behind it is no failure of the iteration.
        whole = all(value is not NOT_COMPUTED for value in part.given.values())
        failure = "" if iteration is None or whole else runs.failure(place, iteration)
        (_check_failure if failure else _check)(part, model, runs.model)
        what = Extracted(
            target / path.name,
            place.plan.loop.name,
            place.entry,
            iteration,
            tuple(port.name for port in model.inputs),
            tuple(port.name for port in model.outputs),
            tuple(_sides(part, model)["outputs"]),
            failure,
        )
        write_text(folder / "README.md", _told(what, runs.model))
    return what


def cut(runs: Runs, place: Place, iteration: int | None) -> Part:
    """The part of a model, in memory.

    Raises:
        UsageError, UnsupportedError, ExecutionError: as :func:`extract`.
    """
    model, loop = runs.model, place.plan.loop
    if model._inside.requests:
        raise UnsupportedError(f"{model.name}: a loop over requests is no part of the file")
    one = None if iteration is None else partial(runs.iteration, place, iteration)
    if model.graph.system is System.OPENVINO:
        from . import ir_source

        return ir_source.cut(model, loop, one, partial(runs.entry, place))
    from ...runtime.frontends.onnx.places import places
    from . import onnx_source, onnx_written

    found = places(model.path, model.graph) if model.graph.system is System.ONNX else None
    where = None if found is None else found.of(loop)
    if one is not None:
        if found is not None and where is not None and onnx_source.has_body(where, loop):
            return onnx_source.cut_body(found, where, loop, one)
        return onnx_written.write_body(model, loop, one)
    whole = partial(runs.entry, place)
    if found is not None and where is not None:
        return onnx_source.cut_loop(found, where, loop, whole)
    return onnx_written.write_loop(model, loop, whole)


def write(part: Part, folder: Path) -> Path:
    """Write a part and what it is fed and should give, by the names that it has; returns the model's file."""
    if part.weights is not None:  # an IR
        from . import ir_source

        path = ir_source.write(part, folder)
        for what, named in _sides(part, load(path)).items():
            if named or what == "inputs":
                arrays.write(path.with_suffix(f".{what}.npz"), named)
        return path
    from ...runtime.frontends.onnx.model_file import write_model

    path = folder / "model.onnx"
    write_model(part.model, path)
    for what, ports, values in (("input", part.inputs, part.fed), ("output", part.outputs, part.given)):
        known = [(port.name, port.type, values[port.value]) for port in ports]
        write_data(folder / DATA, what, [None if one[2] is NOT_COMPUTED else one for one in known])
    return path


def _sides(part: Part, model: Model) -> dict[str, dict[str, Any]]:
    """What a part is fed and should give, by the names of its model."""
    given = {port.name: part.given[one.value] for port, one in zip(model.outputs, part.outputs, strict=True)}
    return {
        "inputs": {port.name: part.fed[one.value] for port, one in zip(model.inputs, part.inputs, strict=True)},
        "outputs": {name: value for name, value in given.items() if value is not NOT_COMPUTED},
    }


def loop_named(model: Model, name: str | None) -> LoopPlan:
    """The plan of a loop by name or path; the only one where none is named.

    Raises:
        UsageError: there is none, or several.
    """
    plans = model.plan.loops
    if not plans:
        raise UsageError(f"{model.name} has no loop to extract")
    found = [plan for plan in plans if name in (None, plan.path, plan.loop.name)]
    if name is None and len(found) > 1:
        raise UsageError(f"{model.name} has several loops: {_listed(plans)}", Remedy.NAME_LOOP)
    if not found:
        raise UsageError(
            f"{model.name} has no loop '{name}'{did_you_mean(name or '', [plan.loop.name for plan in plans])}"
            f"; it has {_listed(plans)}"
        )
    if len(found) > 1:
        raise UsageError(f"several loops are called '{name}'; give one by its path: {_listed(found, paths=True)}")
    return found[0]


def _listed(plans: Any, paths: bool = False) -> str:
    return ", ".join(f"'{plan.path if paths else plan.loop.name}'" for plan in plans)


def _check(part: Part, model: Model, source: Model) -> None:
    """Hold that the part by itself gives what it gave in the run."""
    sides = _sides(part, model)
    try:
        outputs = model.run(sides["inputs"])
    except LoopdbgError as error:
        raise ExecutionError(f"{source.name}: what was cut out does not run by itself: {error}") from None
    for name, value in sides["outputs"].items():
        if not same_bits(outputs[name], value):
            raise ExecutionError(f"{source.name}: what was cut out gives another '{name}' than the run: it is left out")


def _check_failure(part: Part, model: Model, source: Model) -> None:
    """Hold that the part fails by itself, as it did in the run."""
    try:
        model.run(_sides(part, model)["inputs"])
    except ExecutionError:
        return
    raise ExecutionError(
        f"{source.name}: what was cut out does not fail by itself as it did in the run: it is left out"
    )


def _entry(entry: tuple[int, ...]) -> str:
    return f", entry {'/'.join(map(str, entry))}" if entry else ""


def _told(what: Extracted, source: Model) -> str:
    name = what.model.name
    cut = f"Cut out of {source.name} by loopdbg{_version()}."
    if what.failure:
        text = (
            f"{cut} In that run this iteration failed:\n\n    {what.failure}\n\n"
            f"By itself `{name}` fails, too. Expected outputs: {what._computed}."
        )
    else:
        text = (
            f"{cut} The expected outputs are what loopdbg computed in that run;\n"
            f"by itself `{name}` gave the same bits. Run with loopdbg, it is compared with them."
        )
    return f"# {what.what}\n\n{text}\n"


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f" {version('loopdbg')}"
    except PackageNotFoundError:
        return ""
