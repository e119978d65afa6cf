"""Internal access to a trace: boundaries, ports, and values by number, for resuming, replay and export.

A trace may be complete, incomplete after a kill, or still being written. Damage that is detected while reading raises
:class:`TraceError`.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...runtime.dtypes import dtype_from_name as dtype_of
from ...runtime.errors import ModelError, TraceError, UsageError
from ...runtime.graph import MAIN, Graph, StoppedBy, effective_trip_count
from ...runtime.graph.graph_json import graph_from_json
from ...runtime.model import Data, LoopTotals
from ..session.boundary import Boundary
from . import queries
from .cell_validation import integer, outer_iterations, read_optional, validate_real_number, validate_string
from .database import DAMAGE_ERRORS, TraceDatabase, raises_trace_error
from .probes import PortKind
from .queries import ANY_BOUNDARY, BoundaryFilter

#: Size of read-ahead for sequential access to boundaries.
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
    """One run of a loop. ``around``: the iterations of the enclosing loops, outermost first."""

    id: int
    loop: int
    around: tuple[int, ...]
    trip_count: int | None


@dataclass(frozen=True)
class BoundaryRef:
    """A boundary without its values; ``id`` counts boundaries in order of time, from 1."""

    id: int
    entry: int
    iteration: int
    condition: bool | None
    ended: StoppedBy | None
    time: float


class TraceStore(TraceDatabase):
    """A recorded run, opened read-only; used by one thread at a time."""

    @cached_property
    def _entry_cache(self) -> dict[int, RecordedEntry]:
        return {}

    def validate(self) -> None:
        _ = self.loops

    def __repr__(self) -> str:
        return f"<TraceStore {self.path}>"

    # -- the run

    @cached_property
    @raises_trace_error
    def meta(self) -> Mapping[str, Any]:
        """The metadata of the trace; ``docs/traces.md`` lists the keys."""
        return {validate_string(key): value for key, value in queries.meta(self.rows)}

    @property
    def model(self) -> str:
        """The file name of the model."""
        return str(self.meta.get("model", "?"))

    @property
    def model_hash(self) -> str:
        """SHA-256 of the model's file; empty if it has no file."""
        return str(self.meta.get("model_hash", ""))

    @property
    @raises_trace_error
    def every(self) -> int:
        """Only every N-th boundary was recorded, and the first and last of each entry."""
        return integer(self.meta.get("every", 1), 1)

    @property
    def nodes(self) -> bool:
        """True if all body values were recorded."""
        return bool(self.meta.get("nodes"))

    @property
    @raises_trace_error
    def only(self) -> list[str] | None:
        """The names of the selected values; None: all values were selected."""
        names = self.meta.get("only")
        return None if names is None else [validate_string(name) for name in json.loads(validate_string(names))]

    @property
    def has_every_boundary(self) -> bool:
        """True if every boundary was recorded with all carried values: a run can be resumed from any of them."""
        return self.every == 1 and self.only is None

    @property
    def complete(self) -> bool:
        """False if the run was cut off: its program was killed, or still runs; the existing data are consistent."""
        return "ended" in self.meta or "error" in self.meta

    @property
    def ended(self) -> str | None:
        """``end`` if the model ran to its end, else the limit or interrupt that stopped it; None: neither."""
        reason = self.meta.get("ended")
        return None if reason is None else str(reason)

    @property
    def error(self) -> str:
        """The error, limit or interrupt that ended the run; else empty."""
        return str(self.meta.get("error", ""))

    @cached_property
    def graph(self) -> Graph:
        """The model's loop graph, without its large constants."""
        for (text,) in queries.graph(self.rows):
            try:
                return graph_from_json(text)
            except ModelError as error:
                raise TraceError.with_location(str(self.path), error) from None
        raise TraceError(f"{self.path}: the trace holds no loop graph")

    @cached_property
    @raises_trace_error
    def loops(self) -> Sequence[RecordedLoop]:
        """The model's loops, outer before inner."""
        loops: list[RecordedLoop] = []
        for number, *texts, parent in queries.loops(self.rows):
            if number != len(loops):
                raise self.damage_error(f"loop {number} is in the place of loop {len(loops)}")
            # Outer before inner, so there are no cycles.
            parent_index = read_optional(lambda cell: integer(cell, 0, len(loops) - 1), parent)
            path, name, op_type, system = map(validate_string, texts)
            parent_path = MAIN if parent_index is None else loops[parent_index].path
            if not path.startswith(f"{parent_path} ▸ ") or any(path == loop.path for loop in loops):
                raise self.damage_error(f"the path of loop {number} is not its own")
            loops.append(RecordedLoop(number, path, name, op_type, system, parent_index))
        return loops

    def loop_chain(self, loop: int) -> list[int]:
        """The loop and its enclosing loops, outermost first."""
        chain = [loop]
        while (parent := self.loops[chain[0]].parent) is not None:
            chain.insert(0, parent)
        return chain

    @property
    def inputs(self) -> dict[str, Data]:
        """The inputs of the run."""
        return self._read_tensors("input")

    @property
    def outputs(self) -> dict[str, Data] | None:
        """The outputs; None if the model did not run to its end."""
        return self._read_tensors("output") if self.ended == "end" else None

    @property
    @raises_trace_error
    def totals(self) -> list[LoopTotals]:
        """Totals of the loops; empty if the run was cut off."""
        totals = []
        for index, iterations, entries, stopped, reasons, trips, seconds in queries.totals(self.rows):
            loop = self.loops[integer(index)]
            counts = {StoppedBy(word): integer(count) for word, count in json.loads(validate_string(reasons)).items()}
            reason = read_optional(StoppedBy, stopped)
            numbers = integer(iterations), integer(entries)
            totals.append(
                LoopTotals(
                    loop.name, loop.path, *numbers, reason, counts, _trip_count(trips), validate_real_number(seconds)
                )
            )
        return totals

    @raises_trace_error
    def loop_counts(self, until: int) -> dict[int, tuple[int, int, StoppedBy | None]]:
        """For each loop entered up to a boundary: iterations, entries, and the reason of its last end before that."""
        return {
            integer(loop): (integer(iterations), integer(entries), read_optional(StoppedBy, ended))
            for loop, iterations, entries, ended in queries.loop_counts(self.rows, until)
        }

    @raises_trace_error
    def _read_tensors(self, kind: str) -> dict[str, Data]:
        return {
            validate_string(name): self.decode_value(type_, data)
            for name, type_, data in queries.tensors(self.rows, kind)
        }

    # -- boundaries

    @raises_trace_error
    def __len__(self) -> int:
        return queries.count_boundaries(self.rows)

    def loop_index(self, loop: str | int) -> int:
        """The number of a loop by path, name or number.

        Raises:
            UsageError: no such loop, or several with that name.
        """
        matches = [loop_.index for loop_ in self.loops if loop in (loop_.index, loop_.path, loop_.name)]
        if len(matches) != 1:
            names = ", ".join(f"'{loop_.path}'" for loop_ in self.loops) or "none"
            problem = "no loop" if not matches else "several loops"
            raise UsageError(f"{self.path}: {problem} called '{loop}'; there are {names}", loop=str(loop))
        return matches[0]

    @raises_trace_error
    def entry(self, number: int) -> RecordedEntry:
        """An entry by its number."""
        if number not in self._entry_cache:
            for id_, loop, around, trips in queries.entry(self.rows, number):
                self._entry_cache[id_] = self._make_entry(id_, loop, around, trips)
        if number not in self._entry_cache:
            raise self.damage_error(f"there is no entry {number}")
        return self._entry_cache[number]

    def _make_entry(self, number: Any, loop: Any, around: Any, trips: Any) -> RecordedEntry:
        index = integer(loop, 0, len(self.loops) - 1)
        return RecordedEntry(
            integer(number), index, outer_iterations(around, len(self.loop_chain(index)) - 1), _trip_count(trips)
        )

    def entries(self, loop: str | int | None = None) -> Iterator[RecordedEntry]:
        """The entries of a loop, or of all loops, in order of time."""
        filter_ = None if loop is None else self.loop_index(loop)
        for id_, index, around, trips in queries.entries(self.rows, filter_):
            try:
                entry = self._make_entry(id_, index, around, trips)
            except DAMAGE_ERRORS as error:
                raise self.damage_error(error) from None
            yield entry

    def boundary_refs(
        self,
        filter_: BoundaryFilter = ANY_BOUNDARY,
        any_of: Collection[BoundaryFilter] = (),
        *,
        newest_first: bool = False,
    ) -> Iterator[BoundaryRef]:
        """Boundaries without their values, in order of time: those that match ``filter_`` and, if not empty, one of
        ``any_of``."""
        return self._make_refs(queries.boundaries(self.rows, filter_, any_of, newest_first=newest_first))

    def boundary_ref(self, filter_: BoundaryFilter = ANY_BOUNDARY, *, newest: bool = False) -> BoundaryRef | None:
        """The oldest or newest matching boundary; None: there is none."""
        return next(self._make_refs(queries.boundaries(self.rows, filter_, newest_first=newest)), None)

    def _make_refs(self, rows: Iterable[Any]) -> Iterator[BoundaryRef]:
        for id_, entry, iteration, condition, ended, time in rows:
            try:
                condition_ = None if condition is None else bool(integer(condition))
                ref = BoundaryRef(
                    integer(id_),
                    integer(entry),
                    integer(iteration),
                    condition_,
                    read_optional(StoppedBy, ended),
                    validate_real_number(time) / 1e9,
                )
            except DAMAGE_ERRORS as error:
                raise self.damage_error(error) from None
            yield ref

    def boundaries(self, loop: str | int | None = None, entry: Sequence[int] | None = None) -> Iterator[Boundary]:
        """Recorded boundaries in order of time: of one loop, of one entry of it, or all.

        Raises:
            UsageError: no such loop.
        """
        index = None if loop is None else self.loop_index(loop)
        filter_ = BoundaryFilter(loop=index, around=None if entry is None else queries.outer_iterations_text(entry))
        if index is not None and entry is not None:
            filter_ = BoundaryFilter(entry=queries.find_entry(self.rows, index, entry) or 0)
        return self._read_boundaries(self.boundary_refs(filter_))

    def _read_boundaries(self, refs: Iterator[BoundaryRef]) -> Iterator[Boundary]:
        """Boundaries, read in chunks of about :data:`_READ_AHEAD_BYTES` bytes."""
        count = 1
        while chunk := list(itertools.islice(refs, count)):
            boundaries = self._read_chunk(chunk)
            yield from boundaries
            mean_bytes = sum(_boundary_bytes(b) for b in boundaries) / len(boundaries)
            count = int(min(max(_READ_AHEAD_BYTES / mean_bytes, 1), 2 * count, 1000))

    @raises_trace_error
    def _read_chunk(self, refs: Sequence[BoundaryRef]) -> list[Boundary]:
        """Adjacent boundaries with their values: one query per port instead of one per boundary."""
        loops = [self.entry(ref.entry).loop for ref in refs]
        values: dict[int, dict[PortKind, dict[str, Any]]] = {ref.id: {kind: {} for kind in PortKind} for ref in refs}
        for loop in dict.fromkeys(loops):
            ids = [ref.id for ref, index in zip(refs, loops, strict=True) if index == loop]
            for port, kind, name in self._ports.get(loop, ()):
                for boundary, *row in queries.values_in_range(self.rows, port, ids[0], ids[-1]):
                    if boundary in values:
                        values[boundary][kind][name] = self.value(*row)
        return [self._make_boundary(ref, values[ref.id]) for ref in refs]

    def boundary(self, loop: str | int, entry: Sequence[int], iteration: int) -> Boundary:
        """The boundary before an iteration.

        Raises:
            UsageError: it was not recorded.
        """
        number = queries.find_entry(self.rows, self.loop_index(loop), entry)
        ref = None if number is None else self.boundary_ref(BoundaryFilter(entry=number, iteration=iteration))
        if ref is not None:
            return self.read_boundary(ref)
        entry_text = f" of entry {queries.outer_iterations_text(entry)}" if entry else ""
        raise UsageError(
            f"{self.path}: the boundary before iteration {iteration}{entry_text} of '{loop}' is not recorded",
            loop=str(loop),
            iteration=iteration,
        )

    @raises_trace_error
    def read_boundary(self, ref: BoundaryRef) -> Boundary:
        """A boundary with its values."""
        return self._make_boundary(ref, self.boundary_values(ref.id, self.entry(ref.entry).loop))

    def _make_boundary(self, ref: BoundaryRef, kinds: Mapping[PortKind, Mapping[str, Any]]) -> Boundary:
        entry = self.entry(ref.entry)
        return Boundary(
            self.loops[entry.loop].path,
            entry.around,
            ref.iteration,
            ref.condition,
            ref.ended,
            kinds[PortKind.CARRIED],
            kinds[PortKind.SCAN],
            kinds[PortKind.NODE],
        )

    @raises_trace_error
    def boundary_values(self, boundary: int, loop: int) -> dict[PortKind, dict[str, Any]]:
        """The recorded values at a boundary of a loop, by kind and name."""
        values: dict[PortKind, dict[str, Any]] = {kind: {} for kind in PortKind}
        for port, kind, name in self._ports.get(loop, ()):
            for row in queries.values_at_boundary(self.rows, port, boundary):
                values[kind][name] = self.value(*row)
        return values

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
        """The last recorded values of an entry up to a boundary, except at its first boundary; oldest first."""
        port = self._port_of.get((entry.loop, kind, name))
        rows = queries.newest_values(self.rows, port, entry.id, iteration, count)
        return [self.value(*row) for row in rows][::-1]

    @raises_trace_error
    def statistics_until(
        self, entry: RecordedEntry, kind: PortKind, name: str, iteration: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], bool]:
        """Iterations; and norm (or the number), minimum, maximum and mean of the recorded values of an entry up to a
        boundary, one row each, NaN for non-finite ones. Also whether there are tensors among them."""
        port = self._port_of.get((entry.loop, kind, name))
        iterations, statistics = [np.empty(0, np.int64)], [np.empty((0, 4))]
        has_tensors = False
        for row in () if port is None else queries.statistics_until(self.rows, port, entry.id, iteration):
            first, step, count, type_, data = integer(row[0]), integer(row[1], 1), integer(row[2], 1), row[3], row[4]
            number, *cells = (read_optional(validate_real_number, cell) for cell in row[5:10])
            non_finite = read_optional(integer, row[10])
            if data is not None:
                dtype = dtype_of(self.dtype_name(type_))
                numbers = np.frombuffer(data, dtype.newbyteorder("<"), count).astype(np.float64)
                iterations.append(first + step * np.arange(count))
                statistics.append(np.repeat(np.where(np.isfinite(numbers), numbers, np.nan)[:, np.newaxis], 4, axis=1))
            elif number is not None or non_finite or any(cell is not None for cell in cells):
                low, high, mean, norm = (math.nan if cell is None else float(cell) for cell in cells)
                summary = (
                    (math.nan if non_finite else norm, low, high, mean) if number is None else (float(number),) * 4
                )
                iterations.append(np.array([first]))
                statistics.append(np.array([summary]))
                has_tensors = has_tensors or (number is None and (norm == norm or not non_finite))
        all_iterations = np.concatenate(iterations)
        if (np.diff(all_iterations) <= 0).any():
            raise ValueError(f"boundaries of entry {entry.id} overlap")
        return all_iterations, np.concatenate(statistics), has_tensors

    def port_values(self, port: int, filter_: BoundaryFilter) -> list[Any]:
        """The values of a port at matching boundaries, in order of time."""
        return [self.value(*row) for row in queries.values_at_boundaries(self.rows, port, filter_)]

    def newest_value(self, port: int, filter_: BoundaryFilter) -> list[Any]:
        """The newest value of a port at matching boundaries; an empty list if there is none."""
        return [
            self.value(*row)
            for row in itertools.islice(queries.values_at_boundaries(self.rows, port, filter_, newest_first=True), 1)
        ]

    @cached_property
    @raises_trace_error
    def _ports(self) -> dict[int, list[tuple[int, PortKind, str]]]:
        ports: dict[int, list[tuple[int, PortKind, str]]] = {}
        for id_, loop, kind, name in queries.ports(self.rows):
            index = integer(loop, 0, len(self.loops) - 1)
            ports.setdefault(index, []).append((integer(id_), PortKind(kind), validate_string(name)))
        return ports

    @raises_trace_error
    def count_values(self, port: int) -> int:
        """The number of a port's values."""
        return queries.count_values(self.rows, port)

    @raises_trace_error
    def port_types(self, port: int) -> list[tuple[str, tuple[int, ...] | None]]:
        """Every dtype and shape of a port's values."""
        return [self._value_type(number) for (number,) in queries.port_type_numbers(self.rows, port)]

    @cached_property
    def _port_of(self) -> dict[tuple[int, PortKind, str], int]:
        return {(loop, kind, name): id_ for loop, ports in self._ports.items() for id_, kind, name in reversed(ports)}

    def numbered_ports(self, loop: int) -> list[tuple[int, PortKind, str]]:
        """The recorded ports of a loop: numbers, kinds and names."""
        return self._ports.get(loop, [])

    def ports(self, loop: int) -> list[tuple[PortKind, str]]:
        """The recorded ports of a loop: kinds and names."""
        return [(kind, name) for _, kind, name in self._ports.get(loop, ())]


def _boundary_bytes(boundary: Boundary) -> int:
    """The approximate size of the values."""
    kinds = (boundary.carried, boundary.scanned, boundary.computed)
    return 200 + sum(_estimated_bytes(value) for kind in kinds for value in kind.values())


def _estimated_bytes(value: Any) -> int:
    return sum(map(_estimated_bytes, value)) if isinstance(value, list) else getattr(value, "nbytes", 0) + 100


def _trip_count(cell: Any) -> int | None:
    return effective_trip_count(read_optional(_signed_integer, cell))


def _signed_integer(cell: Any) -> int:
    return integer(cell, -(1 << 63))
