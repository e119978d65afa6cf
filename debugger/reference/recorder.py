"""Records a reference in the user's own code: a Python loop of any framework, iteration by iteration."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

from ...runtime.api_boundary import public, public_class
from ...runtime.errors import UsageError
from ...runtime.input_validation import Data
from .framework_arrays import copy_value
from .reference import Key, Reference, Track
from .reference_files import write_reference_file

#: The roles of recorded values.
_ROLE_COMPUTED, _ROLE_RECEIVED, _ROLE_OUTPUT = "result", "carried", "output"
_NAME_ALL_LOOPS = "put 'with ref.loop(NAME):' around each loop, the outermost one too"


@dataclass
class _OpenLoop:
    """One open entry of a loop: the number of finished iterations."""

    name: str
    entry: Key
    iterations: int = 0


@public_class
class ReferenceRecorder:
    """Values that a user's loop computes, by name and iteration; :func:`record_reference` creates one.

    Values are copied: NumPy arrays and numbers, tensors of PyTorch (with a gradient, on a device), of JAX, and objects
    with ``__array__`` or ``__dlpack__``; a list of these is a sequence. The source line of a value is recorded with it.

    >>> with loopdbg.record_reference() as ref:
    ...     x = 2.0
    ...     for _ in range(3):
    ...         x = 0.5 * (x + 2.0 / x)
    ...         ref.iteration(x=x)
    >>> [round(float(x), 4) for x in ref.reference.tracks[0].values.values()]
    [1.5, 1.4167, 1.4142]
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._inputs: dict[str, Data] = {}
        self._trips: dict[str, dict[Key, int]] = {}
        self._values: dict[tuple[str, str, str], dict[Key, Data]] = {}
        self._sources: dict[tuple[str, str, str], str] = {}
        #: The open loops, outermost first.
        self._open_loops: list[_OpenLoop] = []
        #: Whether loops are named; otherwise there is one loop. None: not known yet.
        self._loops_are_named: bool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._close_loops(0)
        if self._path is not None and kind is None:
            write_reference_file(self.reference, self._path)

    @property
    def reference(self) -> Reference:
        """The values recorded so far.

        >>> ref.reference.label
        'reference'
        """
        trips = {loop: dict(counts) for loop, counts in self._trips.items()}
        for loop in self._open_loops:
            trips.setdefault(loop.name, {})[loop.entry] = loop.iterations
        tracks = [
            Track(name, dict(values), loop, source=self._sources[loop, role, name], role=role)
            for (loop, role, name), values in self._values.items()
        ]
        label = "reference" if self._path is None else self._path.name
        return Reference(label, tracks, dict(self._inputs) or None, trips)

    # -- recording

    def iteration(self, **values: Any) -> None:
        """Finish an iteration of the innermost loop, with the values that it computed, by name.

        Iteration k computed them: a carried value is received by iteration k+1. Initial values are not recorded here;
        :meth:`received` records the values that an iteration receives.

        Raises:
            InputError: a value that cannot be made an array.
            UsageError: the iteration has a value of that name already, or it is in no loop and other loops are named.

        >>> ref.iteration(x=1.4142)
        """
        self._record_values(_ROLE_COMPUTED, values)
        self._innermost_loop().iterations += 1

    def value(self, **values: Any) -> None:
        """Record values that the current iteration has computed, by name; :meth:`iteration` finishes it.

        Raises:
            InputError: a value that cannot be made an array.
            UsageError: the iteration has a value of that name already.

        >>> ref.value(quotient=2.0 / 1.5)
        """
        self._record_values(_ROLE_COMPUTED, values)

    def received(self, **values: Any) -> None:
        """Record values that the current iteration has received, by name: carried values before they change.

        Raises:
            InputError: a value that cannot be made an array.
            UsageError: the iteration has a value of that name already.

        >>> ref.received(x=1.5)
        """
        self._record_values(_ROLE_RECEIVED, values)

    def output(self, **values: Any) -> None:
        """Record outputs of the model, by name, outside of its loops.

        Raises:
            InputError: a value that cannot be made an array.
            UsageError: there is an output of that name already.

        >>> ref.output(root=1.4142)
        """
        for name, value in values.items():
            self._store_value("", _ROLE_OUTPUT, name, (), value)

    def input(self, **values: Any) -> None:
        """Record inputs of the model, by name: a comparison runs the model on them.

        Raises:
            InputError: a value that cannot be made an array.

        >>> ref.input(a=2.0)
        """
        for name, value in values.items():
            self._inputs[name] = copy_value(name, value)

    @contextmanager
    def loop(self, name: str) -> Iterator[None]:
        """Context around the iterations of a loop; in another such context it is a nested loop. Each time that the
        context is entered is an entry of the loop.

        Raises:
            UsageError: it was entered in this iteration of the outer loop already, or iterations were recorded
                outside of any such context.

        >>> with ref.loop("decode"):
        ...     ref.iteration(y=0.0)
        """
        if self._loops_are_named is False:
            raise UsageError(f"iterations were recorded before '{name}' without a loop; {_NAME_ALL_LOOPS}", loop=name)
        self._loops_are_named = True
        entry = tuple(loop.iterations for loop in self._open_loops)
        if any(key == entry for key in self._trips.get(name, {})) or any(
            loop.name == name for loop in self._open_loops
        ):
            raise UsageError(
                f"the loop '{name}' was entered already; give a second one another name, or {_NAME_ALL_LOOPS}",
                loop=name,
            )
        depth = len(self._open_loops)
        self._open_loops.append(_OpenLoop(name, entry))
        try:
            yield
        finally:
            self._close_loops(depth)

    # -- helpers

    def _innermost_loop(self) -> _OpenLoop:
        if not self._open_loops:
            if self._loops_are_named:
                raise UsageError(f"this iteration is in no loop; {_NAME_ALL_LOOPS}")
            self._loops_are_named = False
            self._open_loops.append(_OpenLoop("loop", ()))
        return self._open_loops[-1]

    def _record_values(self, role: str, values: Mapping[str, Any]) -> None:
        loop = self._innermost_loop()
        for name, value in values.items():
            self._store_value(loop.name, role, name, (*loop.entry, loop.iterations), value)

    def _store_value(self, loop: str, role: str, name: str, key: Key, value: Any) -> None:
        track = (loop, role, name)
        values = self._values.setdefault(track, {})
        if key in values:
            location = f"iteration {'/'.join(map(str, key))} of '{loop}'" if key else "the reference"
            raise UsageError(f"{location} has a value '{name}' already; give each value another name", name=name)
        values[key] = copy_value(name, value)
        self._sources.setdefault(track, _caller_location())

    def _close_loops(self, depth: int) -> None:
        while len(self._open_loops) > depth:
            loop = self._open_loops.pop()
            self._trips.setdefault(loop.name, {})[loop.entry] = loop.iterations


@public
def record_reference(path: str | os.PathLike[str] | None = None) -> ReferenceRecorder:
    """Record the values that a Python loop computes, to compare a model with them; with a ``path`` they are written as
    ``.npz`` when the block ends without an error.

    ``ref.iteration(h=h, c=c)`` finishes an iteration with the values that it computed; ``with ref.loop("decode"):``
    encloses the iterations of one of several loops; ``ref.input(x=x)`` and ``ref.output(y=y)`` are the inputs and
    outputs of the model.

    Raises:
        InputError: the file cannot be written.

    >>> with loopdbg.record_reference(folder / "newton.npz") as ref:
    ...     ref.input(a=np.float32(2.0))
    ...     x = np.float32(2.0)
    ...     for _ in range(4):
    ...         x = np.float32(0.5) * (x + np.float32(2.0) / x)
    ...         ref.iteration(x=x)
    """
    return ReferenceRecorder(path)


def _caller_location() -> str:
    """``file:line`` of the code that called into this module."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_internal_code(frame.f_code):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_internal_code(code: CodeType) -> bool:
    return code.co_filename in (__file__, public.__code__.co_filename)
