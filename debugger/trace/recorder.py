"""Records a run: a hook that copies the values of a boundary and passes them to the writer thread.

Within an entry, the engine itself copies values with one element (``BoundaryMonitor.trace``).
"""

from __future__ import annotations

import contextlib
import datetime
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ...runtime.api_boundary import public_class
from ...runtime.engine.engine import Engine
from ...runtime.errors import LoopdbgError, TraceError, UsageError, one_line
from ...runtime.frame import Frame, frame_reader
from ...runtime.graph.graph_json import graph_to_json
from ...runtime.graph.value_encoding import encode_value
from ...runtime.model import Data, EngineHook, Model, Run
from . import queries
from .probes import MISSING, ProbeSet, make_probes, read_probe
from .resume import ResumePoint, model_hash
from .resume_checkpoints import CheckpointSaver, LoopResumeState, save_checkpoint
from .row_encoder import BoundaryBatch, TypeTable
from .schema import SCHEMA_VERSION
from .trace_store import TraceStore
from .writer import TraceFileWriter, TraceWriterThread, WriteTransaction, create_trace, error_text

#: Limits for the age and the size of pending data; beyond these the run waits for the writer.
FLUSH_AFTER_SECONDS = 0.1
MAX_PENDING_BYTES = 64 << 20
#: Size of a transaction, which bounds the loss if a disk is full.
TRANSACTION_BYTES = 256 << 10
#: Approximate overhead of a value.
_VALUE_OVERHEAD_BYTES = 200
#: Approximate size of the rows that the engine copies until it passes them on.
_TRACED_BYTES = 256 << 10


@dataclass(frozen=True)
class RecordOptions:
    """Options of a recording. ``every``: record only every N-th boundary, and the first and last of each entry."""

    nodes: bool = False
    every: int = 1
    only: Collection[str] | None = None
    force: bool = False


@dataclass
class _PendingBoundaries:
    """Pending boundaries of one loop: id, entry, iteration, condition, time and values of each.

    Appending a row is atomic, even if memory runs out.
    """

    rows: list[tuple[int, int, int, bool | None, float, list[Any]]] = field(default_factory=list)
    ended: dict[int, str] = field(default_factory=dict)


@dataclass
class _LoopProbes:
    """The probes of a loop with data for the hook."""

    probes: ProbeSet
    has_condition: bool
    sources: dict[int, object]
    entry: int = 0
    pending: _PendingBoundaries = field(default_factory=_PendingBoundaries)
    #: The key of the engine's record.
    record: int | None = None

    def __post_init__(self) -> None:
        #: The probes that are read at the first boundary of an entry, and at the later ones.
        self.first_probes = (*self.probes.boundary_probes, *self.probes.entry_probes)
        self.later_probes = (*self.probes.boundary_probes, *self.probes.iteration_probes)

    def start_record(self, engine: Engine, on_full: Callable[[], object], lock: threading.Lock) -> None:
        """Let the engine copy the values within an entry, if it can."""
        index = self.probes.index
        edges = engine.plan.loops[index].edges
        slots = []
        for probe in self.later_probes:
            if probe.scan_index >= 0 or probe.branches:
                return
            if probe.reads_previous:
                slots.append(engine.monitor.previous_slot(index, probe.edge))
            else:
                slots.append(probe.slot if probe.edge < 0 else edges[probe.edge].param)
        self.record = engine.monitor.trace(index, slots, on_full, lock)
        engine.monitor.tag_record(self.record, self.entry)


@dataclass
class _PendingTransaction:
    """The data of one transaction: boundaries by loop, from the hook and from the engine, entries, and other writes."""

    loops: list[tuple[_LoopProbes, _PendingBoundaries]]
    traced: list[BoundaryBatch]
    entries: list[tuple[Any, ...]]
    deferred_writes: list[Callable[[TraceFileWriter], None]]


