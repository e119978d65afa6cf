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

from ...runtime.boundary import public_class
from ...runtime.errors import LoopdbgError, TraceError, UsageError, one_line
from ...runtime.frame import Frame
from ...runtime.graph.as_json import to_json
from ...runtime.graph.encoding import encode
from ...runtime.model import Data, Model, Run
from . import queries
from .checkpoint import LoopState, Saver, save
from .ports import MISSING, Tapped, read, tap
from .resume import ResumePoint, model_hash
from .rows import Batch, Types
from .schema import VERSION
from .trace_inside import TraceInside
from .writer import Portion, Store, Writer, create, reason

#: What waits for the writer may be this old, in seconds, or this large, in bytes; then the run waits.
PATIENCE = 0.1
ROOM = 64 << 20
#: So many bytes go into one transaction, so that no more is lost where a disk is full.
PIECE = 256 << 10
#: What a value costs beside its elements, roughly.
_OVERHEAD = 200


@dataclass(frozen=True)
class Options:
    """What is recorded. ``every``: every how-manieth boundary, besides the first and the last of each entry."""

    nodes: bool = False
    every: int = 1
    only: Collection[str] | None = None
    force: bool = False


@dataclass
class _Open:
    """Boundaries of one loop that wait for the writer: id, entry, iteration, condition, time and values of each.

    A row is appended whole or, where there is no memory for it, not at all.
    """

    rows: list[tuple[int, int, int, bool | None, float, list[Any]]] = field(default_factory=list)
    ended: dict[int, str] = field(default_factory=dict)


@dataclass
class _Tapped:
    """A loop's taps, laid out for the hook."""

    taps: Tapped
    has_condition: bool
    sources: dict[int, object]
    entry: int = 0
    open: _Open = field(default_factory=_Open)


@dataclass
class _Piece:
    """What goes into one transaction: boundaries by loop, entries, and what else is written."""

    loops: list[tuple[_Tapped, _Open]]
    entries: list[tuple[Any, ...]]
    then: list[Callable[[Store], None]]


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
        options: Options = Options(),
        on_error: Callable[[LoopdbgError], object] | None = None,
    ) -> None:
        self._begin(model, options, on_error)
        self._write_to(create(path, _first_rows(model, inputs, options, self._taps), force=options.force))

    def _go_on(self, store: Store, position: ResumePoint, again: list[int]) -> None:
        """Take away what will be recorded again, and the end."""
        ask = store.execute
        with queries.transaction(ask):
            queries.forget_after(ask, position.boundary, again)
        self._next_boundary = queries.last_number(ask, "boundary") + 1
        self._next_entry = queries.last_number(ask, "entry") + 1
        self._start = time.perf_counter() - queries.last_time(ask)
        for state in position.running:
            number = queries.entry_at(ask, state.loop, state.around)
            if number is not None:
                self._loops[state.loop].entry = number
        if self._saver is not None:
            self._saver.go_on(position.path)

    def _begin(self, model: Model, options: Options, on_error: Callable[[LoopdbgError], object] | None) -> None:
        tapped = tap(model.plan, nodes=options.nodes, only=options.only)
        self._model = model
        self._taps = tapped
        self._on_error = on_error
        self._loops = [
            _Tapped(
                one,
                plan.condition >= 0 or plan.initial_condition >= 0,
                {t.port: t.source for t in one if t.source is not None},
            )
            for one, plan in zip(tapped, model.plan.loops, strict=True)
        ]
        self._every = options.every
        whole = options.every == 1 and options.only is None
        self._saver = None if whole else Saver(model.plan.loops)
        #: Guards what waits for the writer.
        self._lock = threading.Lock()
        self._entries: list[tuple[Any, ...]] = []
        self._then: list[Callable[[Store], None]] = []
        self._next_boundary = self._next_entry = 1
        self._waiting = 0
        #: What waits and makes a piece of its own, and the bytes of what came since.
        self._sealed: list[_Piece] = []
        self._unsealed = 0
        self._since = 0.0
        self._told = False
        self._run: Run | None = None
        self._start = time.perf_counter()

    def _write_to(self, store: Store) -> None:
        try:
            self.path, self._store = store.path, store
            self._writer = Writer(store, self._take)
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
        return self._store.written

    # -- the run's side

    def __call__(self, frame: Frame) -> None:
        """Record a frame that stands at a boundary."""
        index = frame.index
        engine = frame._inside.engine
        loop = self._loops[index]
        iteration, _, keep, ended, _ = engine.loop_state(index)
        now = time.perf_counter()
        if self._writer.fault is not None:
            raise self._writer.fault
        if self._writer.error is not None:
            # A fault of ours is raised when the recorder is closed.
            if isinstance(self._writer.error, LoopdbgError):
                self._tell(self._writer.error)
            return
        states = None if self._saver is None else self._saver.at(engine, now)
        if iteration and self._every > 1 and iteration % self._every and ended is None:
            if states is not None:
                with self._lock:
                    self._save(states, self._next_boundary - 1)
            return
        entry = None
        if iteration == 0:
            entry = queries.place(frame.entry), frame.trip_count
        taps = loop.taps
        found = [(t.port, read(engine, index, t)) for t in taps.always]
        if iteration:
            found += [(t.port, read(engine, index, t)) for t in taps.after]
        else:
            found += [(t.port, read(engine, index, t)) for t in taps.entered]
        size = sum(getattr(value, "nbytes", _OVERHEAD) for _, value in found) + _OVERHEAD * (len(found) + 1)
        with self._lock:
            if not self._waiting:
                self._since = now
            self._waiting += size
            if entry is not None:
                loop.entry = self._next_entry
                self._next_entry += 1
                self._entries.append((loop.entry, index, *entry))
            out = loop.open
            condition = keep if loop.has_condition else None
            out.rows.append((self._next_boundary, loop.entry, iteration, condition, now - self._start, found))
            if ended is not None:
                out.ended[len(out.rows) - 1] = ended.value
            if states is not None:
                self._save(states, self._next_boundary)
            self._next_boundary += 1
            self._unsealed += size
            if self._unsealed > PIECE:
                self._sealed = [*self._sealed, self._seal()]
        if self._waiting > ROOM or now - self._since > PATIENCE:
            self._writer.flush()

    def _save(self, states: list[LoopState], boundary: int) -> None:
        """``boundary``: the newest one that the states come after, or are of. The lock is held."""
        self._then.append(lambda store: save(store, states, boundary))

    def _tell(self, error: LoopdbgError) -> None:
        if not self._told:
            self._told = True
            if self._on_error is not None:
                self._on_error(error)

    # -- the writer's side

    def _seal(self) -> _Piece:
        """All that came since the last piece. The lock is held."""
        # All that wants memory comes first: what was taken out and could not be put in here would be lost.
        piece = _Piece([(loop, loop.open) for loop in self._loops if loop.open.rows], self._entries, self._then)
        anew = [_Open() for _ in piece.loops]
        entries: list[tuple[Any, ...]] = []
        then: list[Callable[[Store], None]] = []
        for (loop, _), one in zip(piece.loops, anew, strict=True):
            loop.open = one
        self._entries, self._then, self._unsealed = entries, then, 0
        return piece

    def _take(self) -> Iterator[Portion]:
        """All that waits, in the order of time, from the writer's thread."""
        with self._lock:
            pieces, self._sealed = [*self._sealed, self._seal()], []
            self._waiting = 0
        # Each is forgotten as soon as it is written.
        pieces.reverse()
        while pieces:
            piece = pieces.pop()
            yield Portion([_batch(loop, out) for loop, out in piece.loops], piece.entries, piece.then)

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

        def last(store: Store) -> None:
            if run is not None:
                _write_end(store, run)
            if message:
                queries.set_error(store.execute, message)

        self._writer.close(Portion(then=[last]))


