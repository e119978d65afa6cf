"""What is behind a trace: boundaries, ports, and values by number, for what goes on with it, replays or exports it.

A trace may be complete, its writer may have been killed, or it may be being written. Whatever is found broken while
reading is a :class:`TraceError`.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...runtime.errors import ModelError, TraceError, UsageError
from ...runtime.graph import MAIN, Graph, StoppedBy, effective_trip_count
from ...runtime.graph.graph_json import graph_from_json
from ...runtime.model import Data, LoopTotals
from ..session.boundary import Boundary
from . import queries
from .cell_validation import integer, optional, outer_iterations, real_number, string
from .database import DAMAGE_ERRORS, TraceDatabase, raises_trace_error
from .probes import PortKind
from .queries import ANY_BOUNDARY, BoundaryFilter

#: So many bytes of values are read ahead where boundaries are asked for one after the other.
_READ_AHEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class RecordedLoop:
    """A loop of the recorded model; ``index`` is its number in the trace."""

    index: int
    path: str
    name: str
    op_type: str
    system: str
    parent: int | None


@dataclass(frozen=True)
class RecordedEntry:
    """One run of a loop. ``around``: the iterations of the loops around it, outermost first."""

    id: int
    loop: int
    around: tuple[int, ...]
    trip_count: int | None


@dataclass(frozen=True)
class BoundaryRef:
    """Where a boundary stands, without its values; ``id`` counts boundaries in the order of time, from 1."""

    id: int
    entry: int
    iteration: int
    condition: bool | None
    ended: StoppedBy | None
    time: int | float


class TraceStore(TraceDatabase):
    """A recorded run, opened read-only; used by one thread at a time."""

    @cached_property
    def _entries(self) -> dict[int, RecordedEntry]:
        return {}

    def validate(self) -> None:
        _ = self.loops

    def __repr__(self) -> str:
        return f"<TraceInside {self.path}>"

    # -- the run

    @cached_property
    @raises_trace_error
    def meta(self) -> Mapping[str, Any]:
        """What the trace says of itself; ``docs/traces.md`` lists the keys."""
        return {string(key): value for key, value in queries.meta(self.rows)}

    @property
    def model(self) -> str:
        """The file name of the model."""
        return str(self.meta.get("model", "?"))

    @property
    def model_hash(self) -> str:
        """SHA-256 of the model's file; empty where it came from none."""
        return str(self.meta.get("model_hash", ""))

    @property
    @raises_trace_error
    def every(self) -> int:
        """Every how-manieth boundary was recorded, besides the first and last of each entry."""
        return integer(self.meta.get("every", 1), 1)

    @property
    def nodes(self) -> bool:
        """True where all body values were recorded."""
        return bool(self.meta.get("nodes"))

    @property
    @raises_trace_error
    def only(self) -> list[str] | None:
        """The names of the values that were recorded; None: no choice was made."""
        told = self.meta.get("only")
        return None if told is None else [string(name) for name in json.loads(string(told))]

    @property
    def has_every_boundary(self) -> bool:
        """True where every boundary was recorded with all that it carries: a run can go on from any of them."""
        return self.every == 1 and self.only is None

    @property
    def complete(self) -> bool:
        """False where the run was cut off: its program was killed, or still runs; what is here is whole."""
        return "ended" in self.meta or "error" in self.meta

    @property
    def ended(self) -> str | None:
        """``end`` where the model ran to its end, else the limit or interrupt that stopped it; None: neither."""
        found = self.meta.get("ended")
        return None if found is None else str(found)

    @property
    def error(self) -> str:
        """What ended the run where that was an error, a limit or an interrupt; else empty."""
        return str(self.meta.get("error", ""))

    @cached_property
    def graph(self) -> Graph:
        """The model's loop graph, without its large constants."""
        for (told,) in queries.graph(self.rows):
            try:
                return graph_from_json(told)
            except ModelError as error:
                raise TraceError(f"{self.path}: {error}") from None
        raise TraceError(f"{self.path}: the trace holds no loop graph")

    @cached_property
    @raises_trace_error
    def loops(self) -> Sequence[RecordedLoop]:
        """The model's loops, outer before inner."""
        found: list[RecordedLoop] = []
        for number, *words, parent in queries.loops(self.rows):
            if number != len(found):
                raise self.damage_error(f"loop {number} stands where loop {len(found)} should")
            # Outer before inner: so none is inside itself.
            around = optional(lambda cell: integer(cell, 0, len(found) - 1), parent)
            path, name, op_type, system = map(string, words)
            outside = MAIN if around is None else found[around].path
            if not path.startswith(f"{outside} ▸ ") or any(path == one.path for one in found):
                raise self.damage_error(f"the path of loop {number} is not its own")
            found.append(RecordedLoop(number, path, name, op_type, system, around))
        return found

    def loop_chain(self, loop: int) -> list[int]:
        """The loop and those around it, outermost first."""
        chain = [loop]
        while (parent := self.loops[chain[0]].parent) is not None:
            chain.insert(0, parent)
        return chain

    @property
    def inputs(self) -> dict[str, Data]:
        """The inputs of the run."""
        return self._tensors("input")

    @property
    def outputs(self) -> dict[str, Data] | None:
        """The outputs; None where the model did not run to its end."""
        return self._tensors("output") if self.ended == "end" else None

    @property
    @raises_trace_error
    def totals(self) -> list[LoopTotals]:
        """How the loops went; empty where the run was cut off."""
        told = []
        for index, iterations, entries, stopped, reasons, trips, seconds in queries.totals(self.rows):
            loop = self.loops[integer(index)]
            counts = {StoppedBy(word): integer(count) for word, count in json.loads(string(reasons)).items()}
            by = optional(StoppedBy, stopped)
            numbers = integer(iterations), integer(entries)
            told.append(
                LoopTotals(loop.name, loop.path, *numbers, by, counts, _trip_count(trips), real_number(seconds))
            )
        return told

    @raises_trace_error
    def loop_counts(self, until: int) -> dict[int, tuple[int, int, StoppedBy | None]]:
        """Of each loop that was entered up to a boundary: iterations, entries, and why it ended last before that."""
        return {
            integer(loop): (integer(iterations), integer(entries), optional(StoppedBy, ended))
            for loop, iterations, entries, ended in queries.loop_counts(self.rows, until)
        }

    @raises_trace_error
    def _tensors(self, kind: str) -> dict[str, Data]:
        return {string(name): self.decode_value(type_, data) for name, type_, data in queries.tensors(self.rows, kind)}

    # -- boundaries

    def __len__(self) -> int:
        return queries.count_boundaries(self.rows)

    def loop_index(self, loop: str | int) -> int:
        """The number of a loop given by path, by name or by number.

        Raises:
            UsageError: no such loop, or several of that name.
        """
        found = [one.index for one in self.loops if loop in (one.index, one.path, one.name)]
        if len(found) != 1:
            told = ", ".join(f"'{one.path}'" for one in self.loops) or "none"
            what = "no loop" if not found else "several loops"
            raise UsageError(f"{self.path}: {what} called '{loop}'; there are {told}")
        return found[0]

    @raises_trace_error
    def entry(self, number: int) -> RecordedEntry:
        """An entry by its number."""
        if number not in self._entries:
            for id_, loop, around, trips in queries.entry(self.rows, number):
                self._entries[id_] = self._make_entry(id_, loop, around, trips)
        if number not in self._entries:
            raise self.damage_error(f"there is no entry {number}")
        return self._entries[number]

    def _make_entry(self, number: Any, loop: Any, around: Any, trips: Any) -> RecordedEntry:
        index = integer(loop, 0, len(self.loops) - 1)
        return RecordedEntry(
            integer(number), index, outer_iterations(around, len(self.loop_chain(index)) - 1), _trip_count(trips)
        )

    def entries(self, loop: str | int | None = None) -> Iterator[RecordedEntry]:
        """The entries of a loop, or of all, in the order of time."""
        which = None if loop is None else self.loop_index(loop)
        for id_, index, around, trips in queries.entries(self.rows, which):
            try:
                entry = self._make_entry(id_, index, around, trips)
            except DAMAGE_ERRORS as error:
                raise self.damage_error(error) from None
            yield entry

    def boundary_refs(
        self,
        which: BoundaryFilter = ANY_BOUNDARY,
        any_of: Collection[BoundaryFilter] = (),
        *,
        newest_first: bool = False,
    ) -> Iterator[BoundaryRef]:
        """Boundaries without their values, in the order of time: those of ``which`` that are one of ``any_of`` as well,
        if that is given."""
        return self._make_refs(queries.boundaries(self.rows, which, any_of, newest_first=newest_first))

    def boundary_ref(self, which: BoundaryFilter = ANY_BOUNDARY, *, newest: bool = False) -> BoundaryRef | None:
        """The oldest of some boundaries, or the newest; None: there is none."""
        return next(self._make_refs(queries.boundaries(self.rows, which, newest_first=newest, one=True)), None)

    def _make_refs(self, rows: Iterable[Any]) -> Iterator[BoundaryRef]:
        for id_, entry, iteration, condition, ended, time in rows:
            try:
                runs = None if condition is None else bool(integer(condition))
                mark = BoundaryRef(
                    integer(id_),
                    integer(entry),
                    integer(iteration),
                    runs,
                    optional(StoppedBy, ended),
                    real_number(time),
                )
            except DAMAGE_ERRORS as error:
                raise self.damage_error(error) from None
            yield mark

    def boundaries(self, loop: str | int | None = None, entry: Sequence[int] | None = None) -> Iterator[Boundary]:
        """Recorded boundaries in the order of time: of one loop, of one entry of it, or all.

        Raises:
            UsageError: no such loop.
        """
        around = None if entry is None else queries.outer_iterations_text(entry)
        return self._read_boundaries(
            self.boundary_refs(BoundaryFilter(loop=None if loop is None else self.loop_index(loop), around=around))
        )

    def _read_boundaries(self, marks: Iterator[BoundaryRef]) -> Iterator[Boundary]:
        """Boundaries one after the other, read some at a time: as many as are about :data:`_READ_AHEAD_BYTES` bytes."""
        count = 1
        while some := list(itertools.islice(marks, count)):
            read = self._read_chunk(some)
            yield from read
            each = sum(_boundary_bytes(b) for b in read) / len(read)
            count = int(min(max(_READ_AHEAD_BYTES / each, 1), 2 * count, 1000))

    @raises_trace_error
    def _read_chunk(self, marks: Sequence[BoundaryRef]) -> list[Boundary]:
        """Boundaries that are near each other, with their values: one query a port instead of one a boundary."""
        loops = [self.entry(mark.entry).loop for mark in marks]
        values: dict[int, dict[PortKind, dict[str, Any]]] = {mark.id: {kind: {} for kind in PortKind} for mark in marks}
        for loop in dict.fromkeys(loops):
            ids = [mark.id for mark, index in zip(marks, loops, strict=True) if index == loop]
            for port, kind, name in self._ports.get(loop, ()):
                for boundary, *row in queries.values_in_range(self.rows, port, ids[0], ids[-1]):
                    if boundary in values:
                        values[boundary][kind][name] = self.value(*row)
        return [self._make_boundary(mark, values[mark.id]) for mark in marks]

    def boundary(self, loop: str | int, entry: Sequence[int], iteration: int) -> Boundary:
        """One boundary: the one before ``iteration``.

        Raises:
            UsageError: it was not recorded.
        """
        number = queries.find_entry(self.rows, self.loop_index(loop), entry)
        mark = None if number is None else self.boundary_ref(BoundaryFilter(entry=number, iteration=iteration))
        if mark is not None:
            return self.read_boundary(mark)
        where = f" of entry {queries.outer_iterations_text(entry)}" if entry else ""
        raise UsageError(f"{self.path}: the boundary before iteration {iteration}{where} of '{loop}' is not recorded")

    @raises_trace_error
    def read_boundary(self, mark: BoundaryRef) -> Boundary:
        """A boundary with its values."""
        return self._make_boundary(mark, self.boundary_values(mark.id, self.entry(mark.entry).loop))

    def _make_boundary(self, mark: BoundaryRef, kinds: Mapping[PortKind, Mapping[str, Any]]) -> Boundary:
        entry = self.entry(mark.entry)
        return Boundary(
            self.loops[entry.loop].path,
            entry.around,
            mark.iteration,
            mark.condition,
            mark.ended,
            kinds[PortKind.CARRIED],
            kinds[PortKind.SCAN],
            kinds[PortKind.NODE],
        )

    @raises_trace_error
    def boundary_values(self, boundary: int, loop: int) -> dict[PortKind, dict[str, Any]]:
        """What was recorded at a boundary of a loop, by kind and name."""
        found: dict[PortKind, dict[str, Any]] = {kind: {} for kind in PortKind}
        for port, kind, name in self._ports.get(loop, ()):
            for row in queries.values_at_boundary(self.rows, port, boundary):
                found[kind][name] = self.value(*row)
        return found

    @raises_trace_error
    def find_value(self, boundary: int, loop: int, kind: PortKind, name: str) -> tuple[bool, Any]:
        """Whether a value was recorded at a boundary of a loop, and the value."""
        port = self._port_of.get((loop, kind, name))
        if port is not None:
            for row in queries.values_at_boundary(self.rows, port, boundary):
                return True, self.value(*row)
        return False, None

    @raises_trace_error
    def newest_values(self, entry: RecordedEntry, kind: PortKind, name: str, iteration: int, count: int) -> list[Any]:
        """The last recorded values of an entry up to a boundary, but for the first boundary; oldest first."""
        port = self._port_of.get((entry.loop, kind, name))
        rows = queries.newest_values(self.rows, port, entry.id, iteration, count)
        return [self.value(*row) for row in rows][::-1]

    @raises_trace_error
    def statistics_until(
        self, entry: RecordedEntry, kind: PortKind, name: str, iteration: int
    ) -> tuple[dict[int, tuple[float, ...]], bool]:
        """Of the recorded values of an entry up to a boundary norm (or the one number), minimum, maximum and mean, by
        iteration; of what is not finite NaN. And whether there are tensors among them."""
        port = self._port_of.get((entry.loop, kind, name))
        found: dict[int, tuple[float, ...]] = {}
        wide = False
        for row in () if port is None else queries.statistics_until(self.rows, port, entry.id, iteration):
            at, (number, *more), odd = (
                integer(row[0]),
                [optional(real_number, cell) for cell in row[1:6]],
                optional(integer, row[6]),
            )
            if number is not None:
                found[at] = (float(number),) * 4
            elif odd or any(cell is not None for cell in more):
                low, high, mean, norm = (math.nan if cell is None else float(cell) for cell in more)
                found[at] = (math.nan if odd else norm, low, high, mean)
                wide = wide or norm == norm or not odd
        return found, wide

    def port_values(self, port: int, which: BoundaryFilter) -> list[Any]:
        """The values of a port at some boundaries, in the order of time."""
        return [self.value(*row) for row in queries.values_at_boundaries(self.rows, port, which)]

    def newest_value(self, port: int, which: BoundaryFilter) -> list[Any]:
        """The newest of them; none, if there is none."""
        return [
            self.value(*row)
            for row in itertools.islice(queries.values_at_boundaries(self.rows, port, which, newest_first=True), 1)
        ]

    @cached_property
    @raises_trace_error
    def _ports(self) -> dict[int, list[tuple[int, PortKind, str]]]:
        ports: dict[int, list[tuple[int, PortKind, str]]] = {}
        for id_, loop, kind, name in queries.ports(self.rows):
            index = integer(loop, 0, len(self.loops) - 1)
            ports.setdefault(index, []).append((integer(id_), PortKind(kind), string(name)))
        return ports

    @raises_trace_error
    def port_types(self, port: int) -> list[tuple[str, tuple[int, ...] | None]]:
        """Every dtype and shape that a port's values have."""
        return [self._type(number) for (number,) in queries.types_of(self.rows, port)]

    @cached_property
    def _port_of(self) -> dict[tuple[int, PortKind, str], int]:
        return {(loop, kind, name): id_ for loop, ports in self._ports.items() for id_, kind, name in reversed(ports)}

    def numbered_ports(self, loop: int) -> list[tuple[int, PortKind, str]]:
        """The same with their numbers in the file."""
        return self._ports.get(loop, [])

    def ports(self, loop: int) -> list[tuple[PortKind, str]]:
        """What was recorded of a loop: kinds and names."""
        return [(kind, name) for _, kind, name in self._ports.get(loop, ())]


def _boundary_bytes(boundary: Boundary) -> int:
    """About what its values take."""
    kinds = (boundary.carried, boundary.scanned, boundary.computed)
    return 200 + sum(_value_bytes(value) for kind in kinds for value in kind.values())


def _value_bytes(value: Any) -> int:
    return sum(map(_value_bytes, value)) if isinstance(value, list) else getattr(value, "nbytes", 0) + 100


def _trip_count(cell: Any) -> int | None:
    return effective_trip_count(optional(_signed_integer, cell))


def _signed_integer(cell: Any) -> int:
    return integer(cell, -(1 << 63))
