"""Records a run: a hook that copies the values of a boundary, and passes them to the writer's thread."""

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
from ...runtime.errors import LoopdbgError, TraceError, UsageError, one_line
from ...runtime.frame import Frame
from ...runtime.graph.graph_json import graph_to_json
from ...runtime.graph.value_encoding import encode_value
from ...runtime.model import Data, Model, Run
from . import queries
from .probes import MISSING, ProbeSet, make_probes, read_probe
from .resume import ResumePoint, model_hash
from .resume_checkpoints import CheckpointSaver, LoopResumeState, save_checkpoint
from .row_encoder import BoundaryBatch, TypeTable
from .schema import SCHEMA_VERSION
from .trace_store import TraceStore
from .writer import TraceFileWriter, TraceWriterThread, WriteTransaction, create_trace, error_text

#: What waits for the writer may be this old, in seconds, or this large, in bytes; then the run waits.
FLUSH_AFTER_SECONDS = 0.1
MAX_PENDING_BYTES = 64 << 20
#: So many bytes go into one transaction, so that no more is lost where a disk is full.
TRANSACTION_BYTES = 256 << 10
#: What a value costs beside its elements, roughly.
_VALUE_OVERHEAD_BYTES = 200


@dataclass(frozen=True)
class RecordOptions:
    """What is recorded. ``every``: every how-manieth boundary, besides the first and the last of each entry."""

    nodes: bool = False
    every: int = 1
    only: Collection[str] | None = None
    force: bool = False


@dataclass
class _PendingBoundaries:
    """Boundaries of one loop that wait for the writer: id, entry, iteration, condition, time and values of each.

    A row is appended whole or, where there is no memory for it, not at all.
    """

    rows: list[tuple[int, int, int, bool | None, float, list[Any]]] = field(default_factory=list)
    ended: dict[int, str] = field(default_factory=dict)


@dataclass
class _LoopProbes:
    """A loop's taps, laid out for the hook."""

    probes: ProbeSet
    has_condition: bool
    sources: dict[int, object]
    entry: int = 0
    pending: _PendingBoundaries = field(default_factory=_PendingBoundaries)


@dataclass
class _PendingTransaction:
    """What goes into one transaction: boundaries by loop, entries, and what else is written."""

    loops: list[tuple[_LoopProbes, _PendingBoundaries]]
    entries: list[tuple[Any, ...]]
    deferred_writes: list[Callable[[TraceFileWriter], None]]


