"""The optimizations of the engine, each of which can be switched off with bitwise equal results.

Only the panels define the order of sums: without them results have other bits.
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
from loopdbg.runtime.ops import weight_packing
from loopdbg.runtime.ops.primitive_types import NoNativeKernel, RoutineCall
from loopdbg.runtime.plan.binding_result import DynamicExtentBuffer
from loopdbg.runtime.plan.plan import Instruction, Plan, compile_graph

Context = AbstractContextManager[Any]
#: Whether the optimization had an effect in the runs of a model that was loaded in the context.
WasUseful = Callable[[Model], bool]

_FUSION = "loopdbg.runtime.plan.fusion"
_VARYING = "loopdbg.runtime.engine.optimized.shape_ranges.range_bindings"
_VIEWS = "loopdbg.runtime.engine.optimized.copy_elision.copy_elision"
_CALL = "loopdbg.runtime.plan.call_emitter.CallEmitter.call"


@dataclass(frozen=True)
class OptimizationSwitch:
    """``off``: a context in which loaded models and new engines lack the optimization; ``observed``: a context that
    keeps it and tells whether it had an effect."""

    name: str
    disabled: Callable[[], Context]
    observed: Callable[[], AbstractContextManager[WasUseful]]


# -- optimizations in the plan


@contextmanager
def _patched_plans(change: Callable[[Plan], object]) -> Iterator[None]:
    """Patch the plans of models."""

    def patched(graph: Graph) -> Plan:
        plan = compile_graph(graph)
        change(plan)
        return plan

    with patch.object(models, "compile_graph", patched):
        yield


def _instruction_switch(name: str, used: Callable[[Instruction], bool], **without: Any) -> OptimizationSwitch:
    """A field of instructions; ``without``: its values without the optimization."""

    def change(plan: Plan) -> None:
        for instruction in plan.code:
            for field, value in without.items():
                setattr(instruction, field, value)

    return OptimizationSwitch(
        name, lambda: _patched_plans(change), _usefulness_from_model(lambda model: any(map(used, model.plan.code)))
    )


def _disable_native_sequences(plan: Plan) -> None:
    for instruction in plan.code:
        if instruction.op is not None:
            instruction.op = replace(instruction.op, sequences=False)


def _uses_native_sequences(model: Model) -> bool:
    return any(i.op is not None and i.op.sequences and "equence" in i.node.op_type for i in model.plan.code if i.node)


def _disable_edge_swaps(plan: Plan) -> None:
    for loop in plan.loops:
        for edge in loop.edges:
            edge.swap = False


# -- optimizations in the engine


@contextmanager
def _patched_engines(**knobs: Any) -> Iterator[None]:
    """Patch settings of the engines of models."""
    borrow = Model._acquire_engine

    def patched(model: Model) -> Engine:
        engine = borrow(model)
        for name, value in knobs.items():
            setattr(engine.optimizer, name, value)
        return engine

    with patch.object(Model, "_acquire_engine", patched):
        yield


def _usefulness_from_model(ask: WasUseful) -> Callable[[], AbstractContextManager[WasUseful]]:
    """Ask the model itself."""

    @contextmanager
    def watched() -> Iterator[WasUseful]:
        yield ask

    return watched


def _usefulness_from_engine(ask: Callable[[Engine], Any]) -> Callable[[], AbstractContextManager[WasUseful]]:
    return _usefulness_from_model(lambda model: model._engine is not None and bool(ask(model._engine)))


# -- functions that search for a pattern


def _pattern_switch(name: str, target: str, nothing: Callable[[], Any]) -> OptimizationSwitch:
    """A function that searches for a pattern; ``nothing``: its result if there is none."""
    return OptimizationSwitch(
        name,
        lambda: patch(target, lambda *_: nothing()),
        _usefulness_from_calls(target, lambda result, _: bool(result)),
    )


def _no_match() -> None:
    """Result of a search without a match."""


def _usefulness_from_calls(
    target: str, counts: Callable[[Any, Any], bool]
) -> Callable[[], AbstractContextManager[WasUseful]]:
    """Whether some call had a result that counts; ``counts`` receives the result and the arguments."""

    @contextmanager
    def watched() -> Iterator[WasUseful]:
        answers: set[bool] = set()
        original = pkgutil.resolve_name(target)

        def spy(*arguments: Any, **keywords: Any) -> Any:
            result = original(*arguments, **keywords)
            answers.add(counts(result, arguments))
            return result

        with patch(target, spy):
            yield lambda model: True in answers

    return watched


def _routine_switch(
    name: str, field: str, without: Callable[[Callable[[], Any]], Any], counts: Any
) -> OptimizationSwitch:
    """Routines that have a field are called in another way."""
    original = pkgutil.resolve_name(_CALL)

    def other(p: Any, routine: RoutineCall, inputs: Any) -> Any:
        if not getattr(routine, field):
            return original(p, routine, inputs)
        return without(lambda: original(p, replace(routine, **{field: ()}), inputs))

    return OptimizationSwitch(name, lambda: patch(_CALL, other), _usefulness_from_calls(_CALL, counts))


def _is_data_dependent(results: Any, _: Any) -> bool:
    return any(isinstance(result, DynamicExtentBuffer) for result in results)


def _raise_no_native_kernel(call: Callable[[], Any]) -> Any:
    raise NoNativeKernel


def _uses_packed_weights(model: Model) -> bool:
    return any(
        getattr(i.op and i.op.function, "func", None) is weight_packing._apply_with_packed_products
        for i in model.plan.code
    )


def _all_slots(plan: Plan) -> set[int]:
    return set(range(len(plan.slots)))


SWITCHES = {
    switch.name: switch
    for switch in (
        OptimizationSwitch(
            "scalar programs",
            lambda: _patched_engines(hot_after=-1),
            _usefulness_from_engine(lambda engine: engine.optimizer.program_runs),
        ),
        OptimizationSwitch(
            "panels",
            lambda: patch.object(weight_packing, "WEIGHTED_OPERATORS", frozenset()),
            _usefulness_from_model(_uses_packed_weights),
        ),
        _instruction_switch("batched hoisting", lambda i: i.hoisted is not None, hoisted=None),
        _instruction_switch("invariants", lambda i: i.once >= 0, once=-1),
        _pattern_switch("fusion", f"{_FUSION}.groups.plan_groups", list),
        _pattern_switch("quantized chains", f"{_FUSION}.quantized_chains.plan_chains", list),
        OptimizationSwitch(
            "copy elision",
            lambda: patch(f"{_VIEWS}.externally_used_slots", _all_slots),
            _usefulness_from_engine(lambda engine: engine.optimizer.copy_elision.elided_positions),
        ),
        OptimizationSwitch(
            "aliases",
            lambda: patch(f"{_VIEWS}.is_contiguous", lambda _: False),
            _usefulness_from_engine(lambda engine: engine.optimizer.copy_elision.aliased),
        ),
        _pattern_switch("ranges of shapes", f"{_VARYING}.infer_symbolic_extents", _no_match),
        OptimizationSwitch(
            "appends in place",
            lambda: patch("loopdbg.runtime.plan.shape_range_binding.find_end_copy", lambda *_: None),
            _usefulness_from_calls(
                "loopdbg.runtime.plan.shape_range_binding.find_end_copy", lambda match, _: match is not None
            ),
        ),
        _pattern_switch("capacity for more", f"{_VARYING}.in_place_append_edges", dict),
        _routine_switch("data-dependent shapes", "growing_axes", _raise_no_native_kernel, _is_data_dependent),
        OptimizationSwitch(
            "bytes in 32 bits",
            lambda: patch("loopdbg.runtime.ops.matmul.int32_product", lambda *_: None),
            _usefulness_from_calls("loopdbg.runtime.ops.matmul.int32_product", lambda match, _: match is not None),
        ),
        OptimizationSwitch(
            "shared sequences",
            lambda: _patched_plans(_disable_native_sequences),
            _usefulness_from_model(_uses_native_sequences),
        ),
        OptimizationSwitch(
            "buffers exchanged",
            lambda: _patched_plans(_disable_edge_swaps),
            _usefulness_from_model(lambda model: any(edge.swap for loop in model.plan.loops for edge in loop.edges)),
        ),
    )
}
