"""Observes one run for the fuzzer: which values, decisions and distances occurred, and the operands of comparisons.

Each feature is a small integer. Inputs with a feature that no earlier inputs had are worth mutating: a comparison that
went the other way, came closer to that, an index closer to the end of its axis, a value that is NaN for the first time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.graph import Array, Operation
from ...runtime.plan.plan import Instruction, Opcode

#: Boundaries of an entry that are all observed; later ones only at powers of two.
_ALL_OBSERVED_BOUNDARIES = 16
#: Elements of a tensor that are looked at, nodes of a plan, and operands that are kept.
_MAX_ELEMENTS, _MAX_NODES, _MAX_OPERANDS = 1024, 400, 64
_COMPARISONS = frozenset(
    {"Less", "LessOrEqual", "LessEqual", "Greater", "GreaterOrEqual", "GreaterEqual", "Equal", "NotEqual"}
)
#: Operators whose second input is an index into their first one, along an axis.
_INDEXED_OPS = frozenset({"Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Slice", "OneHot"})
#: Operators of which ties are an edge case.
_RANKING_OPS = frozenset({"ArgMax", "ArgMin", "TopK", "ReduceMax", "ReduceMin", "Max", "Min", "NonMaxSuppression"})

# Kinds of features, and the factors that combine kind, position and detail.
_VALUE, _DISTANCE, _INDEX, _TIES, _LOOP = range(5)
_DETAILS, _KINDS = 4096, 8


class _Probe(NamedTuple):
    """What is read after a node has run. ``position``: of its instruction; ``slots``: of its operands."""

    position: int
    kind: int
    slots: tuple[int, ...]


class FeatureObserver:
    """Observes the runs of one engine. ``features``: of the last run; ``operands``: numbers that it compared."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._probes = _probes(engine)
        self._boundary_counts = [0] * len(engine.plan.loops)
        self.features: set[int] = set()
        self.operands: set[Any] = set()

    def begin(self) -> None:
        """Begin another run."""
        self.features = set()
        self.operands = set()
        self._boundary_counts = [0] * len(self._boundary_counts)

    def on_boundary(self, index: int) -> None:
        """Observe the iteration that has just ended; called by the engine."""
        iteration = self._engine.loop_state(index)[0]
        self._boundary_counts[index] += 1
        if iteration and (iteration <= _ALL_OBSERVED_BOUNDARIES or not iteration & (iteration - 1)):
            for probe in self._probes[index]:
                self._observe_probe(probe, min(iteration, 2))

    def finish(self, event: str) -> None:
        """Observe the main graph and the end of each loop."""
        for probe in self._probes[-1]:
            self._observe_probe(probe, 0)
        for index in range(len(self._boundary_counts)):
            iterations, entries, _, _ = self._engine.loops.totals(index)
            reason = self._engine.loop_state(index)[3]
            self._add_feature(_LOOP, index, _count_bucket(iterations) * 64 + min(entries, 3) * 16)
            self._add_feature(_LOOP, index, 2048 + sum(map(ord, str(reason) + event)) % 1024)

    def _add_feature(self, kind: int, position: int, detail: int) -> None:
        self.features.add((position * _KINDS + kind) * _DETAILS + detail)

    def _observe_probe(self, probe: _Probe, phase: int) -> None:
        arrays = []
        for slot in probe.slots:
            if not self._engine.has_value(slot):
                return
            value = self._engine.peek(slot)
            if not isinstance(value, np.ndarray) or value.dtype.hasobject:
                return
            arrays.append(value)
        if probe.kind == _VALUE:
            for flag in _value_flags(arrays[0]):
                self._add_feature(_VALUE, probe.position, flag * 4 + phase)
        elif probe.kind == _DISTANCE:
            self._observe_comparison(probe.position, arrays[0], arrays[1])
        elif probe.kind == _INDEX:
            self._observe_index(probe.position, arrays[0], arrays[1])
        elif arrays[0].size:
            flat = arrays[0].reshape(-1)[:_MAX_ELEMENTS]
            self._add_feature(_TIES, probe.position, min(int(np.count_nonzero(flat == flat.max())), 3))

    def _observe_comparison(self, position: int, left: Array, right: Array) -> None:
        if not left.size or not right.size or left.dtype == np.bool_ or left.dtype.kind == "c":
            return
        a, b = (x.reshape(-1)[:_MAX_ELEMENTS] for x in (left, right))
        for operand in (a[0], b[0], a[-1], b[-1]):
            if len(self.operands) < _MAX_OPERANDS:
                self.operands.add(int(operand) if "int" in operand.dtype.name else float(operand))
        with np.errstate(all="ignore"):
            if len(a) == 1 or len(b) == 1 or len(a) == len(b):
                gaps = a.astype(np.float64) - b.astype(np.float64)
                for sign, part in ((0, gaps[gaps < 0]), (1, gaps[gaps > 0])):
                    if len(part):
                        self._add_feature(
                            _DISTANCE, position, sign * 1100 + _exponent_bucket(float(np.abs(part).min()))
                        )
                if (gaps == 0).any():
                    self._add_feature(_DISTANCE, position, 2300)

    def _observe_index(self, position: int, data: Array, indices: Array) -> None:
        if not indices.size or indices.dtype.kind not in "iu" or not data.ndim:
            return
        low, high = int(indices.min()), int(indices.max())
        for side, distance in ((0, low), (1, max(data.shape) - 1 - high), (2, low + max(data.shape))):
            self._add_feature(_INDEX, position, side * 64 + (_count_bucket(distance) if distance >= 0 else 63))