@public_class
class Recorder(EngineHook):
    """Records one run of a model in a file: pass it to the run as its hook, then call :meth:`finish`.

    >>> with loopdbg.Recorder(folder / "run.loopdb", model, inputs) as recorder:
    ...     recorder.finish(model.execute(inputs, on_iteration=recorder))

    Args:
        path: the file. If it can no longer be written (the disk is full), the run continues unrecorded.
        on_error: called at once with an error of writing, which the end of the with block raises.

    Raises:
        UsageError: the file cannot be written, or exists already; a name in ``only`` is unknown.
    """

    def __init__(
        self,
        path: Path,
        model: Model,
        inputs: Mapping[str, Data],
        options: RecordOptions = RecordOptions(),
        on_error: Callable[[LoopdbgError], object] | None = None,
    ) -> None:
        self._initialize(model, options, on_error)
        self._attach_writer(
            create_trace(path, _initial_rows(model, inputs, options, self._probe_sets), force=options.force)
        )

    def _initialize(
        self, model: Model, options: RecordOptions, on_error: Callable[[LoopdbgError], object] | None
    ) -> None:
        probe_sets = make_probes(model.plan, nodes=options.nodes, only=options.only)
        self._model = model
        self._probe_sets = probe_sets
        self._on_error = on_error
        self._loops = [
            _LoopProbes(
                probes,
                plan.condition >= 0 or plan.initial_condition >= 0,
                {p.port: p.source for p in probes if p.source is not None},
            )
            for probes, plan in zip(probe_sets, model.plan.loops, strict=True)
        ]
        self._every = options.every
        is_complete = options.every == 1 and options.only is None
        self._checkpoint_saver = None if is_complete else CheckpointSaver(model.plan.loops)
        #: Guards the pending data.
        self._lock = threading.Lock()
        self._entries: list[tuple[Any, ...]] = []
        self._deferred_writes: list[Callable[[TraceFileWriter], None]] = []
        #: While a run lasts, the engine counts boundaries from this one on.
        self._next_boundary = 1
        self._next_entry = 1
        self._engine: Engine | None = None
        #: From the engine's clock to seconds since the run began.
        self._clock_offset = 0.0
        self._pending_bytes = 0
        #: Pending complete transactions, and the size of the data since then.
        self._sealed_transactions: list[_PendingTransaction] = []
        self._unsealed_bytes = 0
        self._pending_since = 0.0
        self._error_reported = False
        self._run: Run | None = None
        self._start_time = time.perf_counter()

    def _attach_writer(self, store: TraceFileWriter) -> None:
        try:
            self.path: Path = store.path
            self._store = store
            self._writer = TraceWriterThread(store, self._take_pending, self._stop_engine_recording)
        except BaseException:  # the thread did not start, so the file must be closed here
            with contextlib.suppress(sqlite3.Error):
                store.close()
            raise

    @property
    def recorded(self) -> int:
        """The number of boundaries that this recorder has written.

        >>> with loopdbg.Recorder(folder / "run.loopdb", model, inputs) as recorder:
        ...     recorder.finish(model.execute(inputs, on_iteration=recorder))
        >>> recorder.recorded
        6
        """
        return self._store.boundaries_written

    # -- in the run's thread

    def _attach_engine(self, engine: Engine) -> None:
        self._engine = engine
        self._clock_offset = time.perf_counter() - engine.monitor.clock() - self._start_time
        if self._checkpoint_saver is None:
            for loop in self._loops:
                loop.start_record(engine, self._pass_on_copied_rows, self._lock)

    def _detach_engine(self) -> None:
        if self._engine is None:
            return
        with self._lock:
            self._sealed_transactions = [*self._sealed_transactions, self._seal_transaction()]
            self._next_boundary += self._engine.monitor.count_traced()
            monitor, self._engine = self._engine.monitor, None
            for loop in self._loops:
                if loop.record is not None:
                    monitor.remove_record(loop.record)
                    loop.record = None

    def _pass_on_copied_rows(self) -> None:
        """Take the rows that the engine copied; wait for the writer if it is slower."""
        now = time.perf_counter()
        with self._lock:
            if not self._pending_bytes:
                self._pending_since = now
            self._pending_bytes += _TRACED_BYTES
            self._sealed_transactions = [*self._sealed_transactions, self._seal_transaction()]
        self._flush_if_due(now)

    def _stop_engine_recording(self) -> None:
        """Nothing more can be written: let the hook report that at the next boundary. In the writer's thread."""
        with self._lock:
            for loop in self._loops:
                if self._engine is not None and loop.record is not None:
                    self._engine.monitor.end_record(loop.record)

    def __call__(self, frame: Frame) -> None:
        """Record a frame at a boundary."""
        reader = frame_reader(frame)
        engine, index = reader.engine, reader.index
        loop = self._loops[index]
        iteration, _, goes_on, ended, _ = engine.loop_state(index)
        now = time.perf_counter()
        if self._writer.internal_error is not None:
            raise self._writer.internal_error
        if self._writer.error is not None:
            # An internal error is raised when the recorder is closed.
            if isinstance(self._writer.error, LoopdbgError):
                self._report_error(self._writer.error)
            return
        states = None if self._checkpoint_saver is None else self._checkpoint_saver.states_to_save(engine, now)
        if iteration and self._every > 1 and iteration % self._every and ended is None:
            if states is not None:
                with self._lock:
                    self._defer_checkpoint(states, self._next_boundary_number() - 1)
            return
        entry = None
        if iteration == 0:
            entry = queries.outer_iterations_text(frame.entry), frame.trip_count
        values = []
        size = _VALUE_OVERHEAD_BYTES
        for probe in loop.later_probes if iteration else loop.first_probes:
            value = read_probe(engine, index, probe)
            values.append((probe.port, value))
            size += getattr(value, "nbytes", _VALUE_OVERHEAD_BYTES) + _VALUE_OVERHEAD_BYTES
        with self._lock:
            if not self._pending_bytes:
                self._pending_since = now
            self._pending_bytes += size
            if entry is not None:
                loop.entry = self._next_entry
                self._next_entry += 1
                self._entries.append((loop.entry, index, *entry))
                if loop.record is not None:
                    engine.monitor.tag_record(loop.record, loop.entry)
            pending = loop.pending
            condition = goes_on if loop.has_condition else None
            number = self._next_boundary_number()
            pending.rows.append((number, loop.entry, iteration, condition, now - self._start_time, values))
            if ended is not None:
                pending.ended[len(pending.rows) - 1] = ended.value
            if self._engine is None:
                self._next_boundary += 1
            else:
                engine.monitor.count_traced(1)
            if states is not None:
                self._defer_checkpoint(states, number)
            self._unsealed_bytes += size
            if self._unsealed_bytes > TRANSACTION_BYTES:
                self._sealed_transactions = [*self._sealed_transactions, self._seal_transaction()]
        self._flush_if_due(now)

    def _flush_if_due(self, now: float) -> None:
        if self._pending_bytes > MAX_PENDING_BYTES or now - self._pending_since > FLUSH_AFTER_SECONDS:
            self._writer.flush()

    def _next_boundary_number(self) -> int:
        """The number of the next boundary."""
        return self._next_boundary + (0 if self._engine is None else self._engine.monitor.count_traced())

    def _defer_checkpoint(self, states: list[LoopResumeState], boundary: int) -> None:
        """``boundary``: the newest one at or before the states, which ends a run of boundaries. Caller holds the
        lock."""
        self._deferred_writes.append(lambda store: save_checkpoint(store, states, boundary))
        self._sealed_transactions = [*self._sealed_transactions, self._seal_transaction()]

    def _report_error(self, error: LoopdbgError) -> None:
        if not self._error_reported:
            self._error_reported = True
            if self._on_error is not None:
                self._on_error(error)

    # -- in the writer's thread

    def _seal_transaction(self) -> _PendingTransaction:
        """The data since the last transaction. Caller holds the lock."""
        # Allocate first: a MemoryError after the data are taken out would lose them.
        transaction = _PendingTransaction(
            [(loop, loop.pending) for loop in self._loops if loop.pending.rows],
            [],
            self._entries,
            self._deferred_writes,
        )
        fresh = [_PendingBoundaries() for _ in transaction.loops]
        entries: list[tuple[Any, ...]] = []
        writes: list[Callable[[TraceFileWriter], None]] = []
        transaction.traced = self._take_copied_boundaries()
        for (loop, _), pending in zip(transaction.loops, fresh, strict=True):
            loop.pending = pending
        self._entries, self._deferred_writes, self._unsealed_bytes = entries, writes, 0
        return transaction

    def _take_copied_boundaries(self) -> list[BoundaryBatch]:
        """The boundaries that the engine copied. Caller holds the lock."""
        batches: list[BoundaryBatch] = []
        if self._engine is None:
            return batches
        monitor = self._engine.monitor
        before = monitor.count_traced()
        for loop in self._loops:
            rows = None if loop.record is None else monitor.take_rows(loop.record, before)
            if rows is None or not len(rows[0]):
                continue
            iterations, entries, numbers, times, values = rows
            batches.append(
                BoundaryBatch(
                    loop.probes.index,
                    numbers + self._next_boundary,
                    entries,
                    iterations,
                    [True if loop.has_condition else None] * len(numbers),
                    {},
                    times + self._clock_offset,
                    {probe.port: column for probe, column in zip(loop.later_probes, values, strict=True)},
                    loop.sources,
                )
            )
        return batches

    def _take_pending(self) -> Iterator[WriteTransaction]:
        """All pending data in order of time, called by the writer thread."""
        with self._lock:
            parts, self._sealed_transactions = [*self._sealed_transactions, self._seal_transaction()], []
            self._pending_bytes = 0
        # Release each transaction when it is written.
        parts.reverse()
        while parts:
            part = parts.pop()
            yield WriteTransaction(
                [*(_make_boundary_batch(loop, pending, self._every) for loop, pending in part.loops), *part.traced],
                part.entries,
                part.deferred_writes,
            )

    # -- the end

    def finish(self, run: Run) -> None:
        """Set the result of the run, including outputs; it is written when the recorder is closed.

        >>> recorder = loopdbg.Recorder(folder / "run.loopdb", model, inputs)
        >>> recorder.finish(model.execute(inputs, on_iteration=recorder))
        >>> recorder.close()
        >>> with loopdbg.Trace.open(folder / "run.loopdb") as trace:
        ...     trace.outputs["root"]
        array(1.4142135, dtype=float32)
        """
        self._run = run

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        message = "" if error is None else str(error) or type(error).__name__
        try:
            self.close(message)
        except TraceError:
            # The error of the run takes precedence.
            if error is None:
                raise

    def close(self, message: str = "") -> None:
        """Write the pending data, and close the file. ``message``: the error that ended the run.

        Raises:
            TraceError: data could not be written, now or before.

        >>> recorder = loopdbg.Recorder(folder / "run.loopdb", model, inputs)
        >>> recorder.finish(model.execute(inputs, on_iteration=recorder))
        >>> recorder.close()
        >>> recorder.recorded
        6
        """
        run = self._run

        def write_end(store: TraceFileWriter) -> None:
            if run is not None:
                _write_run_end(store, run)
            if message:
                queries.set_error(store.execute, message)

        self._writer.close(WriteTransaction(deferred_writes=[write_end]))