def going_on(
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
    with TraceInside.open(path) as trace:
        options = Options(trace.nodes, trace.every, trace.only)
        again = [
            entry.id
            for entry in trace.entries()
            if position.runs_again(trace, entry.loop, entry.around) and position.boundary
        ]
    recorder = Recorder.__new__(Recorder)
    recorder._begin(model, options, on_error)
    store = None
    try:
        store = Store(path)
        recorder._go_on(store, position, again)
        recorder._write_to(store)
        return recorder
    except BaseException as error:
        if store is not None:
            with contextlib.suppress(sqlite3.Error):
                store.close()
        if isinstance(error, sqlite3.Error | OSError):
            raise UsageError(f"{path}: cannot be written: {reason(error)}") from None
        if isinstance(error, ValueError | TypeError):
            raise TraceError(f"{path}: the trace is damaged: {one_line(error)}") from None
        raise


def _batch(loop: _Tapped, out: _Open) -> Batch:
    columns: dict[int, list[Any]] = {}
    ids, entries, iterations, conditions, times, values = zip(*out.rows, strict=True)
    count = len(ids)
    for k, found in enumerate(values):
        for port, value in found:
            column = columns.get(port)
            if column is None:
                column = columns[port] = [MISSING] * count
            column[k] = value
    return Batch(
        loop.taps.index,
        ids,
        entries,
        iterations,
        conditions,
        out.ended,
        times,
        columns,
        loop.sources,
    )


def _first_rows(
    model: Model, inputs: Mapping[str, Data], options: Options, taps: list[Tapped]
) -> dict[str, list[tuple[Any, ...]]]:
    """What a trace holds before anything ran."""
    types = Types()
    tensors = []
    for (value, slot), given in zip(model.plan.inputs, _by_slot(model, inputs), strict=True):
        assert slot == given[0]
        dtype, shape, data = encode(given[1])
        tensors.append(("input", value.name, types.number(dtype, shape), data))
    meta = {
        "schema": VERSION,
        "model": model.name,
        "model_hash": model_hash(model),
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "graph": to_json(model.graph),
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
        "type": types.take_new(),
        "tensor": tensors,
    }


def _by_slot(model: Model, inputs: Mapping[str, Data]) -> list[tuple[int, Data]]:
    """The inputs as the engine gets them, defaults filled in, in the order of the model's signature."""
    checked = model.check(inputs)
    return [(slot, checked[slot]) for _, slot in model.plan.inputs]


def _write_end(store: Store, run: Run) -> None:
    rows = []
    for name, value in run.outputs.items():
        dtype, shape, data = encode(value if value is None or isinstance(value, list) else np.asarray(value))
        rows.append(("output", name, store.types.number(dtype, shape), data))
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
