"""Cases: the inputs of model runs, and sets of cases.

A set is sent to other processes unchanged, and reads its files there. For a model it provides a reader, which returns a
case by its number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...runtime.errors import InputError, UsageError
from ...runtime.input_validation import Data, check_value, resolve_aliases
from ...runtime.model import Model
from ...runtime.random_inputs import DimensionSizes, random_input
from ..input_space.seeded_edge_cases import SeededEdgeCases

#: The expected outputs of a case without any.
_NO_OUTPUTS: Mapping[str, Data] = MappingProxyType({})


class Case(NamedTuple):
    """The inputs of one run, and the expected outputs, if known."""

    inputs: Mapping[str, Data]
    seed: int | None = None
    expected: Mapping[str, Data] = _NO_OUTPUTS


CaseReader = Callable[[int], Case]


class CaseSet(ABC):
    """Cases, numbered from 0. ``name`` is the same in any location; ``fingerprint`` identifies a set."""

    name: str
    fingerprint: str

    @abstractmethod
    def __len__(self) -> int: ...

    def name_of(self, number: int) -> str:
        """The name of a case; by default its number."""
        return str(number)

    def path_of(self, number: int) -> Path | None:
        """The file or folder of a single case; None: there is none."""
        return None

    @abstractmethod
    def reader(self, model: Model) -> CaseReader:
        """Return the function that reads cases for a model.

        Raises:
            InputError: the set does not fit this model; raised by the reader: a case cannot be read.
        """

    def subset(self, start: int, stop: int) -> CaseSet:
        """Return a set with only some of the cases, for workers without access to the files."""
        return self

    def find(self, name: str) -> int:
        """Return the number of a case.

        Raises:
            UsageError: no case has that name.
        """
        number = name.rsplit("/", 1)[-1]
        if number.isdecimal() and int(number) < len(self):
            return int(number)
        raise UsageError(
            f"{self.name} has no case '{name}'; they are numbered 0 to {len(self) - 1}",
            name=name,
            expected=f"0 to {len(self) - 1}",
        )


def fingerprint_of(parts: Iterable[object]) -> str:
    """Return a short hash of some texts."""
    hasher = blake2b(digest_size=6)
    for part in parts:
        hasher.update(str(part).encode("utf-8", "surrogateescape") + b"\0")
    return hasher.hexdigest()


class RandomCases(CaseSet):
    """Random inputs for the signature: case k has the seed ``seed + k``, and every fourth seed makes an edge case if
    ``edge_cases``. ``dims``: sizes of unknown dimensions."""

    def __init__(self, count: int, seed: int = 0, dims: Sequence[str] = (), *, edge_cases: bool = True) -> None:
        self.name = f"random-{seed}"
        self._count, self._seed, self._dims, self._edge_cases = count, seed, tuple(dims), edge_cases
        # Not the count: a larger set has the same first cases.
        self.fingerprint = fingerprint_of(("random with edge cases" if edge_cases else "random", seed, *dims))

    def __len__(self) -> int:
        return self._count

    def seed_of(self, number: int) -> int:
        """Return the seed of a case."""
        return self._seed + number

    def reader(self, model: Model) -> CaseReader:
        named: dict[str, int] = {}
        dims = DimensionSizes(self._dims, model.inputs, named, model.graph.usual_shapes)
        usual = model.graph.usual_values
        ports = [(index, port) for index, port in enumerate(model.inputs) if not port.optional]
        edge_cases = SeededEdgeCases(model, self._dims) if self._edge_cases else None

        def read(number: int) -> Case:
            seed = self._seed + number
            edge_case = None if edge_cases is None else edge_cases.inputs(seed)
            if edge_case is not None:
                return Case(edge_case, seed)
            values = {}
            for index, port in ports:
                value = usual[port.name] if port.name in usual else random_input(port, dims, (seed, index))
                values[port.name] = check_value(port.name, port.type, value, named)
            return Case(values, seed)

        return read


class InMemoryCases(CaseSet):
    """Inputs in memory, each a mapping of names to values. ``first``: the number of the first one."""

    def __init__(
        self, items: Sequence[Mapping[str, Data]], name: str = "given", first: int = 0, count: int = -1
    ) -> None:
        self.name = name
        self._items, self._first = items, first
        self._count = len(items) if count < 0 else count
        self.fingerprint = fingerprint_of((name, self._count))

    def __len__(self) -> int:
        return self._count

    def reader(self, model: Model) -> CaseReader:
        ports = {port.name: port for port in model.inputs}

        def read(number: int) -> Case:
            item: Any = self._items[number - self._first]
            if type(item) is not dict and not isinstance(item, Mapping):
                raise InputError(
                    f"case {number} is a {type(item).__name__}; give inputs by name",
                    expected="inputs by name",
                    got=type(item).__name__,
                )
            named = resolve_aliases(model.graph, item)
            for value in named.values():
                if type(value) is not np.ndarray:
                    return Case({name: _array(ports.get(name), value) for name, value in named.items()})
            return Case(named)

        return read

    def subset(self, start: int, stop: int) -> CaseSet:
        items = self._items[start - self._first : stop - self._first]
        return InMemoryCases(items, self.name, start, self._count)


def _array(port: Any, value: Data) -> Data:
    """Convert a scalar to an array, which is checked faster; other values are unchanged."""
    if isinstance(value, np.generic) and (port is None or port.dtype == value.dtype):
        return np.asarray(value)
    return value