def _probes(engine: Engine) -> list[list[_Probe]]:
    """The probes of each loop, those of the main graph last."""
    plan = engine.plan
    probes: list[list[_Probe]] = [[] for _ in range(len(plan.loops) + 1)]
    count = 0
    for position, instruction in enumerate(plan.code):
        index = instruction.inside
        if instruction.kind is Opcode.NODE and plan.slots and count < _MAX_NODES:
            if any(plan.slots[slot] in plan.constant_values for slot in instruction.outputs if slot >= 0):
                continue
            count += 1
            probes[index] += _node_probes(engine, position, instruction, index)
        elif instruction.kind is Opcode.BRANCH:
            slots = (_boundary_slot(engine, index, instruction.inputs[0]),)
            probes[index].append(_Probe(position, _VALUE, slots))
    return probes


def _node_probes(engine: Engine, position: int, instruction: Instruction, index: int) -> Iterator[_Probe]:
    node = instruction.node
    assert isinstance(node, Operation)
    inputs = [_boundary_slot(engine, index, slot) for slot in instruction.inputs if slot >= 0]
    outputs = [_boundary_slot(engine, index, slot) for slot in instruction.outputs if slot >= 0]
    if outputs:
        yield _Probe(position, _VALUE, (outputs[0],))
    if node.op_type in _COMPARISONS and len(inputs) == 2:
        yield _Probe(position, _DISTANCE, tuple(inputs))
    elif node.op_type in _INDEXED_OPS and len(inputs) >= 2:
        yield _Probe(position, _INDEX, (inputs[0], inputs[1]))
    elif node.op_type in _RANKING_OPS and inputs:
        yield _Probe(position, _TIES, (inputs[0],))


def _boundary_slot(engine: Engine, index: int, slot: int) -> int:
    """The slot with a value of the last iteration at a boundary."""
    if index < 0:
        return slot
    for k, edge in enumerate(engine.plan.loops[index].edges):
        if edge.param == slot:
            return engine.monitor.previous_slot(index, k)
    return engine.monitor.slot_at_boundary(index, slot)


def _value_flags(array: Array) -> Iterator[int]:
    """Properties of a value: emptiness, signs, zeros, NaN, infinities, extremes, equal elements."""
    if not array.size:
        yield 0
        return
    yield 1 if array.size == 1 else 2
    flat = array.reshape(-1)[:_MAX_ELEMENTS]
    if flat.dtype == np.bool_:
        yield from {3 if element else 4 for element in flat.tolist()}
        return
    if flat.dtype.kind == "c":
        flat = np.abs(flat)
    numbers = {float(element) for element in flat.tolist()} if flat.dtype.kind in "iuf" else set(map(float, flat))
    if len(numbers) < len(flat):
        yield 5
    for number in numbers:
        if math.isnan(number):
            yield 6
        elif math.isinf(number):
            yield 7 if number > 0 else 8
        elif not number:
            yield 10 if math.copysign(1, number) < 0 else 9
        else:
            yield (11 if number > 0 else 12) + 2 * (abs(number) > 1e9) + 4 * (abs(number) < 1e-9)


def _count_bucket(count: int) -> int:
    """0, 1, 2, 3 exactly; larger numbers by powers of two."""
    return count if count < 4 else 2 + min(count.bit_length(), 28)


def _exponent_bucket(gap: float) -> int:
    return 0 if not math.isfinite(gap) else min(max(math.frexp(gap)[1] + 200, 1), 1000)
