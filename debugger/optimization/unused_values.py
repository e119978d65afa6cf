"""Values that a loop carries, collects or computes, and that nothing uses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ...runtime.graph import BackEdge, Loop, System, Value, bodies, captured_values, values_read_in_graph
from ..rewriting.editable_model import EditableIr, EditableOnnx
from ..rewriting.rewrite import Rewrite
from .ir_loop import IrLoop
from .model_facts import FREE_OPERATORS, ModelFacts
from .onnx_loop import OnnxLoop


def find_unused_values(facts: ModelFacts, loop: Loop) -> list[Rewrite]:
    """Carried values that nothing reads, or that never change; unused scan outputs, and unused results of nodes."""
    rewrites = []
    unread = _unread_edges(facts, loop)
    unused = [scan for scan in loop.scan_outputs if scan.outer not in facts.values_read]
    if unread:
        what = f"{_names_with_verb(edge.param for edge in unread)} carried, and nothing that is used depends on it"
        rewrites.append(
            facts.rewrite(
                "unread-carried", loop, what, lambda model: _loop_editor(model, loop).remove_values(unread, unused)
            )
        )
    elif unused:
        what = f"scan output {_names_with_verb(scan.outer for scan in unused)} collected, and nothing reads it"
        rewrites.append(
            facts.rewrite(
                "unused-scan-output", loop, what, lambda model: _loop_editor(model, loop).remove_values((), unused)
            )
        )
    rewrites += [
        facts.rewrite(
            "unchanged-carried",
            loop,
            f"'{edge.param.name}' is carried from iteration to iteration unchanged",
            partial(_replace_by_initial_value, loop, edge),
        )
        for edge in loop.back_edges
        if isinstance(edge.initial, Value) and facts.producers.skip_identities(edge.result) is edge.param
    ]
    read = values_read_in_graph(loop.body)
    dead = [node for node in loop.body.nodes if not any(value in read for value in node.outputs)]
    dead = [node for node in dead if node.op_type not in FREE_OPERATORS and facts.is_deterministic(node)]
    if dead and loop.system is System.ONNX:
        names = ", ".join(f"'{node.name}'" for node in dead)
        rewrites.append(
            facts.rewrite(
                "unused-result",
                loop,
                f"nothing reads what {names} compute{'s' if len(dead) == 1 else ''}",
                lambda model: OnnxLoop(model, loop).remove_unused_nodes(),
                tuple(node.name for node in dead),
            )
        )
    return rewrites


def _names_with_verb(values: Iterable[Value]) -> str:
    names = [f"'{value.name}'" for value in values]
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _loop_editor(model: EditableOnnx | EditableIr, loop: Loop) -> OnnxLoop | IrLoop:
    """The edits of a loop in an opened file of either format."""
    return IrLoop(model, loop) if isinstance(model, EditableIr) else OnnxLoop(model, loop)


def _replace_by_initial_value(loop: Loop, edge: BackEdge, model: EditableOnnx | EditableIr) -> None:
    _loop_editor(model, loop).replace_by_initial_value(edge)


def _unread_edges(facts: ModelFacts, loop: Loop) -> list[BackEdge]:
    """The back edges whose last value nothing reads, and on whose parameter no used result depends."""
    used_lasts = [last for last in loop.last_values if last.outer in facts.values_read]
    needed = [last.result for last in used_lasts]
    needed += [scan.result for scan in loop.scan_outputs if scan.outer in facts.values_read]
    needed += [scan.valid for scan in loop.scan_outputs if scan.valid is not None]
    needed += [value for value in (loop.condition, loop.ignored_condition) if value is not None]
    live = values_needed(loop, needed)
    used_edges = {id(loop.back_edge_for(last)) for last in used_lasts}
    return [edge for edge in loop.back_edges if edge.param not in live and id(edge) not in used_edges]


def values_needed(loop: Loop, results: Iterable[Value]) -> set[Value]:
    """The values of a body on which results depend, over all iterations."""
    producers = {value: node for node in loop.body.nodes for value in node.outputs if value is not None}
    carried = {edge.param: edge.result for edge in loop.back_edges}
    live: set[Value] = set()
    pending = list(results)
    while pending:
        value = pending.pop()
        if value in live:
            continue
        live.add(value)
        if value in carried:
            pending.append(carried[value])
        node = producers.get(value)
        if node is not None:
            pending += [source for source in node.inputs if source is not None]
            pending += [source for _, body in bodies(node) for source in captured_values(body)]
    return live
