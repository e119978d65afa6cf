"""Cases: what a model is run on, one of many, and the sets that they are in.

A set goes to other processes as it is; what it reads of a file it reads there. For a model it gives a reader, which
makes a case of its number.
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
from ...runtime.input_validation import Data, check_value
from ...runtime.model import Model
from ...runtime.random_inputs import DimensionSizes, random_input

#: Of a case of which no outputs are known.
_NO_OUTPUTS: Mapping[str, Data] = MappingProxyType({})


class Case(NamedTuple):
    """The inputs of one run, and the outputs that it should have where they are known."""

    inputs: Mapping[str, Data]
    seed: int | None = None
    expected: Mapping[str, Data] = _NO_OUTPUTS


CaseReader = Callable[[int], Case]


class CaseSet(ABC):
    """Cases, numbered from 0. ``name`` is the same wherever they are; ``fingerprint`` tells one set from another."""

    name: str
    fingerprint: str

    @abstractmethod
    def __len__(self) -> int: ...

    def name_of(self, number: int) -> str:
        """What a case is called; by default its number."""
        return str(number)

    def path_of(self, number: int) -> Path | None:
        """The file or folder that one case alone is in; None: there is none."""
        return None

    @abstractmethod
    def reader(self, model: Model) -> CaseReader:
        """What makes cases for a model.

        Raises:
            InputError: the set has nothing for this model; the reader itself, that a case cannot be read.
        """

    def subset(self, start: int, stop: int) -> CaseSet:
        """The same cases, of which only some are asked for: for workers that do not have the files."""
        return self

    def find(self, name: str) -> int:
        """The number of a case.

        Raises:
            UsageError: there is none of that name.
        """
        last = name.rsplit("/", 1)[-1]
        if last.isdecimal() and int(last) < len(self):
            return int(last)
        raise UsageError(f"{self.name} has no case '{name}'; they are numbered 0 to {len(self) - 1}")


def fingerprint_of(parts: Iterable[object]) -> str:
    """A short hash of some texts."""
    hashed = blake2b(digest_size=6)
    for part in parts:
        hashed.update(str(part).encode("utf-8", "surrogateescape") + b"\0")
    return hashed.hexdigest()


class RandomCases(CaseSet):
    """Inputs made from the signature: case k is what seed ``seed + k`` makes. ``dims``: sizes of unknown dimensions."""

    def __init__(self, count: int, seed: int = 0, dims: Sequence[str] = ()) -> None:
        self.name = f"random-{seed}"
        self._count, self._seed, self._dims = count, seed, tuple(dims)
        # Not the count: of more cases the first ones are the same.
        self.fingerprint = fingerprint_of(("random", seed, *dims))

    def __len__(self) -> int:
        return self._count

    def seed_of(self, number: int) -> int:
        """The seed of a case."""
        return self._seed + number

    def reader(self, model: Model) -> CaseReader:
        named: dict[str, int] = {}
        dims = DimensionSizes(self._dims, model.inputs, named, model.graph.usual_shapes)
        usual = model.graph.usual_values
        ports = [(index, port) for index, port in enumerate(model.inputs) if not port.optional]

        def read(number: int) -> Case:
            seed = self._seed + number
            values = {}
            for index, port in ports:
                value = usual[port.name] if port.name in usual else random_input(port, dims, (seed, index))
                values[port.name] = check_value(port.name, port.type, value, named)
            return Case(values, seed)

        return read


class InMemoryCases(CaseSet):
    """Inputs that are in memory already, each a mapping of names to values. ``first``: the number of the first one."""

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
                raise InputError(f"case {number} is a {type(item).__name__}; give inputs by name")
            named = model._internals.resolve_aliases(item)
            for value in named.values():
                if type(value) is not np.ndarray:
                    return Case({name: _array(ports.get(name), value) for name, value in named.items()})
            return Case(named)

        return read

    def subset(self, start: int, stop: int) -> CaseSet:
        there = self._items[start - self._first : stop - self._first]
        return InMemoryCases(there, self.name, start, self._count)


def _array(port: Any, value: Data) -> Data:
    """A scalar as an array, which is checked faster; anything else as it is."""
    if isinstance(value, np.generic) and (port is None or port.dtype == value.dtype):
        return np.asarray(value)
    return value