class ResumedRecorder(Recorder):
    """A recorder that appends to the trace of a run that resumes at ``position``, with the same options.

    Raises:
        UsageError: the file cannot be written.
        TraceError: the file is no trace, or damaged.
    """

    def __init__(
        self,
        path: Path,
        model: Model,
        position: ResumePoint,
        on_error: Callable[[LoopdbgError], object] | None = None,
    ) -> None:
        with TraceStore.open(path) as trace:
            options = RecordOptions(trace.nodes, trace.every, trace.only)
            rerun_entries = [
                entry.id
                for entry in trace.entries()
                if position.is_rerun(trace, entry.loop, entry.around) and position.boundary
            ]
        self._initialize(model, options, on_error)
        store = None
        try:
            store = TraceFileWriter(path)
            self._resume(store, position, rerun_entries)
            self._attach_writer(store)
        except BaseException as error:
            if store is not None:
                with contextlib.suppress(sqlite3.Error):
                    store.close()
            if isinstance(error, sqlite3.Error | OSError):
                raise UsageError(f"{path}: cannot be written: {error_text(error)}") from None
            if isinstance(error, ValueError | TypeError):
                raise TraceError(f"{path}: the trace is damaged: {one_line(error)}") from None
            raise

    def _resume(self, store: TraceFileWriter, position: ResumePoint, rerun_entries: list[int]) -> None:
        """Delete the data that will be recorded again, and the result of the run."""
        ask = store.execute
        with queries.write_transaction(ask):
            queries.delete_after(ask, position.boundary, rerun_entries)
        last_boundary, last_nanoseconds = queries.last_boundary(ask)
        self._next_boundary = last_boundary + 1
        self._next_entry = queries.last_id(ask, "entry") + 1
        self._start_time = time.perf_counter() - last_nanoseconds / 1e9
        for state in position.running_loops:
            number = queries.find_entry(ask, state.loop, state.outer_iterations)
            if number is not None:
                self._loops[state.loop].entry = number
        if self._checkpoint_saver is not None:
            self._checkpoint_saver.resume_from(position.loop_states)


