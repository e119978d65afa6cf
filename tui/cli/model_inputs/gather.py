"""Where a run's inputs come from: ``--input``, ``--inputs``, files next to the model, or random values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ....runtime.errors import InputError, UsageError
from ....runtime.graph import OptionalType
from ....runtime.input_validation import Data, check_value, resolve_aliases
from ....runtime.model import Model, Port, load
from ....runtime.random_inputs import DimensionSizes, random_input
from ....runtime.text import did_you_mean
from .. import terminal
from .files import read_npz, read_test_inputs
from .value_parser import parse_value


@dataclass(frozen=True)
class RunInputs:
    """The checked inputs of a run. ``note``: one line about their sources, empty without inputs."""

    values: dict[str, Data]
    note: str
    #: The user named no source, so the default must be reported.
    chosen_by_default: bool = False
    #: Warnings, one line each.
    remarks: tuple[str, ...] = ()
    #: Some are random without a request of the user.
    generated_by_default: bool = False
    #: The seeds of random inputs, by name.
    seeds: Mapping[str, int] = field(default_factory=dict)
    #: The folder of ONNX test data with all inputs; it may have outputs, too.
    test_data: Path | None = None
    #: The expected outputs by name, and their source.
    expected: tuple[Mapping[str, Data], str] = ({}, "")

    def print_notes(self) -> None:
        """Print the warnings, and the sources if the user named none."""
        for remark in self.remarks:
            terminal.err(f"note: {remark}")
        if self.chosen_by_default and self.note:
            terminal.err(f"inputs: {self.note}")


def load_runnable_model(path: str | Path, weights: str | Path | None, options: argparse.Namespace) -> Model:
    """Load a model; ``--as`` gives it the rules of a runtime, and ``--requests`` turns it into a loop over requests.

    Raises:
        ModelError: The file is missing or broken.
        UsageError: The model cannot become a loop over requests, or a runtime has no rule for it.
    """
    return apply_requests_option(
        _with_runtime_rules(load(path, weights), getattr(options, "as_runtime", None)), options
    )


def _with_runtime_rules(model: Model, runtime: str | None) -> Model:
    """The model as a runtime computes it, if ``--as`` is given."""
    if runtime is None:
        return model
    # Imported lazily: a run without it needs none of it.
    from ....debugger.compare.live_peer.peer_emulation import as_runtime

    changed = as_runtime(model, runtime)
    for text in changed.followed:
        terminal.err(f"as {runtime}: {text}")
    for text in changed.unfollowed:
        terminal.err(f"not as {runtime}: {text}")
    return changed.model


def apply_requests_option(model: Model, options: argparse.Namespace) -> Model:
    """Turn a model into a loop over requests, if ``--requests`` is given.

    Raises:
        UsageError: The model cannot become a loop over requests.
    """
    if getattr(options, "requests", None) is None:
        return model
    if options.inputs is not None:
        raise UsageError("--inputs is for one run, and --requests for several: use one or the other")
    try:
        return model.over_requests()
    except UsageError as error:
        raise UsageError(f"--requests: {model.name}: {error}") from None


def gather_inputs(model: Model, options: argparse.Namespace, more: Sequence[Port] = ()) -> RunInputs:
    """Gather the inputs of a run, and ``more``, which another model takes.

    ``--input`` has priority over ``--inputs`` and over files next to the model. Missing inputs are random if there is
    no file.

    Raises:
        InputError: A file cannot be read; an input is unknown, missing, or does not fit.
        UsageError: The options contradict each other.
    """
    inputs = [*model.inputs, *more]
    ports = {port.name: port for port in inputs}
    direct = _parse_assignments(options.input, ports | {alias: port for port in inputs for alias in port.aliases})
    state = set_state([model], options.state)
    wants_random = options.seed is not None or bool(options.dim)
    has_requests = getattr(options, "requests", None) is not None
    case = _select_case(model, options)
    path = options.requests if has_requests else case if isinstance(case, str) else options.inputs
    if wants_random and path is not None:
        option = "--requests" if has_requests else "--inputs"
        raise UsageError(f"--seed and --dim make inputs, and {option} gives them: use one or the other")
    no_search = wants_random or direct.keys() >= ports.keys()
    source, source_name, is_default = _find_input_source(model, inputs, path, no_search and bool(ports))
    if isinstance(case, tuple):
        source, source_name, is_default = *case, False
    loaded = {} if source is None else resolve_aliases(model.graph, source())

    dims: dict[str, int] = {}
    values: dict[str, Data] = {}
    for port in inputs:
        if port.name in direct:
            values[port.name] = check_value(port.name, port.type, direct[port.name], dims)
        elif port.name in loaded:
            values[port.name] = _check_file_value(port, loaded[port.name], dims, source_name, has_requests)
    remarks = [
        f"{source_name}: ignored '{name}', which the model has no input for{did_you_mean(name, list(ports))}"
        for name in loaded
        if name not in ports
    ]
    used = [name for name in values if name not in direct]
    missing = [port for port in inputs if port.name not in values and not _is_optional_input(port)]
    auto: list[str] = []
    seed = options.seed or 0
    seeds: dict[str, int] = {}
    origin = f"made with --seed {seed}"
    if source is None:
        dim_sizes = DimensionSizes(options.dim, inputs, dims, model.graph.usual_shapes, "--dim")
        edge_case = None if values or more or not seed else _seeded_edge_case(model, options.dim, seed)
        if edge_case is not None:
            values.update(edge_case)
            origin += " (an edge case)"
            seeds = dict.fromkeys(values, seed)
            auto += [_port_text(port, values[port.name]) for port in inputs if port.name in values]
        for index, port in enumerate(inputs if edge_case is None else ()):
            if port.name not in values and not port.optional:
                usual = model.graph.usual_values.get(port.name)
                value = random_input(port, dim_sizes, (seed, index)) if usual is None else usual
                if usual is None:
                    seeds[port.name] = seed
                values[port.name] = check_value(port.name, port.type, value, dims)
                auto.append(_port_text(port, value) if usual is None else f"{port} = {usual.tolist()}, as is usual")
    elif missing:
        raise InputError(
            _missing_input_text(source_name, missing[0], loaded, has_requests),
            name=missing[0].name,
            expected=str(missing[0].type),
        )
    source_name = f"{source_name} (next to the model)" if is_default else source_name
    note = _source_note([*direct, *state], used, source_name, auto, origin)
    implicit = bool(auto) and not wants_random
    for value in values.values():
        if isinstance(value, np.ndarray):
            # Not shared: a session need not copy it.
            value.flags.writeable = False
    folder = None if direct or auto or source is None else _test_data_folder(model, path)
    return RunInputs(values, note, bool(auto) or (is_default and bool(used)), tuple(remarks), implicit, seeds, folder)


def set_state(models: Sequence[Model], words: Sequence[str | tuple[str, str]]) -> list[str]:
    """Set the variables of ``--state`` in the models that have them; returns their names.

    Raises:
        InputError: No model has such a variable, or a value does not fit.
    """
    variables = [(model, variable.name, variable.state.type) for model in models for variable in model.graph.variables]
    assigned = _parse_assignments(
        words, {name: Port(name, declared) for _, name, declared in variables}, "--state", "variable"
    )
    for model, name, declared in variables:
        if name in assigned:
            model.state[name] = check_value(name, declared, assigned[name], what="variable")
    return list(assigned)


def _parse_assignments(
    words: Sequence[str | tuple[str, str]],
    ports: Mapping[str, Port],
    option: str = "--input",
    kind: str = "input",
) -> dict[str, Data]:
    """Parse --input or --state; a protocol client passes (name, text) pairs instead of words."""
    values: dict[str, Data] = {}
    for word in words:
        name, text = _split_assignment(word, ports, option) if isinstance(word, str) else word
        if name not in ports:
            have = ", ".join(f"'{n}'" for n in dict.fromkeys(port.name for port in ports.values())) or "none"
            raise InputError(
                f"the model has no {kind} '{name}'{did_you_mean(name, list(ports)) or f'; it has {have}'}", name=name
            )
        port = ports[name]
        if port.name in values:
            raise UsageError(f"{option} {name}=... is given twice", name=name)
        values[port.name] = parse_value(name, port.type, text, kind)
    return values


def _split_assignment(word: str, ports: Mapping[str, Port], option: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE; a name may hold a '=' itself."""
    if "=" not in word:
        raise UsageError(f"{option} {word}: expected NAME=VALUE", name=word, expected="NAME=VALUE")
    known = max((name for name in ports if word.startswith(f"{name}=")), key=len, default=word.split("=", 1)[0])
    return known, word[len(known) + 1 :]