@public_class
class Recorder:
    """Records one run of a model in a file: give it to the run as its hook, then :meth:`finish`.

    >>> with loopdbg.Recorder(folder / "run.loopdb", model, inputs) as recorder:
    ...     recorder.finish(model.execute(inputs, on_iteration=recorder))

    ``path``: the file. When it can no longer be written (the disk is full) the run goes on unrecorded: ``on_error`` is
    told at once, and the end of the with block raises what was wrong.

    Raises:
        UsageError: the file cannot be written, or is there already; a name in ``only`` that nothing has.
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

    def _resume(self, store: TraceFileWriter, position: ResumePoint, again: list[int]) -> None:
        """Take away what will be recorded again, and the end."""
        ask = store.execute
        with queries.write_transaction(ask):
            queries.delete_after(ask, position.boundary, again)
        self._next_boundary = queries.last_id(ask, "boundary") + 1
        self._next_entry = queries.last_id(ask, "entry") + 1
        self._start_time = time.perf_counter() - queries.last_boundary_seconds(ask)
        for state in position.running_loops:
            number = queries.find_entry(ask, state.loop, state.outer_iterations)
            if number is not None:
                self._loops[state.loop].entry = number
        if self._checkpoint_saver is not None:
            self._checkpoint_saver.resume_from(position.loop_states)

    def _initialize(
        self, model: Model, options: RecordOptions, on_error: Callable[[LoopdbgError], object] | None
    ) -> None:
        tapped = make_probes(model.plan, nodes=options.nodes, only=options.only)
        self._model = model
        self._probe_sets = tapped
        self._on_error = on_error
        self._loops = [
            _LoopProbes(
                one,
                plan.condition >= 0 or plan.initial_condition >= 0,
                {t.port: t.source for t in one if t.source is not None},
            )
            for one, plan in zip(tapped, model.plan.loops, strict=True)
        ]
        self._every = options.every
        whole = options.every == 1 and options.only is None
        self._checkpoint_saver = None if whole else CheckpointSaver(model.plan.loops)
        #: Guards what waits for the writer.
        self._lock = threading.Lock()
        self._entries: list[tuple[Any, ...]] = []
        self._deferred_writes: list[Callable[[TraceFileWriter], None]] = []
        self._next_boundary = self._next_entry = 1
        self._pending_bytes = 0
        #: What waits and makes a piece of its own, and the bytes of what came since.
        self._sealed_transactions: list[_PendingTransaction] = []
        self._unsealed_bytes = 0
        self._pending_since = 0.0
        self._error_reported = False
        self._run: Run | None = None
        self._start_time = time.perf_counter()

    def _attach_writer(self, store: TraceFileWriter) -> None:
        try:
            self.path, self._store = store.path, store
            self._writer = TraceWriterThread(store, self._take_pending)
        except BaseException:  # there is no room for another thread: nobody else would let go of the file
            with contextlib.suppress(sqlite3.Error):
                store.close()
            raise

    @property
    def recorded(self) -> int:
        """How many boundaries are in the file by this recorder.

        >>> with loopdbg.Recorder(folder / "run.loopdb", model, inputs) as recorder:
        ...     recorder.finish(model.execute(inputs, on_iteration=recorder))
        >>> recorder.recorded
        6
        """
        return self._store.boundaries_written

    # -- the run's side

    def __call__(self, frame: Frame) -> None:
        """Record a frame that stands at a boundary."""
        index = frame.index
        engine = frame._internals.engine
        loop = self._loops[index]
        iteration, _, keep, ended, _ = engine.loop_state(index)
        now = time.perf_counter()
        if self._writer.internal_error is not None:
            raise self._writer.internal_error
        if self._writer.error is not None:
            # A fault of ours is raised when the recorder is closed.
            if isinstance(self._writer.error, LoopdbgError):
                self._report_error(self._writer.error)
            return
        states = None if self._checkpoint_saver is None else self._checkpoint_saver.states_due(engine, now)
        if iteration and self._every > 1 and iteration % self._every and ended is None:
            if states is not None:
                with self._lock:
                    self._defer_checkpoint(states, self._next_boundary - 1)
            return
        entry = None
        if iteration == 0:
            entry = queries.outer_iterations_text(frame.entry), frame.trip_count
        taps = loop.probes
        found = [(t.port, read_probe(engine, index, t)) for t in taps.boundary_probes]
        if iteration:
            found += [(t.port, read_probe(engine, index, t)) for t in taps.iteration_probes]
        else:
            found += [(t.port, read_probe(engine, index, t)) for t in taps.entry_probes]
        size = sum(getattr(value, "nbytes", _VALUE_OVERHEAD_BYTES) for _, value in found) + _VALUE_OVERHEAD_BYTES * (
            len(found) + 1
        )
        with self._lock:
            if not self._pending_bytes:
                self._pending_since = now
            self._pending_bytes += size
            if entry is not None:
                loop.entry = self._next_entry
                self._next_entry += 1
                self._entries.append((loop.entry, index, *entry))
            out = loop.pending
            condition = keep if loop.has_condition else None
            out.rows.append((self._next_boundary, loop.entry, iteration, condition, now - self._start_time, found))
            if ended is not None:
                out.ended[len(out.rows) - 1] = ended.value
            if states is not None:
                self._defer_checkpoint(states, self._next_boundary)
            self._next_boundary += 1
            self._unsealed_bytes += size
            if self._unsealed_bytes > TRANSACTION_BYTES:
                self._sealed_transactions = [*self._sealed_transactions, self._seal_transaction()]
        if self._pending_bytes > MAX_PENDING_BYTES or now - self._pending_since > FLUSH_AFTER_SECONDS:
            self._writer.flush()

    def _defer_checkpoint(self, states: list[LoopResumeState], boundary: int) -> None:
        """``boundary``: the newest one that the states come after, or are of. The lock is held."""
        self._deferred_writes.append(lambda store: save_checkpoint(store, states, boundary))

    def _report_error(self, error: LoopdbgError) -> None:
        if not self._error_reported:
            self._error_reported = True
            if self._on_error is not None:
                self._on_error(error)

    # -- the writer's side

    def _seal_transaction(self) -> _PendingTransaction:
        """All that came since the last piece. The lock is held."""
        # All that wants memory comes first: what was taken out and could not be put in here would be lost.
        piece = _PendingTransaction(
            [(loop, loop.pending) for loop in self._loops if loop.pending.rows], self._entries, self._deferred_writes
        )
        anew = [_PendingBoundaries() for _ in piece.loops]
        entries: list[tuple[Any, ...]] = []
        then: list[Callable[[TraceFileWriter], None]] = []
        for (loop, _), one in zip(piece.loops, anew, strict=True):
            loop.pending = one
        self._entries, self._deferred_writes, self._unsealed_bytes = entries, then, 0
        return piece

    def _take_pending(self) -> Iterator[WriteTransaction]:
        """All that waits, in the order of time, from the writer's thread."""
        with self._lock:
            pieces, self._sealed_transactions = [*self._sealed_transactions, self._seal_transaction()], []
            self._pending_bytes = 0
        # Each is forgotten as soon as it is written.
        pieces.reverse()
        while pieces:
            piece = pieces.pop()
            yield WriteTransaction(
                [_make_batch(loop, out) for loop, out in piece.loops], piece.entries, piece.deferred_writes
            )

    # -- the end

    def finish(self, run: Run) -> None:
        """Take note of how the run ended, outputs included; written when the recorder is closed.

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
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        message = "" if error is None else str(error) or type(error).__name__
        try:
            self.close(message)
        except TraceError:
            # What ended the run goes first.
            if error is None:
                raise

    def close(self, message: str = "") -> None:
        """Write what is left, and close the file. ``message``: what ended the run, where that was an error.

        Raises:
            TraceError: something could not be written, now or before.

        >>> recorder = loopdbg.Recorder(folder / "run.loopdb", model, inputs)
        >>> recorder.finish(model.execute(inputs, on_iteration=recorder))
        >>> recorder.close()
        >>> recorder.recorded
        6
        """
        run = self._run

        def last(store: TraceFileWriter) -> None:
            if run is not None:
                _write_run_end(store, run)
            if message:
                queries.set_error(store.execute, message)

        self._writer.close(WriteTransaction(deferred_writes=[last]))


def resume_recorder(
    path: Path,
    model: Model,
    position: ResumePoint,
    on_error: Callable[[LoopdbgError], object] | None = None,
) -> Recorder:
    """A recorder that goes on in the trace of a run which goes on from ``position``, recording what that one did.

    Raises:
        UsageError: the file cannot be written.
        TraceError: it is no trace, or damaged.
    """
    with TraceStore.open(path) as trace:
        options = RecordOptions(trace.nodes, trace.every, trace.only)
        again = [
            entry.id
            for entry in trace.entries()
            if position.is_rerun(trace, entry.loop, entry.around) and position.boundary
        ]
    recorder = Recorder.__new__(Recorder)
    recorder._initialize(model, options, on_error)
    store = None
    try:
        store = TraceFileWriter(path)
        recorder._resume(store, position, again)
        recorder._attach_writer(store)
        return recorder
    except BaseException as error:
        if store is not None:
            with contextlib.suppress(sqlite3.Error):
                store.close()
        if isinstance(error, sqlite3.Error | OSError):
            raise UsageError(f"{path}: cannot be written: {error_text(error)}") from None
        if isinstance(error, ValueError | TypeError):
            raise TraceError(f"{path}: the trace is damaged: {one_line(error)}") from None
        raise


def _make_batch(loop: _LoopProbes, out: _PendingBoundaries) -> BoundaryBatch:
    columns: dict[int, list[Any]] = {}
    ids, entries, iterations, conditions, times, values = zip(*out.rows, strict=True)
    count = len(ids)
    for k, found in enumerate(values):
        for port, value in found:
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
        out.ended,
        times,
        columns,
        loop.sources,
    )


def _initial_rows(
    model: Model, inputs: Mapping[str, Data], options: RecordOptions, taps: list[ProbeSet]
) -> dict[str, list[tuple[Any, ...]]]:
    """What a trace holds before anything ran."""
    types = TypeTable()
    tensors = []
    for (value, slot), given in zip(model.plan.inputs, _inputs_by_slot(model, inputs), strict=True):
        assert slot == given[0]
        dtype, shape, data = encode_value(given[1])
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
        "port": [(t.port, loop.index, t.kind.value, t.name) for loop in taps for t in loop],
        "type": types.pop_new_rows(),
        "tensor": tensors,
    }


def _inputs_by_slot(model: Model, inputs: Mapping[str, Data]) -> list[tuple[int, Data]]:
    """The inputs as the engine gets them, defaults filled in, in the order of the model's signature."""
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
