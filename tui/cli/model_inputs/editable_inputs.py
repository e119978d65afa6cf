"""Inputs that the user edits before a model is opened: generated, typed or loaded, one at a time."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from ....debugger.expression.errors import ExpressionError, UnknownNameError
from ....debugger.expression.expression import parse as parse_expression
from ....runtime.errors import InputError, UsageError
from ....runtime.graph import OptionalType, TensorType
from ....runtime.input_validation import Data, check_value, resolve_aliases
from ....runtime.model import Model, Port
from ....runtime.random_inputs import DimensionSizes, random_input
from ....runtime.text import did_you_mean
from ...render.formatting import value_text
from .files import read_npy, read_npz
from .gather import RunInputs
from .value_parser import parse_value

#: Kinds of generated values, as the screen names them.
GENERATED_KINDS = ("random", "zeros", "ones", "arange")


class InputDraft:
    """The current value and origin of each input. ``random``: the initial random values."""

    def __init__(self, model: Model, random: RunInputs) -> None:
        self.model = model
        self.ports = list(model.inputs)
        self._values: dict[str, Data] = dict(random.values)
        self._origins = {port.name: "random, seed 0" if port.name in random.values else "none" for port in self.ports}
        self._kinds = {port.name: "random" for port in self.ports}
        self._seeds = dict.fromkeys((port.name for port in self.ports), 0)
        self._dims: list[str] = []

    def __len__(self) -> int:
        return len(self.ports)

    def rows(self, width: int = 60) -> list[tuple[str, str, str, str]]:
        """Name, type, value and origin of each input."""
        return [
            (port.name, str(port.type), self._value_text(port, width), self._origins[port.name]) for port in self.ports
        ]

    def _value_text(self, port: Port, width: int) -> str:
        if port.name not in self._values:
            return "none (may be left out)" if port.optional else "none"
        value = self._values[port.name]
        shape = getattr(value, "shape", None)
        dims = "" if not shape else f"[{','.join(map(str, shape))}] "
        return f"{dims}{value_text(value, max(8, width - len(dims)))}"

    def fill_with_kind(self, k: int, kind: str) -> None:
        """Generate a value that fits the signature; random values differ each time.

        Raises:
            InputError: It would be too large, or the type has no such value.
        """
        port = self.ports[k]
        seed = self._seeds[port.name]
        if kind == "random" and self._kinds[port.name] == "random" and port.name in self._values:
            seed = self._seeds[port.name] = seed + 1
        value = random_input(port, self._known_dims(port.name), (seed, k))
        if kind != "random":
            value = _generate_value(port, value, kind)
        self._values[port.name] = value
        self._kinds[port.name] = kind
        self._origins[port.name] = f"random, seed {seed}" if kind == "random" else kind

    def edit(self, k: int, text: str) -> None:
        """Set a value from text: a number, a JSON list, a path to an .npy file, or an expression of other inputs; empty
        for an optional input.

        Raises:
            InputError: The text cannot be read, or the value does not fit.
        """
        port = self.ports[k]
        if not text and (port.optional or isinstance(port.type, OptionalType)):
            self._values.pop(port.name, None)
            self._origins[port.name] = "left out"
            return
        if not text:
            raise InputError(
                f"input '{port.name}' needs a value ({port.type})", name=port.name, expected=str(port.type)
            )
        try:
            value = parse_value(port.name, port.type, text)
        except InputError as error:
            value = self._evaluate_text(port, text, error)
        self._set_value(port, value, text if len(text) <= 30 else "typed")

    def _evaluate_text(self, port: Port, text: str, error: InputError) -> Data:
        """The value of an expression; raises ``error`` if the text is no expression either."""
        try:
            value = parse_expression(text).evaluate(_InputScope(self._values))
        except UnknownNameError:
            raise error from None
        except ExpressionError as problem:
            if text[:1] in '[{"' or text.lower().endswith((".npy", ".npz")):
                raise error from None
            raise InputError(
                f"input '{port.name}' ({port.type}): {problem}", name=port.name, expected=str(port.type)
            ) from None
        declared = port.type
        if (
            isinstance(declared, TensorType)
            and declared.dtype is not None
            and isinstance(value, np.ndarray | np.generic)
        ):
            with np.errstate(all="ignore"):
                value = np.asarray(value).astype(declared.dtype)
        return value

    def load(self, k: int, path: Path) -> str:
        """Load an .npy for one input, or an .npz for all inputs that it names; returns a summary.

        Raises:
            InputError: The file cannot be read, or a value does not fit.
        """
        port = self.ports[k]
        if path.suffix == ".npy":
            if not isinstance(port.type, TensorType):
                raise InputError(
                    f"input '{port.name}' is no tensor ({port.type}); load an .npz",
                    name=port.name,
                    expected=str(port.type),
                )
            self._set_value(port, read_npy(path, port.type), path.name)
            return f"{port.name} from {path.name}"
        arrays = resolve_aliases(self.model.graph, read_npz(path, self.model.inputs))
        ports = [p for p in self.ports if p.name in arrays]
        if not ports:
            names = ", ".join(map(repr, arrays)) or "nothing"
            raise InputError(
                f"{path}: holds {names}{did_you_mean(port.name, list(arrays))}; no input is called so",
                name=port.name,
                got=names,
            )
        for p in ports:
            self._set_value(p, arrays[p.name], path.name)
        return f"{', '.join(p.name for p in ports)} from {path.name}"

    def set_dim(self, text: str) -> None:
        """Set the size of an unknown dimension, NAME=N or INPUT:AXIS=N; generated values are generated again.

        Raises:
            UsageError: The text has another form.
            InputError: There is no such dimension.
        """
        name = text.rpartition("=")[0]
        previous, self._dims = self._dims, [*(word for word in self._dims if word.rpartition("=")[0] != name), text]
        try:
            for k, port in enumerate(self.ports):
                if self._origins[port.name].split(",")[0] in GENERATED_KINDS:
                    kind, seed = self._kinds[port.name], self._seeds[port.name]
                    value = random_input(port, self._known_dims(port.name), (seed, k))
                    self._values[port.name] = value if kind == "random" else _generate_value(port, value, kind)
        except (InputError, UsageError):
            self._dims = previous
            raise

    def build_inputs(self) -> RunInputs:
        """The inputs, checked against the signature.

        Raises:
            InputError: They do not fit, or one is missing.
        """
        dims: dict[str, int] = {}
        values: dict[str, Data] = {}
        for port in self.ports:
            if port.name in self._values:
                values[port.name] = check_value(port.name, port.type, self._values[port.name], dims)
            elif not port.optional and not isinstance(port.type, OptionalType):
                raise InputError(
                    f"input '{port.name}' ({port.type}) has no value yet", name=port.name, expected=str(port.type)
                )
        sources = [f"{name} {self._origins[name]}" for name in values]
        suffix = f" and {len(sources) - 4} more" if len(sources) > 4 else ""
        seeds = {name: self._seeds[name] for name in values if self._is_random(name)}
        return RunInputs(values, ", ".join(sources[:4]) + suffix, seeds=seeds)

    def _is_random(self, name: str) -> bool:
        return self._origins[name].startswith("random,")

    def _set_value(self, port: Port, value: Data, origin: str) -> None:
        # Checked alone: other inputs may still change.
        self._values[port.name] = check_value(port.name, port.type, value, {})
        self._origins[port.name] = origin

    def _known_dims(self, skip: str) -> DimensionSizes:
        """The sizes of named dimensions in inputs that were not generated."""
        dims: dict[str, int] = {}
        for port in self.ports:
            value = self._values.get(port.name)
            auto = self._origins[port.name].split(",")[0] in GENERATED_KINDS
            if port.name == skip or auto or not isinstance(value, np.ndarray) or not isinstance(port.type, TensorType):
                continue
            for dim, size in zip(port.type.shape or (), value.shape, strict=False):
                if isinstance(dim, str):
                    dims.setdefault(dim, size)
        return DimensionSizes(self._dims, self.ports, dims, option="--dim")


def _generate_value(port: Port, value: Any, kind: str) -> Data:
    if isinstance(value, list):
        return [_generate_value(port, item, kind) for item in value]
    array = np.asarray(value)
    if array.dtype.hasobject:
        raise InputError(
            f"input '{port.name}' is of strings: they are typed, loaded or random",
            name=port.name,
            expected=str(port.type),
        )
    if kind == "arange":
        with np.errstate(all="ignore"):
            return np.arange(array.size).reshape(array.shape).astype(array.dtype)
    return np.full(array.shape, kind == "ones").astype(array.dtype)


class _InputScope:
    """The inputs as the scope of an expression."""

    iteration = 0
    trip_count: int | None = None
    condition: bool | None = None

    def __init__(self, values: dict[str, Data]) -> None:
        self._values = values

    def names(self) -> Collection[str]:
        return self._values.keys()

    def value(self, name: str) -> Any:
        if name not in self._values:
            raise UnknownNameError(f"there is no input '{name}'{did_you_mean(name, self._values)}")
        return self._values[name]

    previous = initial = history = value

    def value_at(self, name: str, iteration: int) -> Any:
        return self.value(name)