def sidecar_path(model: Path) -> Path:
    """The default file with the inputs of a model."""
    return model.with_suffix(".inputs.npz")


InputReader = Callable[[], dict[str, Data]]


def _select_case(model: Model, options: argparse.Namespace) -> str | tuple[InputReader, str] | None:
    """The path of the selected case, or its reader and name if one file holds all cases; None without ``--case``.

    Raises:
        UsageError: There is no such case, or no case set.
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


def _find_input_source(
    model: Model, inputs: Sequence[Port], text: str | None, no_search: bool
) -> tuple[InputReader | None, str, bool]:
    """The reader of the file or folder with the inputs, its name, and whether it is a default."""
    if text is not None:
        path = Path(text)
        if path.is_dir():
            return lambda: read_test_inputs(path, inputs), text, False
        return lambda: read_npz(path, inputs), text, False
    if no_search or model.path is None:
        return None, "", False
    sidecar = sidecar_path(model.path)
    if sidecar.is_file():
        return lambda: read_npz(sidecar, inputs), sidecar.name, True
    folder = model.path.parent / "test_data_set_0"
    if folder.is_dir():
        return lambda: read_test_inputs(folder, inputs), folder.name, True
    return None, "", False


def _test_data_folder(model: Model, text: str | None) -> Path | None:
    """The folder of test data that the inputs come from, if any."""
    if text is not None:
        return Path(text) if Path(text).is_dir() else None
    if model.path is None or sidecar_path(model.path).is_file():
        return None
    return model.path.parent / "test_data_set_0"


def _check_file_value(port: Port, value: Data, dims: dict[str, int], source: str, has_requests: bool) -> Data:
    """Check an input value from a file. ``has_requests``: its first axis counts requests."""
    try:
        return check_value(port.name, port.type, value, dims)
    except InputError as error:
        if has_requests:
            raise InputError(f"{source}: {error.what}; the first axis counts the requests", **error.fields) from None
        raise InputError.with_location(source, error) from None


def _is_optional_input(port: Port) -> bool:
    return port.optional or isinstance(port.type, OptionalType)


def _missing_input_text(source: str, port: Port, values: Mapping[str, Data], has_requests: bool) -> str:
    names = ", ".join(f"'{name}'" for name in values) or "nothing"
    alternative = "" if has_requests else f", or give it as --input {port.name}=VALUE"
    return f"{source} lacks the input '{port.name}' ({port.type}); it holds {names}; add it{alternative}"


def _seeded_edge_case(model: Model, dims: Sequence[str], seed: int) -> Mapping[str, Data] | None:
    """The edge case that this seed makes in a sweep, if it does."""
    from ....debugger.input_space.seeded_edge_cases import SeededEdgeCases  # late: with the language of expressions

    return SeededEdgeCases(model, dims).inputs(seed)


def _port_text(port: Port, value: Data) -> str:
    shape = getattr(value, "shape", None)
    if shape is None or port.shape is None or all(isinstance(dim, int) for dim in port.shape):
        return str(port)
    return f"{port} as [{','.join(map(str, shape))}]"


def _source_note(direct: list[str], used: list[str], source: str, auto: list[str], origin: str) -> str:
    parts = []
    if used:
        parts.append(f"from {source}" if not direct and not auto else f"{_names_text(used)} from {source}")
    if auto:
        parts.append(f"{origin}: {_names_text(auto)}")
    if direct:
        parts.append(f"{_names_text(direct)} as given")
    return "; ".join(parts)


def _names_text(names: list[str]) -> str:
    rest = len(names) - 6
    return ", ".join(names) if rest <= 1 else f"{', '.join(names[:6])} and {rest} more"
