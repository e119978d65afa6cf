"""Public interface of traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from ...runtime.api_boundary import public_class
from ...runtime.graph import Graph
from ...runtime.model import Data, LoopTotals
from ..session.boundary import Boundary
from .trace_store import RecordedEntry, RecordedLoop, TraceStore


@public_class
class Trace:
    """A recorded run, opened read-only.

    >>> with loopdbg.Trace.open(recording) as trace:
    ...     for boundary in trace.boundaries("main ▸ sqrt"):
    ...         print(boundary.iteration, boundary.carried["x"])
    0 2.0
    1 1.5
    2 1.4166667
    3 1.4142157
    4 1.4142135
    5 1.4142135

    A trace is used by one thread at a time. Damage that is detected while reading raises :class:`TraceError`.
    """

    def __init__(self, store: TraceStore) -> None:
        self._store = store

    @classmethod
    def open(cls, path: str | Path) -> Trace:
        """Open a trace; it is closed by :meth:`close`, or at the end of a with block.

        Raises:
            TraceError: there is no such file, it is no trace, damaged, or of another version.

        >>> loopdbg.Trace.open(folder / "none.loopdb")
        Traceback (most recent call last):
        loopdbg.TraceError: none.loopdb: no such file
        """
        return cls(TraceStore.open(path))

    def close(self) -> None:
        """Close the file.

        >>> trace.close()
        """
        self._store.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Trace {self.path}>"

    # -- the run

    @property
    def path(self) -> Path:
        """The file.

        >>> trace.path == recording
        True
        """
        return self._store.path

    @property
    def meta(self) -> Mapping[str, Any]:
        """The metadata of the trace; ``docs/traces.md`` lists the keys.

        >>> trace.meta["model"]
        'newton_sqrt.onnx'
        """
        return self._store.meta

    @property
    def model(self) -> str:
        """The file name of the model.

        >>> trace.model
        'newton_sqrt.onnx'
        """
        return self._store.model

    @property
    def model_hash(self) -> str:
        """SHA-256 of the model's file in hexadecimal digits; empty if it has no file.

        >>> len(trace.model_hash)
        64
        """
        return self._store.model_hash

    @property
    def every(self) -> int:
        """Only every N-th boundary was recorded, and the first and last of each entry.

        >>> trace.every
        1
        """
        return self._store.every

    @property
    def nodes(self) -> bool:
        """True if all body values were recorded.

        >>> trace.nodes
        False
        """
        return self._store.nodes

    @property
    def only(self) -> list[str] | None:
        """The names of the selected values; None: all values were selected.

        >>> trace.only is None
        True
        """
        return self._store.only

    @property
    def complete(self) -> bool:
        """False if the run was cut off: its program was killed, or still runs; the existing data are consistent.

        >>> trace.complete
        True
        """
        return self._store.complete

    @property
    def ended(self) -> str | None:
        """``end`` if the model ran to its end, else the limit or interrupt that stopped it; None: neither.

        >>> trace.ended
        'end'
        """
        return self._store.ended

    @property
    def error(self) -> str:
        """The error, limit or interrupt that ended the run; else empty.

        >>> trace.error
        ''
        """
        return self._store.error

    @property
    def graph(self) -> Graph:
        """The model's loop graph, without its large constants.

        >>> [output.name for output in trace.graph.outputs]
        ['root', 'xs']
        """
        return self._store.graph

    @property
    def loops(self) -> Sequence[RecordedLoop]:
        """The model's loops, outer before inner.

        >>> [(loop.path, loop.op_type) for loop in trace.loops]
        [('main ▸ sqrt', 'Loop')]
        """
        return self._store.loops

    @property
    def inputs(self) -> dict[str, Data]:
        """The inputs of the run by name: arrays, or lists of arrays for sequences.

        >>> trace.inputs["a"]
        array(2., dtype=float32)
        """
        return self._store.inputs

    @property
    def outputs(self) -> dict[str, Data] | None:
        """The outputs by name, as those of :meth:`Model.run`; None if the model did not run to its end.

        >>> trace.outputs["root"]
        array(1.4142135, dtype=float32)
        """
        return self._store.outputs

    @property
    def totals(self) -> list[LoopTotals]:
        """Totals of the loops; empty if the run was cut off.

        >>> trace.totals[0].iterations
        5
        """
        return self._store.totals

    # -- boundaries

    def __len__(self) -> int:
        return len(self._store)

    def entries(self, loop: str | int | None = None) -> Iterator[RecordedEntry]:
        """The entries of a loop, or of all loops, in order of time.

        Raises:
            UsageError: no such loop.

        >>> [(entry.around, entry.trip_count) for entry in trace.entries("sqrt")]
        [((), None)]
        """
        return self._store.entries(loop)

    def boundaries(self, loop: str | int | None = None, entry: Sequence[int] | None = None) -> Iterator[Boundary]:
        """Recorded boundaries in order of time: of one loop, of one entry of it, or all.

        Args:
            loop: its path, name or number.
            entry: the iterations of the enclosing loops, outermost first.

        Raises:
            UsageError: no such loop.

        >>> [boundary.iteration for boundary in trace.boundaries()]
        [0, 1, 2, 3, 4, 5]
        """
        return self._store.boundaries(loop, entry)

    def boundary(self, loop: str | int, entry: Sequence[int], iteration: int) -> Boundary:
        """The boundary before an iteration.

        Raises:
            UsageError: it was not recorded.

        >>> trace.boundary("sqrt", (), 2).carried["x"]
        array(1.4166667, dtype=float32)
        """
        return self._store.boundary(loop, entry, iteration)


def store_of(trace: Trace) -> TraceStore:
    """The store of an open trace, for replay and resumption."""
    return trace._store
