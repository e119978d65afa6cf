"""Control flow that decides nothing: conditions that are always true, branches never taken, loops of one iteration."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import onnx.helper

from ...runtime.graph import Graph, If, Loop, System, Value, bodies
from ..rewriting.editable_model import EditableOnnx
from ..rewriting.rewrite import Rewrite
from .model_facts import FREE_OPERATORS, ModelFacts
from .onnx_loop import OnnxLoop, OnnxNode
from .unused_values import values_needed

#: The iterations of a loop that is unrolled.
MAX_UNROLLED = 4


def find_constant_control(facts: ModelFacts, loop: Loop) -> list[Rewrite]:
    """A condition of a loop that is always true, and a constant number of iterations of at most ``MAX_UNROLLED``."""
    if loop.system is not System.ONNX or loop.op_type != "Loop" or not facts.runs_all_iterations(loop):
        return []
    rewrites = []
    nodes = _condition_only_nodes(facts, loop)
    if nodes:
        role = "is ignored" if loop.condition is None else "is always true"
        what = f"its condition {role}, and is computed by {', '.join(nodes)} in every iteration"
        rewrites.append(
            facts.rewrite(
                "constant-condition", loop, what, lambda model: _return_given_condition(OnnxLoop(model, loop)), nodes
            )
        )
    count = facts.producers.constant_integer(loop.trip_count)
    if count is not None and 1 <= count <= MAX_UNROLLED:
        kind = "single-iteration" if count == 1 else "unroll"
        what = f"it always runs {'one iteration' if count == 1 else f'{count} iterations'}"
        rewrites.append(facts.rewrite(kind, loop, what, lambda model: _unroll(OnnxLoop(model, loop), count)))
    return rewrites


def find_constant_ifs(facts: ModelFacts) -> list[Rewrite]:
    """Ifs of which one branch is never taken."""
    rewrites = []
    for node, loop in _ifs_with_enclosing_loop(facts.graph, None):
        taken = facts.proven_truth(node.inputs[0], loop)
        if taken is not None and facts.graph.system is System.ONNX:
            rewrites.append(
                facts.rewrite(
                    "constant-if",
                    loop,
                    f"the condition of If '{node.name}' is always {str(taken).lower()}",
                    partial(_inline_branch, node, taken),
                    (node.name,),
                )
            )
    return rewrites


def _ifs_with_enclosing_loop(graph: Graph, loop: Loop | None) -> Iterator[tuple[If, Loop | None]]:
    """All Ifs, each with the innermost loop around it."""
    for node in graph.nodes:
        if isinstance(node, If):
            yield node, loop
        for _, inner in bodies(node):
            yield from _ifs_with_enclosing_loop(inner, node if isinstance(node, Loop) else loop)


def _condition_only_nodes(facts: ModelFacts, loop: Loop) -> tuple[str, ...]:
    """The nodes of a body that only compute its condition; none where that takes no time."""
    condition = loop.condition or loop.ignored_condition
    if condition is None:
        return ()
    results: list[Value] = [edge.result for edge in loop.back_edges] + [scan.result for scan in loop.scan_outputs]
    others = values_needed(loop, results)
    if loop.condition is None and loop.condition_input in others:
        return ()  # the body sees what is ignored
    needed = values_needed(loop, [condition])
    constants = set(loop.body.constants)
    nodes = []
    for node in loop.body.nodes:
        if all(value in constants or value.constant is not None for value in node.inputs if value is not None):
            constants.update(value for value in node.outputs if value is not None)
        elif (
            node.op_type not in FREE_OPERATORS
            and needed.intersection(node.outputs)
            and not others.intersection(node.outputs)
        ):
            nodes.append(node.name)
    return tuple(nodes)


def _return_given_condition(message: OnnxLoop) -> None:
    """Return the body's condition as it was given: true in every iteration that runs."""
    body = message.body
    name = message.fresh_name(f"{body.input[1].name}_passed")
    body.node.append(onnx.helper.make_node("Identity", [body.input[1].name], [name], name=name))
    body.output[0].name = name
    message.remove_unused_nodes()


def _unroll(message: OnnxLoop, count: int) -> None:
    """Replace a loop by copies of its body."""
    message.require_opset(13)
    body = message.body
    states = [message.initial(k) for k in range(message.states)]
    true = message.constant(np.asarray(True), "true")
    collected: list[list[str]] = [[] for _ in range(len(body.output) - 1 - message.states)]
    for iteration in range(count):
        names = {body.input[0].name: message.constant(np.asarray(iteration, np.int64)), body.input[1].name: true}
        names.update((info.name, state) for info, state in zip(body.input[2:], states, strict=True))
        results = message.inline(body, names)[1:]
        states = results[: message.states]
        for parts, result in zip(collected, results[message.states :], strict=True):
            parts.append(result)
    for k, state in enumerate(states):
        if message.output(k):
            message.emit("Identity", [state], message.output(k))
    for k, parts in enumerate(collected, message.states):
        if message.output(k):
            axes = message.constant([0])
            rows = [message.emit("Unsqueeze", [part, axes]) for part in parts]
            message.emit("Concat", rows, message.output(k), axis=0)
    message.remove()


def _inline_branch(node: If, taken: bool, model: EditableOnnx) -> None:
    """Replace an If by the branch that is always taken."""
    message = OnnxNode(model, node)
    name = "then_branch" if taken else "else_branch"
    branch = next(attribute.g for attribute in message.node.attribute if attribute.name == name)
    outputs = list(message.node.output)
    for result, output in zip(message.inline(branch, {}), outputs, strict=False):
        if output:
            message.emit("Identity", [result], output)
    message.remove()
