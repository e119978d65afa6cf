"""The inputs that a process runs, in a mapped file: what remains of them if it ends."""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ...runtime.atomic_file import discard, scratch_file
from ...runtime.input_validation import Data

#: Size of a file; larger inputs are not kept.
_FILE_BYTES = 1 << 20
_LENGTH_BYTES = 8


class LastInputs:
    """One file, as its process writes it."""

    def __init__(self, path: str) -> None:
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), _FILE_BYTES)

    def write(self, inputs: Mapping[str, Data]) -> None:
        """Keep inputs, which run next."""
        data = pickle.dumps(dict(inputs), 5)
        size = len(data) if len(data) <= _FILE_BYTES - _LENGTH_BYTES else 0
        self._map[:_LENGTH_BYTES] = size.to_bytes(_LENGTH_BYTES, "little")
        self._map[_LENGTH_BYTES : _LENGTH_BYTES + size] = data[:size]

    def close(self) -> None:
        """Close the file."""
        self._map.close()

    @staticmethod
    def read(path: str) -> dict[str, Data] | None:
        """The inputs in a file; None: there are none. The file is private to this user and its processes."""
        data = Path(path).read_bytes()
        size = int.from_bytes(data[:_LENGTH_BYTES], "little")
        inputs: dict[str, Data] | None = pickle.loads(data[_LENGTH_BYTES : _LENGTH_BYTES + size]) if size else None
        return inputs

    @staticmethod
    @contextmanager
    def files(count: int) -> Iterator[tuple[str, ...]]:
        """Create files, which are removed at the end of the block."""
        paths: list[Path] = []
        try:
            paths += [scratch_file(bytes(_FILE_BYTES)) for _ in range(count)]
            yield tuple(map(str, paths))
        finally:
            for path in paths:
                discard(path)
