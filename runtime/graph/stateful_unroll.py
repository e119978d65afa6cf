"""Several runs of a model as one loop: what the model keeps from run to run is what the loop carries.

An iteration is a run (OpenVINO: an infer request). An input that is cut gives each run its part, another one is the
same in all of them; an output is collected, or it is that of the last run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..errors import UsageError
from .loop_graph import (
    BackEdge,
    Graph,
    Invariant,
    LastValueOutput,
    Loop,
    ScanOutput,
    SlicedInput,
    TensorType,
    Value,
    ValueType,
    Variable,
)

#: The name of the loop, and of the dimension that counts its runs.
REQUESTS_NAME = "requests"


def unroll_stacked_requests(graph: Graph) -> Graph:
    """A model's runs as one loop, where each input and each output has one more axis in front, that of the runs.

    Raises:
        UsageError: it keeps nothing from run to run, it has no input, or one that is no tensor.
    """
    if not graph.variables:
        raise UsageError("the model keeps no variable from request to request: each is a run of its own")
    nothing = Value("")
    cut = SlicedInput(nothing, nothing, 0, drop_axis=True)
    kept = {value for variable in graph.variables for value in variable.inputs}
    given = [value.name for value in graph.inputs if value not in kept]
    stacked = {name: ScanOutput(nothing, nothing) for name, _ in _model_outputs(graph)}
    return unroll_requests(graph, dict.fromkeys(given, cut), stacked)


def unroll_requests(graph: Graph, cut: Mapping[str, SlicedInput], joined: Mapping[str, ScanOutput]) -> Graph:
    """A model's runs as one loop, as many as the cut inputs have parts.

    ``cut``: how inputs are cut, by name; ``joined``: how outputs are collected. Of both, only the numbers count.

    Raises:
        UsageError: nothing is cut, or what is cut is no tensor.
    """
    if not cut:
        raise UsageError("the model has no input that differs from request to request: nothing says how many there are")
    body = replace(graph, name=REQUESTS_NAME, variables=[], defaults={}, aliases={}, notes=[])
    loop = Loop(
        name=REQUESTS_NAME,
        op_type="TensorIterator",
        domain="opset1",
        version=1,
        inputs=[],
        outputs=[],
        body=body,
        system=graph.system,
        counted_by_slices=True,
        derived_from=f"the runs of {graph.name}, one after the other",
    )
    outer = Graph(
        graph.name, system=graph.system, nodes=[loop], opsets=graph.opsets, notes=graph.notes, aliases=graph.aliases
    )
    outside = {value: Value(value.name, _outer_input_type(value, cut.get(value.name))) for value in graph.inputs}
    outer.inputs = list(outside.values())
    loop.inputs = [*outer.inputs]
    outer.defaults = graph.defaults
    kept = {value for variable in graph.variables for value in variable.inputs}
    for value, source in outside.items():
        if value.name in cut:
            loop.sliced_inputs.append(replace(cut[value.name], outer=source, inner=value))
        elif value not in kept:
            loop.invariants.append(Invariant(source, value))
    for name, value in _model_outputs(graph):
        join = joined.get(name)
        made = Value(name, value.type if join is None else _combined_type(value.type, join.axis, join.stack))
        if name in joined:
            loop.scan_outputs.append(replace(joined[name], result=value, outer=made))
        else:
            loop.last_values.append(LastValueOutput(value, made))
        _add_output(outer, loop, made, name)
    for variable in graph.variables:
        outer.variables.append(_carry_variable(loop, outer, outside, variable))
    return outer


def _model_outputs(graph: Graph) -> list[tuple[str, Value]]:
    """What a model gives, without its variables, which stand behind."""
    count = len(graph.outputs) - sum(variable.assigned is not None for variable in graph.variables)
    names = graph.output_names or [value.name for value in graph.outputs]
    return list(zip(names, graph.outputs, strict=True))[:count]


def _outer_input_type(value: Value, cut: SlicedInput | None) -> ValueType:
    """The type of an input of all runs."""
    if cut is None:
        return value.type
    if not isinstance(value.type, TensorType):
        raise UsageError(f"input '{value.name}' is {value.type}, and only tensors have a part for each request")
    return _combined_type(value.type, cut.axis, cut.drop_axis)


def _combined_type(part: ValueType, axis: int, stack: bool) -> ValueType:
    """The type of the parts of all runs: on an axis of their own, or along one that they have."""
    if not isinstance(part, TensorType) or part.shape is None:
        return TensorType(part.dtype if isinstance(part, TensorType) else None)
    dims = list(part.shape)
    if stack:
        dims.insert(axis, REQUESTS_NAME)
    else:
        dims[axis] = None
    return TensorType(part.dtype, tuple(dims))


def _add_output(outer: Graph, loop: Loop, made: Value, name: str) -> None:
    loop.outputs.append(made)
    outer.outputs.append(made)
    outer.output_names.append(name)


def _carry_variable(loop: Loop, outer: Graph, outside: Mapping[Value, Value], variable: Variable) -> Variable:
    """Let a loop carry a variable; returns what it is outside."""
    sources = [outside[value] for value in variable.inputs]
    found = Variable(variable.name, *sources)
    found.initial = variable.initial
    if variable.assigned is None:
        loop.invariants += map(Invariant, sources, variable.inputs)
        return found
    results = [variable.assigned]
    if variable.known is not None:
        results.append(Value("assigned", TensorType(np.dtype(np.bool_), ()), np.array(True)))
        loop.body.constants = [*loop.body.constants, results[1]]
        loop.body.outputs = [*loop.body.outputs, results[1]]
        loop.body.output_names = [*loop.body.output_names, f"{variable.name} is known (assigned)"]
    edges = [BackEdge(*one) for one in zip(sources, variable.inputs, results, strict=True)]
    loop.back_edges += edges
    found.assigned = Value(variable.output_name, variable.state.type)
    loop.last_values.append(LastValueOutput(variable.assigned, found.assigned, edges[0]))
    _add_output(outer, loop, found.assigned, found.assigned.name)
    return found
