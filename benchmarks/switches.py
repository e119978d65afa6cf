"""The engine's ways to be fast, each of which can be taken out of a run without another result, to the bit.

The panels alone settle the order of sums: without them results have other bits.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from loopdbg.runtime import model as models
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.graph import Graph
from loopdbg.runtime.model import Model
from loopdbg.runtime.ops import weights
from loopdbg.runtime.ops.primitives import NotNative, Routine
from loopdbg.runtime.plan.bound import DataDependent
from loopdbg.runtime.plan.plan import Instruction, Plan, compile_graph

Context = AbstractContextManager[Any]
#: Was there any use of it in the runs of a model that was loaded meanwhile?
Asked = Callable[[Model], bool]

_FUSION = "loopdbg.runtime.plan.fusion"
_VARYING = "loopdbg.runtime.engine.fast.ranges.varying"
_VIEWS = "loopdbg.runtime.engine.fast.views.views"
_CALL = "loopdbg.runtime.plan.emitting.Emitting.call"


@dataclass(frozen=True)
class Switch:
    """``off`` takes it out of the models that are loaded, and of the engines that are made, within it; ``watched``
    leaves it there, and tells whether it was of use."""

    name: str
    off: Callable[[], Context]
    watched: Callable[[], AbstractContextManager[Asked]]


# -- what is in the plan


@contextmanager
def _plans(change: Callable[[Plan], object]) -> Iterator[None]:
    """Models get plans that were changed."""

    def changed(graph: Graph) -> Plan:
        plan = compile_graph(graph)
        change(plan)
        return plan

    with patch.object(models, "compile_graph", changed):
        yield


def _of_instructions(name: str, used: Callable[[Instruction], bool], **without: Any) -> Switch:
    """A field of instructions; ``without``: what it says where it is out."""

    def change(plan: Plan) -> None:
        for instruction in plan.code:
            for field, value in without.items():
                setattr(instruction, field, value)

    return Switch(name, lambda: _plans(change), _answered(lambda model: any(map(used, model.plan.code))))


def _no_sequences(plan: Plan) -> None:
    for instruction in plan.code:
        if instruction.op is not None:
            instruction.op = replace(instruction.op, sequences=False)


def _has_sequences(model: Model) -> bool:
    return any(i.op is not None and i.op.sequences and "equence" in i.node.op_type for i in model.plan.code if i.node)


def _copies(plan: Plan) -> None:
    for loop in plan.loops:
        for edge in loop.edges:
            edge.swap = False


# -- what is in the engine


@contextmanager
def _engines(**knobs: Any) -> Iterator[None]:
    """Engines of models have some of their knobs turned."""
    borrow = Model._borrow

    def turned(model: Model) -> Engine:
        engine = borrow(model)
        for name, value in knobs.items():
            setattr(engine.fast, name, value)
        return engine

    with patch.object(Model, "_borrow", turned):
        yield


def _answered(ask: Asked) -> Callable[[], AbstractContextManager[Asked]]:
    """The model itself tells."""

    @contextmanager
    def watched() -> Iterator[Asked]:
        yield ask

    return watched


def _engine_says(ask: Callable[[Engine], Any]) -> Callable[[], AbstractContextManager[Asked]]:
    return _answered(lambda model: model._engine is not None and bool(ask(model._engine)))


# -- functions that find something to do


def _finding(name: str, target: str, nothing: Callable[[], Any]) -> Switch:
    """A function that finds what fits; ``nothing``: what it gives where nothing does."""
    return Switch(name, lambda: patch(target, lambda *_: nothing()), _seen(target, lambda found, _: bool(found)))


def _nothing() -> None:
    """Where something is found, or None."""


def _seen(target: str, counts: Callable[[Any, Any], bool]) -> Callable[[], AbstractContextManager[Asked]]:
    """Whether some call gave something that counts; ``counts`` gets its result and its arguments."""

    @contextmanager
    def watched() -> Iterator[Asked]:
        found: set[bool] = set()
        original = pkgutil.resolve_name(target)

        def spy(*arguments: Any, **keywords: Any) -> Any:
            result = original(*arguments, **keywords)
            found.add(counts(result, arguments))
            return result

        with patch(target, spy):
            yield lambda model: True in found

    return watched


def _routine(name: str, field: str, without: Callable[[Callable[[], Any]], Any], counts: Any) -> Switch:
    """Routines that have a field are called in another way."""
    original = pkgutil.resolve_name(_CALL)

    def other(p: Any, routine: Routine, inputs: Any) -> Any:
        if not getattr(routine, field):
            return original(p, routine, inputs)
        return without(lambda: original(p, replace(routine, **{field: ()}), inputs))

    return Switch(name, lambda: patch(_CALL, other), _seen(_CALL, counts))


def _is_data_dependent(results: Any, _: Any) -> bool:
    return any(isinstance(result, DataDependent) for result in results)


def _begins_as_a_copy(_: Any, arguments: Any) -> bool:
    return bool(arguments[0].calls[-1].onto >= 0)


def _in_python(plain: Callable[[], Any]) -> Any:
    raise NotNative


def _on_weights(model: Model) -> bool:
    return any(getattr(i.op and i.op.function, "func", None) is weights._on_weights for i in model.plan.code)


def _every_slot(plan: Plan) -> set[int]:
    return set(range(len(plan.slots)))


SWITCHES = {
    switch.name: switch
    for switch in (
        Switch(
            "scalar programs", lambda: _engines(hot_after=-1), _engine_says(lambda engine: engine.fast.program_runs)
        ),
        Switch("panels", lambda: patch.object(weights, "WEIGHTED", frozenset()), _answered(_on_weights)),
        _of_instructions("batched hoisting", lambda i: i.hoisted is not None, hoisted=None),
        _of_instructions("invariants", lambda i: i.once >= 0, once=-1),
        _finding("fusion", f"{_FUSION}.groups.plan_groups", list),
        _finding("quantized chains", f"{_FUSION}.chains.plan_chains", list),
        Switch(
            "copy elision",
            lambda: patch(f"{_VIEWS}.ports_of", _every_slot),
            _engine_says(lambda engine: engine.fast.views.positions),
        ),
        Switch(
            "aliases",
            lambda: patch(f"{_VIEWS}.lies_whole", lambda _: False),
            _engine_says(lambda engine: engine.fast.views.aliased),
        ),
        _finding("ranges of shapes", f"{_VARYING}.follow", _nothing),
        Switch(
            "appends in place",
            lambda: patch("loopdbg.runtime.plan.ranges.whole_copy", lambda *_: None),
            _seen("loopdbg.runtime.plan.ranges.whole_copy", lambda found, _: found is not None),
        ),
        _finding("capacity for more", f"{_VARYING}.carriers", dict),
        _routine("data-dependent shapes", "along", _in_python, _is_data_dependent),
        _routine("in-place updates", "onto", lambda plain: plain(), _begins_as_a_copy),
        Switch(
            "bytes in 32 bits",
            lambda: patch("loopdbg.runtime.ops.matmul.wide_product", lambda *_: None),
            _seen("loopdbg.runtime.ops.matmul.wide_product", lambda found, _: found is not None),
        ),
        Switch("shared sequences", lambda: _plans(_no_sequences), _answered(_has_sequences)),
        Switch(
            "buffers exchanged",
            lambda: _plans(_copies),
            _answered(lambda model: any(edge.swap for loop in model.plan.loops for edge in loop.edges)),
        ),
    )
}
