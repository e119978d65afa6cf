"""Values of a recording, read from the file when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ...runtime.errors import LoopdbgError
from ...runtime.frame import NodeState
from ...runtime.graph import MAIN, StoppedBy, TensorType, Value
from ...runtime.graph.slices import entry_parts
from ...runtime.text import did_you_mean
from .outline import Body, Outline
from .ports import PortKind
from .trace_inside import Mark, TraceInside

_Found = tuple[bool, Any]
_NOTHING: _Found = (False, None)


class PortValues(Mapping[str, Any]):
    """What was recorded at one boundary of a loop, of one kind."""

    def __init__(self, trace: TraceInside, loop: int, mark: Mark | None, kind: PortKind) -> None:
        self._trace = trace
        self._loop = loop
        self._mark = mark
        self._kind = kind
        self._read: dict[str, _Found] = {}

    def find(self, name: str) -> _Found:
        """Whether there is a value, and the value."""
        if self._mark is None:
            return _NOTHING
        if name not in self._read:
            self._read[name] = self._trace.recorded(self._mark.id, self._loop, self._kind, name)
        return self._read[name]

    def __getitem__(self, name: str) -> Any:
        there, value = self.find(name)
        if not there:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for kind, name in self._trace.ports(self._loop) if kind is self._kind and self.find(name)[0])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Behind(Protocol):
    """What values need from behind a frame; :class:`~.frames.RecordedInside` says what each name means."""

    now: int
    over: bool
    outline: Outline
    mark: Mark | None
    body: Body | None

    def scope(self) -> Mapping[str, Value]: ...
    def recorded(self, kind: PortKind, mark: Mark | None = None) -> PortValues: ...
    def mark_at(self, iteration: int) -> Mark | None: ...
    def state_of(self, value: Value) -> NodeState | None: ...


class Recorded(Protocol):
    """What values need of the frame that they are of; :class:`~.frames.RecordedFrame` says what each name means."""

    @property
    def _inside(self) -> Behind: ...
    @property
    def index(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def entry(self) -> tuple[int, ...]: ...
    @property
    def iteration(self) -> int: ...
    @property
    def condition(self) -> bool | None: ...
    @property
    def trip_count(self) -> int | None: ...
    @property
    def at_boundary(self) -> bool: ...
    @property
    def around(self) -> Recorded | None: ...
    @property
    def values(self) -> RecordedValues: ...


class RecordedValues(Mapping[str, Any]):
    """Every value that is known at a recorded frame, by name: carried ones, body values, captures, constants, inputs,
    and those of the frames around. Asking for one that the recording lacks says how to get it."""

    def __init__(self, frame: Recorded) -> None:
        self._frame = frame
        self._outline = frame._inside.outline
        self._body: Body | None = frame._inside.body

    def __getitem__(self, name: str) -> Any:
        scope = self._frame._inside.scope()
        if name not in scope:
            hint = did_you_mean(name, scope)
            where = "the main graph" if self._body is None else f"loop '{self._frame.name}'"
            raise KeyError(f"{where} has no value '{name}'{hint}")
        there, value = self.read(scope[name])
        if not there:
            raise KeyError(self._absent(scope[name]))
        return value

    def __iter__(self) -> Iterator[str]:
        return (
            name for name, value in self._frame._inside.scope().items() if name != value.short and self.read(value)[0]
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def read(self, value: Value) -> _Found:
        """Whether a value of the loop graph is known here, and the value; tells values that share a name apart."""
        if value.constant is not None:
            return True, value.constant.copy()
        if self._body is None:
            return self._read_main(value)
        if value in self._body.own:
            return self._read_param(value) if value in self._body.params else self._read_result(value)
        found = self._entered(PortKind.CAPTURE).find(value.name)
        outer = self._frame.around
        return found if found[0] or outer is None else outer.values.read(value)

    def _absent(self, value: Value) -> str:
        """Why a value is not known."""
        frame, name = self._frame, value.name
        holder: Recorded | None = frame
        while holder is not None and holder._inside.body is not None and value not in holder._inside.body.own:
            holder = holder.around
        if holder is None or holder._inside.body is None:
            constants = self._outline.graph.constants
            where = f" of {MAIN}"
        else:
            constants = holder._inside.body.loop.body.constants
            where = " here"
            if value in holder._inside.body.makers:
                state = holder._inside.state_of(value)
                if holder.iteration == 0 and state is not NodeState.DONE:
                    return f"'{name}' is not computed yet in iteration 0"
                return f"the recording holds no value '{name}' here; a recording with nodes holds all body values"
        if value in constants:
            return f"the recording leaves out '{name}', a large constant"
        return f"the recording holds no value '{name}'{where}"

    # -- the main graph

    def _read_main(self, value: Value) -> _Found:
        outline, name = self._outline, value.name
        if value in outline.graph.inputs:
            given = outline.inputs if name in outline.inputs else outline.graph.defaults
            return (True, _copied(given[name])) if name in given else _NOTHING
        if self._frame._inside.over and name in outline.outputs:
            return True, _copied(outline.outputs[name])
        return self._read_inside(value)

    def _read_inside(self, value: Value) -> _Found:
        """What a loop inside read from here when it was entered, of those that were entered so far."""
        frame = self._frame
        around = () if frame._inside.body is None else (*frame.entry, frame.iteration)
        for inner in self._outline.inside(frame.index):
            started = self._outline.started(inner.index, around)
            if started is None or started[1].id > frame._inside.now:
                continue
            trace, mark = self._outline.trace, started[1]
            found = trace.recorded(mark.id, inner.index, PortKind.CAPTURE, value.name)
            if found[0]:
                return found
            for edge in inner.loop.back_edges:
                if edge.initial is value:
                    return trace.recorded(mark.id, inner.index, PortKind.CARRIED, edge.param.name)
        return _NOTHING

    # -- parameters: what the iteration gets that runs, at a boundary what the next one would get

    def _read_param(self, value: Value) -> _Found:
        frame, body = self._frame, self._body
        assert body is not None
        if value in body.edges:
            return frame._inside.recorded(PortKind.CARRIED).find(value.name)
        if value in body.sliced:
            return self._part(value)
        if value in body.invariants:
            return self.read(body.invariants[value])
        if value is body.loop.iteration:
            kind = np.int32 if _declared(value).dtype == np.int32 else np.int64
            return True, np.full(_one(value), frame.iteration, kind)
        if value is body.loop.condition_input:
            # An iteration that runs was allowed to; where the loop has no condition, the body gets true.
            return True, np.full(_one(value), frame.condition is not False or not frame.at_boundary)
        return _NOTHING

    def _part(self, value: Value) -> _Found:
        assert self._body is not None
        sliced = self._body.sliced[value]
        whole = self.read(sliced.outer)[1]
        if not isinstance(whole, np.ndarray):
            return _NOTHING
        try:
            parts = entry_parts(whole, sliced, self._body.loop.describe(), self._frame.trip_count)
        except LoopdbgError:
            return _NOTHING
        # After the last iteration the value is still the last part.
        return (True, parts[min(self._frame.iteration, len(parts) - 1)].copy()) if len(parts) else _NOTHING

    # -- results

    def _read_result(self, value: Value) -> _Found:
        """What the iteration computed that runs, or where it has not yet what the one before did."""
        frame = self._frame
        if self._body is not None and value in self._body.tested:
            return self._read_tested(value)
        state = None if frame.at_boundary else frame._inside.state_of(value)
        if state is NodeState.DONE:
            found = self._result_at(frame._inside.mark_at(frame.iteration + 1), value)
            return found if found[0] else self._read_inside(value)
        if state is NodeState.SKIPPED or not frame.iteration:
            return _NOTHING
        return self._result_at(frame._inside.mark, value)

    def _read_tested(self, value: Value) -> _Found:
        """What decided before an iteration whether it runs: a boundary has what its own iteration computed. Where the
        trip count ends the loop there is nothing newer than that of the iteration before."""
        inside, mark = self._frame._inside, self._frame._inside.mark
        iteration = self._frame.iteration
        if mark is not None and mark.ended is StoppedBy.TRIP_COUNT:
            iteration -= 1
            mark = inside.mark_at(iteration) if iteration >= 0 else None
        return _NOTHING if mark is None else self._seen(mark, inside.mark_at(iteration + 1), value)

    def _result_at(self, mark: Mark | None, value: Value) -> _Found:
        """What the iteration before a boundary computed: recorded, or known from what became of it."""
        return _NOTHING if mark is None or self._body is None else self._seen(mark, mark, value)

    def _seen(self, mark: Mark, after: Mark | None, value: Value) -> _Found:
        """What a mark has of a result; where it has nothing, what became of it ``after``."""
        body = self._body
        assert body is not None
        found = self._frame._inside.recorded(PortKind.NODE, mark).find(value.name)
        if found[0]:
            return found
        if value is body.loop.condition and mark.condition is not None:
            return True, np.asarray(mark.condition)
        return self._became(after, value)

    def _became(self, mark: Mark | None, value: Value) -> _Found:
        """A result of the iteration before a boundary, known from what became of it."""
        frame, body = self._frame, self._body
        if mark is None or body is None:
            return _NOTHING
        for name in body.scanned.get(value, ()):
            found = frame._inside.recorded(PortKind.SCAN, mark).find(name)
            if found[0]:
                return found
        for edge in body.results.get(value, ()):
            found = frame._inside.recorded(PortKind.CARRIED, mark).find(edge.param.name)
            if found[0]:
                return found
        return _NOTHING

    def _entered(self, kind: PortKind) -> PortValues:
        return self._frame._inside.recorded(kind, self._first)

    @cached_property
    def _first(self) -> Mark | None:
        """The boundary at which this entry of the loop began."""
        started = self._outline.started(self._frame.index, self._frame.entry)
        return None if started is None else started[1]


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else list(value) if isinstance(value, list) else value


def _declared(value: Value) -> TensorType:
    return value.type if isinstance(value.type, TensorType) else TensorType()


def _one(value: Value) -> tuple[int, ...]:
    """The shape that a one-element body parameter gets."""
    shape = _declared(value).shape
    return (1,) if shape is not None and len(shape) == 1 else ()
