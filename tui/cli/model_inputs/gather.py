"""Where a run's inputs come from: ``--input``, ``--inputs``, files beside the model, or the signature."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ....runtime.errors import InputError, UsageError
from ....runtime.graph import OptionalType
from ....runtime.input_validation import Data, check_value
from ....runtime.model import Model, Port, load
from ....runtime.random_inputs import DimensionSizes, random_input
from ....runtime.text import did_you_mean
from .files import read_npz, read_test_inputs
from .value_parser import parse_value


@dataclass(frozen=True)
class RunInputs:
    """The inputs of a run, checked. ``note`` says in one line where they come from; empty where there are none."""

    values: dict[str, Data]
    note: str
    #: True where the user named no source, so that ours must be told.
    chosen_by_default: bool = False
    #: What is odd about them, one line each.
    remarks: tuple[str, ...] = ()
    #: Some were made, and nobody asked for that.
    generated_by_default: bool = False
    #: Those of the random ones, by name.
    seeds: Mapping[str, int] = field(default_factory=dict)
    #: The folder of ONNX test data that all of them are from; it may have the outputs, too.
    test_data: Path | None = None
    #: The outputs that are expected, by name, and where they are from.
    expected: tuple[Mapping[str, Data], str] = ({}, "")


def load_runnable_model(path: str | Path, weights: str | Path | None, options: argparse.Namespace) -> Model:
    """The model that the options run: that of a file, or several requests to it as a loop.

    Raises:
        ModelError: the file is missing or broken.
        UsageError: its requests are no loop.
    """
    return apply_requests(load(path, weights), options)


def apply_requests(model: Model, options: argparse.Namespace) -> Model:
    """Several requests to a model as a loop where the options ask for that, else the model itself.

    Raises:
        UsageError: they are no loop.
    """
    if getattr(options, "requests", None) is None:
        return model
    if options.inputs is not None:
        raise UsageError("--inputs is for one run, and --requests for several: use one or the other")
    try:
        return model.over_requests()
    except UsageError as error:
        raise UsageError(f"--requests: {model.name}: {error}") from None


def gather_inputs(model: Model, options: argparse.Namespace) -> RunInputs:
    """The inputs that the options ask for.

    ``--input`` goes before ``--inputs`` and before what stands beside the model. Only where none of these gives
    anything, what is missing is made.

    Raises:
        InputError: a file cannot be read, an input is unknown, missing, or does not fit.
        UsageError: options that contradict each other.
    """
    ports = {port.name: port for port in model.inputs}
    given = _parse_assignments(options.input, ports | {alias: port for port in model.inputs for alias in port.aliases})
    state = set_state([model], options.state)
    wants_made = options.seed is not None or bool(options.dim)
    several = getattr(options, "requests", None) is not None
    chosen = _select_case(model, options)
    asked = options.requests if several else chosen if isinstance(chosen, str) else options.inputs
    if wants_made and asked is not None:
        option = "--requests" if several else "--inputs"
        raise UsageError(f"--seed and --dim make inputs, and {option} gives them: use one or the other")
    no_search = wants_made or given.keys() >= ports.keys()
    source, where, chosen_here = _find_source(model, asked, no_search and bool(ports))
    if isinstance(chosen, tuple):
        source, where, chosen_here = *chosen, False
    found = {} if source is None else model._internals.resolve_aliases(source())

    named: dict[str, int] = {}
    values: dict[str, Data] = {}
    for port in model.inputs:
        if port.name in given:
            values[port.name] = check_value(port.name, port.type, given[port.name], named)
        elif port.name in found:
            values[port.name] = _check_file_value(port, found[port.name], named, where, several)
    remarks = [
        f"{where}: ignored '{name}', which the model has no input for{did_you_mean(name, list(ports))}"
        for name in found
        if name not in ports
    ]
    taken = [name for name in values if name not in given]
    missing = [port for port in model.inputs if port.name not in values and not _may_be_absent(port)]
    made: list[str] = []
    seed = options.seed or 0
    seeds: dict[str, int] = {}
    if source is None:
        dims = DimensionSizes(options.dim, model.inputs, named, model.graph.usual_shapes, "--dim")
        for index, port in enumerate(model.inputs):
            if port.name not in values and not port.optional:
                usual = model.graph.usual_values.get(port.name)
                value = random_input(port, dims, (seed, index)) if usual is None else usual
                if usual is None:
                    seeds[port.name] = seed
                values[port.name] = check_value(port.name, port.type, value, named)
                made.append(_port_text(port, value) if usual is None else f"{port} = {usual.tolist()}, as is usual")
    elif missing:
        raise InputError(_missing_input_text(where, missing[0], found, several))
    where = f"{where} (beside the model)" if chosen_here else where
    note = _source_note([*given, *state], taken, where, made, seed)
    unasked = bool(made) and not wants_made
    for value in values.values():
        if isinstance(value, np.ndarray):
            # Nobody else has it: a session need not copy it.
            value.flags.writeable = False
    folder = None if given or made or source is None else _test_data_folder(model, asked)
    return RunInputs(values, note, bool(made) or (chosen_here and bool(taken)), tuple(remarks), unasked, seeds, folder)


def set_state(models: Sequence[Model], words: Sequence[str | tuple[str, str]]) -> list[str]:
    """Give models the variables of ``--state``, each those that it has; returns their names.

    Raises:
        InputError: none of them has such a variable, or a value does not fit it.
    """
    variables = [(model, one.name, one.state.type) for model in models for one in model.graph.variables]
    given = _parse_assignments(
        words, {name: Port(name, declared) for _, name, declared in variables}, "--state", "variable"
    )
    for model, name, declared in variables:
        if name in given:
            model.state[name] = check_value(name, declared, given[name], what="variable")
    return list(given)


def _parse_assignments(
    words: Sequence[str | tuple[str, str]],
    ports: Mapping[str, Port],
    option: str = "--input",
    what: str = "input",
) -> dict[str, Data]:
    """What --input or --state says, by name; the client of a protocol gives pairs of a name and a text instead."""
    given: dict[str, Data] = {}
    for word in words:
        name, text = _split_assignment(word, ports, option) if isinstance(word, str) else word
        if name not in ports:
            have = ", ".join(f"'{n}'" for n in dict.fromkeys(port.name for port in ports.values())) or "none"
            raise InputError(f"the model has no {what} '{name}'{did_you_mean(name, list(ports)) or f'; it has {have}'}")
        port = ports[name]
        if port.name in given:
            raise UsageError(f"{option} {name}=... stands there twice")
        given[port.name] = parse_value(name, port.type, text, what)
    return given


def _split_assignment(word: str, ports: Mapping[str, Port], option: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE; a name may hold a '=' itself."""
    if "=" not in word:
        raise UsageError(f"{option} {word}: expected NAME=VALUE")
    known = max((name for name in ports if word.startswith(f"{name}=")), key=len, default=word.split("=", 1)[0])
    return known, word[len(known) + 1 :]


