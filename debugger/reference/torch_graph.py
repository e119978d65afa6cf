"""The nodes of an exported program and its inner graphs as tracks without values, with their source lines."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ...runtime.graph.stack_trace import origin_from_stack_trace
from .program_track import ProgramTrack

#: The graphs around a node of the program, from the outermost.
GraphPath = tuple[str, ...]


@dataclass(frozen=True)
class InnerGraph:
    """A graph that a node calls. ``argument``: index of the argument; ``loop``: its values belong to a loop;
    ``initial``: index of the argument with the initial carried values."""

    label: str
    argument: int
    loop: bool = False
    initial: int | None = None


#: Operators with graphs -> graphs to walk and run node by node, in the order of an exporter's body.
CONTROL_OPERATORS = {
    "while_loop": (
        InnerGraph("start", 0),
        InnerGraph("body", 1, loop=True, initial=2),
        InnerGraph("cond", 0, loop=True),
    ),
    "scan": (InnerGraph("body", 0, loop=True, initial=1),),
    "map_impl": (InnerGraph("body", 0, loop=True),),
    "cond": (InnerGraph("true", 1), InnerGraph("false", 2)),
    "wrap_with_set_grad_enabled": (InnerGraph("block", 1),),
}


def control_operator_name(node: Any) -> str:
    """The name of the operator of a node that runs graphs; empty for other nodes."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.HigherOrderOperator):
        return ""
    name = str(node.target.name())
    return name if name in CONTROL_OPERATORS else ""


def walk_nodes(module: Any, path: GraphPath = (), loop: str = "") -> Iterator[tuple[GraphPath, Any, ProgramTrack]]:
    """Yield the nodes with a value, in program order: (graphs around it, node, its track without values)."""
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        for inner in CONTROL_OPERATORS.get(control_operator_name(node), ()):
            graph = getattr(module, node.args[inner.argument].target)
            inner_loop = loop_path(loop, node.name) if inner.loop else loop
            if inner.initial is not None:
                yield from _body_parameter_tracks(
                    graph, len(node.args[inner.initial]), (*path, node.name, inner.label), inner_loop
                )
            yield from walk_nodes(graph, (*path, node.name, inner.label), inner_loop)
        yield path, node, _make_track(node, path, loop)


def carried_positions(module: Any, path: GraphPath = ()) -> dict[GraphPath, dict[str, int]]:
    """For the body of each loop with carried values, by its path: the index of the carried value of a node."""
    positions: dict[GraphPath, dict[str, int]] = {}
    for node in module.graph.nodes:
        for inner in CONTROL_OPERATORS.get(control_operator_name(node), ()):
            graph, inner_path = getattr(module, node.args[inner.argument].target), (*path, node.name, inner.label)
            if inner.initial is not None:
                results = graph.graph.output_node().args[0][: len(node.args[inner.initial])]
                names = [(result.name, k) for k, result in enumerate(results) if isinstance(result, torch.fx.Node)]
                positions[inner_path] = dict(reversed(names))
            positions |= carried_positions(graph, inner_path)
    return positions


def loop_path(outer: str, name: str) -> str:
    """The path of a loop: its node, after those of the outer loops."""
    return f"{outer}/{name}" if outer else name


def _make_track(node: Any, path: GraphPath, loop: str) -> ProgramTrack:
    maker = producing_node(node)
    output = None if maker is node else node.args[1]
    return ProgramTrack(
        "/".join((*path, node.name)),
        {},
        loop,
        operator_name(maker.target),
        maker.name,
        source_location(maker),
        "result",
        optional=True,
        graph=path,
        output=output,
        reads=flattened_arguments(maker),
    )


def producing_node(node: Any) -> Any:
    """The node itself; for an item of several results the node that computes them."""
    is_taken = node.target is operator.getitem and isinstance(node.args[1], int)
    return node.args[0] if is_taken else node


def _body_parameter_tracks(
    graph: Any, carried: int, path: GraphPath, loop: str
) -> Iterator[tuple[GraphPath, Any, ProgramTrack]]:
    """The parameters of a loop body that differ in each iteration."""
    parameters = [node for node in graph.graph.nodes if node.op == "placeholder"]
    for k, parameter in enumerate(parameters[:carried]):
        name = "/".join((*path, parameter.name))
        yield path, parameter, ProgramTrack(name, {}, loop, "", parameter.name, "", "carried", graph=path, position=k)


def operator_name(target: Any) -> str:
    """``aten.mul.Tensor``, ``while_loop``, ``getitem``."""
    if isinstance(target, torch._ops.HigherOrderOperator):
        return str(target.name())
    return str(target) if isinstance(target, torch._ops.OpOverload) else getattr(target, "__name__", str(target))


def is_mutated_in_place(node: Any) -> bool:
    """Whether an operator changes a value in place, so that it differs after the run."""
    return any(getattr(getattr(user.target, "_schema", None), "is_mutable", False) for user in node.users)


def flattened_arguments(node: Any) -> tuple[str, ...]:
    """The arguments of a node, flattened and in order, keywords last."""
    arguments: list[str] = []

    def add(argument: Any) -> None:
        if isinstance(argument, list | tuple):
            for item in argument:
                add(item)
        else:
            arguments.append(f"%{argument.name}" if isinstance(argument, torch.fx.Node) else str(argument))

    add(node.args)
    for name in sorted(node.kwargs):
        add(node.kwargs[name])
    return tuple(arguments)


def source_location(node: Any) -> str:
    """``file:line`` of the innermost frame outside of PyTorch and generated code; empty if unknown."""
    origin = origin_from_stack_trace(node.meta.get("stack_trace") or "")
    return f"{origin.file}:{origin.line}" if origin.file else ""