def _make_boundary_batch(loop: _LoopProbes, pending: _PendingBoundaries, step: int) -> BoundaryBatch:
    columns: dict[int, list[Any]] = {}
    ids, entries, iterations, conditions, times, values = zip(*pending.rows, strict=True)
    count = len(ids)
    for k, pairs in enumerate(values):
        for port, value in pairs:
            column = columns.get(port)
            if column is None:
                column = columns[port] = [MISSING] * count
            column[k] = value
    return BoundaryBatch(
        loop.probes.index,
        ids,
        entries,
        iterations,
        conditions,
        pending.ended,
        times,
        columns,
        loop.sources,
        step,
    )


def _initial_rows(
    model: Model, inputs: Mapping[str, Data], options: RecordOptions, probe_sets: list[ProbeSet]
) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a new trace before the run."""
    types = TypeTable()
    tensors = []
    for (value, slot), entry in zip(model.plan.inputs, _inputs_by_slot(model, inputs), strict=True):
        assert slot == entry[0]
        dtype, shape, data = encode_value(entry[1])
        tensors.append(("input", value.name, types.number_for(dtype, shape), data))
    meta = {
        "schema": SCHEMA_VERSION,
        "model": model.name,
        "model_hash": model_hash(model),
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "graph": graph_to_json(model.graph),
        "every": options.every,
        "nodes": int(options.nodes),
        "only": None if options.only is None else json.dumps(list(options.only)),
    }
    return {
        "meta": list(meta.items()),
        "loop": [
            (p.index, p.path, p.loop.name, p.loop.op_type, p.loop.system.value, None if p.parent < 0 else p.parent)
            for p in model.plan.loops
        ],
        "port": [(probe.port, loop.index, probe.kind.value, probe.name) for loop in probe_sets for probe in loop],
        "type": types.pop_new_rows(),
        "tensor": tensors,
    }


def _inputs_by_slot(model: Model, inputs: Mapping[str, Data]) -> list[tuple[int, Data]]:
    """The inputs of the engine with defaults, in the order of the model's signature."""
    checked = model.check(inputs)
    return [(slot, checked[slot]) for _, slot in model.plan.inputs]


def _write_run_end(store: TraceFileWriter, run: Run) -> None:
    rows = []
    for name, value in run.outputs.items():
        dtype, shape, data = encode_value(value if value is None or isinstance(value, list) else np.asarray(value))
        rows.append(("output", name, store.types.number_for(dtype, shape), data))
    store.insert("tensor", rows)
    store.insert(
        "total",
        [
            (
                k,
                loop.iterations,
                loop.entries,
                None if loop.stopped_by is None else loop.stopped_by.value,
                json.dumps({reason.value: count for reason, count in loop.reasons.items()}),
                loop.trip_count,
                loop.seconds,
            )
            for k, loop in enumerate(run.loops)
        ],
    )
    meta = {"ended": "end" if run.stopped_by is None else run.stopped_by.value}
    if run.message:
        meta["error"] = run.message
    store.insert("meta", meta.items())
