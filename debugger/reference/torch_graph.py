"""The nodes of an exported program, of the graphs inside it too, as tracks without values; and their source lines."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ...runtime.graph.stack_trace import origin_from_stack_trace
from .program_track import ProgramTrack

#: The graphs in which a node of the program stands, from the outermost; and where its loops are.
GraphPath = tuple[str, ...]


@dataclass(frozen=True)
class InnerGraph:
    """A graph that a node calls. ``argument``: which argument of the node it is; ``loop``: its values belong to a loop;
    ``initial``: which argument has what the body carries before the first iteration."""

    label: str
    argument: int
    loop: bool = False
    initial: int | None = None


#: Operators that run graphs -> those that this walks and runs node by node, in the order of an exporter's body.
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


def control_operator(node: Any) -> str:
    """The name of the operator of a node that runs graphs; empty for any other."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.HigherOrderOperator):
        return ""
    name = str(node.target.name())
    return name if name in CONTROL_OPERATORS else ""


def walk_nodes(module: Any, path: GraphPath = (), loop: str = "") -> Iterator[tuple[GraphPath, Any, ProgramTrack]]:
    """The nodes with a value, in the order of the program: (graphs around it, node, its track without values)."""
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        for inner in CONTROL_OPERATORS.get(control_operator(node), ()):
            graph = getattr(module, node.args[inner.argument].target)
            there = loop_path(loop, node.name) if inner.loop else loop
            if inner.initial is not None:
                yield from _received_tracks(
                    graph, len(node.args[inner.initial]), (*path, node.name, inner.label), there
                )
            yield from walk_nodes(graph, (*path, node.name, inner.label), there)
        yield path, node, _make_track(node, path, loop)


def carried_positions(module: Any, path: GraphPath = ()) -> dict[GraphPath, dict[str, int]]:
    """Of the body of each loop that carries values, by the graphs around it, which of them its nodes give."""
    found: dict[GraphPath, dict[str, int]] = {}
    for node in module.graph.nodes:
        for inner in CONTROL_OPERATORS.get(control_operator(node), ()):
            graph, there = getattr(module, node.args[inner.argument].target), (*path, node.name, inner.label)
            if inner.initial is not None:
                results = graph.graph.output_node().args[0][: len(node.args[inner.initial])]
                named = [(one.name, k) for k, one in enumerate(results) if isinstance(one, torch.fx.Node)]
                found[there] = dict(reversed(named))
            found |= carried_positions(graph, there)
    return found


def loop_path(outer: str, name: str) -> str:
    """What a loop is called: its node, after those of the loops around it."""
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
        reads=arguments_read(maker),
    )


def producing_node(node: Any) -> Any:
    """The node itself; of one that takes one of several results the node that computes these."""
    is_taken = node.target is operator.getitem and isinstance(node.args[1], int)
    return node.args[0] if is_taken else node


def _received_tracks(
    graph: Any, carried: int, path: GraphPath, loop: str
) -> Iterator[tuple[GraphPath, Any, ProgramTrack]]:
    """What the body of a loop gets that is another thing in each iteration."""
    parameters = [one for one in graph.graph.nodes if one.op == "placeholder"]
    for k, parameter in enumerate(parameters[:carried]):
        name = "/".join((*path, parameter.name))
        yield path, parameter, ProgramTrack(name, {}, loop, "", parameter.name, "", "carried", graph=path, position=k)


def operator_name(target: Any) -> str:
    """``aten.mul.Tensor``, ``while_loop``, ``getitem``."""
    if isinstance(target, torch._ops.HigherOrderOperator):
        return str(target.name())
    return str(target) if isinstance(target, torch._ops.OpOverload) else getattr(target, "__name__", str(target))


def is_mutated(node: Any) -> bool:
    """Whether an operator changes a value in place, so that it is another one behind the run."""
    return any(getattr(getattr(user.target, "_schema", None), "is_mutable", False) for user in node.users)


def arguments_read(node: Any) -> tuple[str, ...]:
    """What a node is given, flat and in order, keywords last."""
    found: list[str] = []

    def add(argument: Any) -> None:
        if isinstance(argument, list | tuple):
            for one in argument:
                add(one)
        else:
            found.append(f"%{argument.name}" if isinstance(argument, torch.fx.Node) else str(argument))

    add(node.args)
    for name in sorted(node.kwargs):
        add(node.kwargs[name])
    return tuple(found)


def source_location(node: Any) -> str:
    """``file:line`` of the innermost frame that is neither PyTorch's own nor made by it; empty where none is known."""
    found = origin_from_stack_trace(node.meta.get("stack_trace") or "")
    return f"{found.file}:{found.line}" if found.file else ""
