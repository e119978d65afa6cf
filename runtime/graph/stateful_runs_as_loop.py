"""Several runs of a stateful model as one loop, which carries the model's variables.

An iteration is a run (OpenVINO: an infer request). A sliced input gives each run its part, other inputs are invariant;
an output is collected, or is that of the last run.
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
    """Unroll a model's runs into one loop; each input and each output gets a leading axis, that of the runs.

    Raises:
        UsageError: the model has no variable, no input, or an input that is not a tensor.
    """
    if not graph.variables:
        raise UsageError("the model keeps no variable from request to request: each is a run of its own")
    no_value = Value("")
    cut = SlicedInput(no_value, no_value, 0, drop_axis=True)
    state_inputs = {value for variable in graph.variables for value in variable.inputs}
    names = [value.name for value in graph.inputs if value not in state_inputs]
    stacked = {name: ScanOutput(no_value, no_value) for name, _ in _model_outputs(graph)}
    return unroll_requests(graph, dict.fromkeys(names, cut), stacked)


def unroll_requests(graph: Graph, cut: Mapping[str, SlicedInput], joined: Mapping[str, ScanOutput]) -> Graph:
    """Unroll a model's runs into one loop; the number of parts of the sliced inputs is the trip count.

    ``cut``: how inputs are sliced, by name; ``joined``: how outputs are collected. The values in both are ignored.

    Raises:
        UsageError: no input is sliced, or a sliced input is not a tensor.
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
    outer_values = {value: Value(value.name, _outer_input_type(value, cut.get(value.name))) for value in graph.inputs}
    outer.inputs = list(outer_values.values())
    loop.inputs = [*outer.inputs]
    outer.defaults = graph.defaults
    state_inputs = {value for variable in graph.variables for value in variable.inputs}
    for value, source in outer_values.items():
        if value.name in cut:
            loop.sliced_inputs.append(replace(cut[value.name], outer=source, inner=value))
        elif value not in state_inputs:
            loop.invariants.append(Invariant(source, value))
    for name, value in _model_outputs(graph):
        join = joined.get(name)
        output = Value(name, value.type if join is None else _combined_type(value.type, join.axis, join.stack))
        if name in joined:
            loop.scan_outputs.append(replace(joined[name], result=value, outer=output))
        else:
            loop.last_values.append(LastValueOutput(value, output))
        _add_output(outer, loop, output, name)
    for variable in graph.variables:
        outer.variables.append(_carry_variable(loop, outer, outer_values, variable))
    return outer


def _model_outputs(graph: Graph) -> list[tuple[str, Value]]:
    """The outputs of a model without its variables, which come last."""
    count = len(graph.outputs) - sum(variable.assigned is not None for variable in graph.variables)
    names = graph.output_names or [value.name for value in graph.outputs]
    return list(zip(names, graph.outputs, strict=True))[:count]


def _outer_input_type(value: Value, cut: SlicedInput | None) -> ValueType:
    """The type of the loop's outer input."""
    if cut is None:
        return value.type
    if not isinstance(value.type, TensorType):
        raise UsageError(
            f"input '{value.name}' is {value.type}, and only tensors have a part for each request",
            name=value.name,
            expected="a tensor",
            got=str(value.type),
        )
    return _combined_type(value.type, cut.axis, cut.drop_axis)


def _combined_type(part: ValueType, axis: int, stack: bool) -> ValueType:
    """The type of the joined parts of all runs: stacked on a new axis, or concatenated along an existing one."""
    if not isinstance(part, TensorType) or part.shape is None:
        return TensorType(part.dtype if isinstance(part, TensorType) else None)
    dims = list(part.shape)
    if stack:
        dims.insert(axis, REQUESTS_NAME)
    else:
        dims[axis] = None
    return TensorType(part.dtype, tuple(dims))


def _add_output(outer: Graph, loop: Loop, output: Value, name: str) -> None:
    loop.outputs.append(output)
    outer.outputs.append(output)
    outer.output_names.append(name)


def _carry_variable(loop: Loop, outer: Graph, outer_values: Mapping[Value, Value], variable: Variable) -> Variable:
    """Make a loop carry a variable; returns the outer graph's variable."""
    sources = [outer_values[value] for value in variable.inputs]
    outer_variable = Variable(variable.name, *sources)
    outer_variable.initial = variable.initial
    if variable.assigned is None:
        loop.invariants += map(Invariant, sources, variable.inputs)
        return outer_variable
    results = [variable.assigned]
    if variable.known is not None:
        results.append(Value("assigned", TensorType(np.dtype(np.bool_), ()), np.array(True)))
        loop.body.constants = [*loop.body.constants, results[1]]
        loop.body.outputs = [*loop.body.outputs, results[1]]
        loop.body.output_names = [*loop.body.output_names, f"{variable.name} is known (assigned)"]
    edges = [BackEdge(*edge) for edge in zip(sources, variable.inputs, results, strict=True)]
    loop.back_edges += edges
    outer_variable.assigned = Value(variable.output_name, variable.state.type)
    loop.last_values.append(LastValueOutput(variable.assigned, outer_variable.assigned, edges[0]))
    _add_output(outer, loop, outer_variable.assigned, outer_variable.assigned.name)
    return outer_variable