def sidecar_path(model: Path) -> Path:
    """The file that has the inputs of a model where nothing is asked for."""
    return model.with_suffix(".inputs.npz")


InputReader = Callable[[], dict[str, Data]]


def _select_case(model: Model, options: argparse.Namespace) -> str | tuple[InputReader, str] | None:
    """The file or folder of one of many cases, or how to read it out of one that holds them all; None: none is meant.

    Raises:
        UsageError: there is no such case, or no set of cases.
    """
    case, batched = getattr(options, "case", None), getattr(options, "batched", False)
    if case is None:
        if batched:
            raise UsageError("--batched: say which case as --case N")
        return None
    if options.inputs is None:
        raise UsageError("--case names one of many cases: give the set of them as --inputs SET")
    from ....debugger.sweep.case_files import open_case_set

    cases = open_case_set(options.inputs, batched)
    number = cases.find(case)
    path = cases.path_of(number)
    if path is not None:
        return str(path)
    return lambda: dict(cases.reader(model)(number).inputs), f"case {number} of {options.inputs}"


def _find_source(model: Model, asked: str | None, no_search: bool) -> tuple[InputReader | None, str, bool]:
    """How to read the file or folder with the inputs, what to call it, and whether it was found, not named."""
    if asked is not None:
        path = Path(asked)
        if path.is_dir():
            return lambda: read_test_inputs(path, model.inputs), asked, False
        return lambda: read_npz(path, model.inputs), asked, False
    if no_search or model.path is None:
        return None, "", False
    sidecar = sidecar_path(model.path)
    if sidecar.is_file():
        return lambda: read_npz(sidecar, model.inputs), sidecar.name, True
    folder = model.path.parent / "test_data_set_0"
    if folder.is_dir():
        return lambda: read_test_inputs(folder, model.inputs), folder.name, True
    return None, "", False


def _test_data_folder(model: Model, asked: str | None) -> Path | None:
    """The folder of test data that the inputs are from, if they are from one."""
    if asked is not None:
        return Path(asked) if Path(asked).is_dir() else None
    if model.path is None or sidecar_path(model.path).is_file():
        return None
    return model.path.parent / "test_data_set_0"


def _check_file_value(port: Port, value: Data, named: dict[str, int], where: str, several: bool) -> Data:
    """What a file has for an input. ``several``: of several requests, which none gives alone."""
    try:
        return check_value(port.name, port.type, value, named)
    except InputError as error:
        if several:
            raise InputError(f"{where}: {error.what}; the first axis counts the requests") from None
        raise InputError.with_location(where, error) from None


def _may_be_absent(port: Port) -> bool:
    return port.optional or isinstance(port.type, OptionalType)


def _missing_input_text(where: str, port: Port, found: Mapping[str, Data], several: bool) -> str:
    have = ", ".join(f"'{name}'" for name in found) or "nothing"
    otherwise = "" if several else f", or give it as --input {port.name}=VALUE"
    return f"{where} lacks the input '{port.name}' ({port.type}); it holds {have}; add it{otherwise}"


def _port_text(port: Port, value: Data) -> str:
    shape = getattr(value, "shape", None)
    if shape is None or port.shape is None or all(isinstance(dim, int) for dim in port.shape):
        return str(port)
    return f"{port} as [{','.join(map(str, shape))}]"


def _source_note(given: list[str], taken: list[str], where: str, made: list[str], seed: int) -> str:
    parts = []
    if taken:
        parts.append(f"from {where}" if not given and not made else f"{_names_text(taken)} from {where}")
    if made:
        parts.append(f"made with --seed {seed}: {_names_text(made)}")
    if given:
        parts.append(f"{_names_text(given)} as given")
    return "; ".join(parts)


def _names_text(names: list[str]) -> str:
    more = len(names) - 6
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:6])} and {more} more"
