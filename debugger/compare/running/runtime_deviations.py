"""Ways in which runtimes and frameworks depart from a model as a whole: each is a change of the model's graph.

A rule is reported only if our engine, run with the change, gives the numbers of the other side.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ....runtime.errors import InterruptError, LoopdbgError
from ....runtime.frontends.recurrent import expand_recurrent_operators, layer_function
from ....runtime.graph import BackEdge, Graph, Loop, Node, Operation, System, TensorType, Value, walk_graphs
from ....runtime.ops.registry import ResolvedOperation, ResolvedOperator
from ..report.findings import Comparison, Demonstration, DivergenceReason
from .graph_rewriting import rewritten_copy

#: Attributes of recurrent operators in which frameworks differ or that runtimes ignore, and their defaults.
_DEFAULTS: dict[str, Any] = {
    **{"activations": None, "activation_alpha": None, "activation_beta": None, "activations_alpha": None},
    **{"activations_beta": None, "clip": None, "input_forget": 0, "layout": 0},
}
#: The input with the lengths of the sequences.
_LENGTHS_INPUT = {"LSTMSequence": 3, "GRUSequence": 2, "RNNSequence": 2}
_ONNX_LENGTHS_INPUT = 4

_Change = Callable[[Operation], list[Node]]


@dataclass(frozen=True)
class Deviation:
    """One way to depart from a model. ``rule``: its label in docs/check.md; ``text``: what the other side does, as the
    predicate of a sentence; ``apply``: makes the changed graph."""

    rule: str
    text: str
    apply: Callable[[], Graph]


@dataclass(frozen=True)
class FoundDeviation:
    """A deviation that gives the numbers of the other side."""

    reason: DivergenceReason
    demonstration: Demonstration

    def record_in(self, comparison: Comparison) -> None:
        """Make it the cause of a comparison's differences."""
        comparison.demonstration = self.demonstration
        comparison.reasons.append(self.reason)


def find_deviation(
    graph: Graph, other: str, agrees: Callable[[Graph], tuple[bool, bool]], more: Iterable[Deviation] = ()
) -> FoundDeviation | None:
    """Find the deviation that makes a model give what the other side gives.

    Args:
        graph: the graph of a model whose numbers differ from those of the other side.
        other: the label of the other side.
        agrees: runs a changed graph; whether it agrees with the other side within the tolerance, and bit for bit.
        more: deviations that are tried first.

    Returns:
        The first such deviation; None if there is none.

    Raises:
        InterruptError: Ctrl-C.
    """
    reruns = 0
    for deviation in (*more, *deviations(graph)):
        try:
            changed = deviation.apply()
            reruns += 1
            is_same, is_identical = agrees(changed)
        except InterruptError:
            raise
        except LoopdbgError:  # the changed model is invalid, or does not run
            continue
        if is_same:
            exactness = ", bit for bit" if is_identical else ""
            text = f"loopdbg gives the numbers of {other}{exactness}, if it {deviation.text}"
            reason = DivergenceReason(deviation.rule, f"{other} {deviation.text}.")
            return FoundDeviation(reason, Demonstration("rule", text, reruns, bit_identical=is_identical))
    return None


def deviations(graph: Graph) -> Iterator[Deviation]:
    """The deviations that may apply to a model."""
    if graph.is_over_requests:
        yield from _variable_reset_deviations(graph)
    by_subject: dict[tuple[str, str], Deviation] = {}
    for operator in _recurrent_operators(graph):
        for subject, rule, text, change in _operator_changes(operator, graph.system):
            apply = partial(_copy_with_changed_operators, graph, operator.op_type, change)
            deviation = Deviation(rule, text, apply)
            by_subject.setdefault((operator.op_type, subject), deviation)
    yield from by_subject.values()


def _operator_changes(operator: Operation, system: System) -> Iterator[tuple[str, str, str, _Change]]:
    """Changes of a recurrent operator: the subject, the rule, the text, and a function that makes the change."""
    title = f"{operator.op_type} '{operator.name}'"
    position = _LENGTHS_INPUT.get(operator.op_type) if system is System.OPENVINO else _ONNX_LENGTHS_INPUT
    if position is not None and len(operator.inputs) > position and operator.inputs[position] is not None:
        yield "lengths", "B81", f"ignores the sequence lengths of {title}", partial(_with_full_lengths, position)
    if operator.op_type.startswith("GRU"):
        name = "linear_before_reset"
        old = int(operator.attributes.get(name, 0))
        text = f"computes {title} with {name}={1 - old}, not {old}"
        yield name, "B82", text, partial(_with_attribute, name, 1 - old)
    for name, default in _DEFAULTS.items():
        value = operator.attributes.get(name, default)
        if value != default:
            yield name, "B82", f"ignores {name} of {title}", partial(_with_attribute, name, default)
    if str(operator.attributes.get("direction", "forward")).lower() == "reverse":
        text = f"computes {title} forward, not in reverse"
        yield "direction", "B82", text, partial(_with_attribute, "direction", "forward")


def _with_full_lengths(position: int, operator: Operation) -> list[Node]:
    lengths = operator.inputs[position]
    assert lengths is not None
    full = Value(f"{lengths.name}_full", lengths.type)
    axis = 0 if position == _ONNX_LENGTHS_INPUT and not operator.attributes.get("layout") else 1
    node = ResolvedOperation(
        name=f"{operator.name}/FullLengths",
        op_type="FullLengths",
        domain="",
        version=1,
        inputs=[operator.inputs[0], lengths],
        outputs=[full],
        op=ResolvedOperator(lambda p, x, lengths: np.full_like(lengths, x.shape[axis]), {}, native=False),
    )
    new = copy.copy(operator)
    new.inputs = [full if k == position else value for k, value in enumerate(operator.inputs)]
    return [node, new]


def _with_attribute(name: str, value: Any, operator: Operation) -> list[Node]:
    new = copy.copy(operator)
    new.attributes = {key: item for key, item in operator.attributes.items() if key != name}
    if value is not None:
        new.attributes[name] = value
    return [new]


# -- changed recurrent operators


def _is_recurrent(operator: Operation, system: System) -> bool:
    return layer_function(system, operator.domain, operator.op_type, operator.version) is not None


def _recurrent_operators(graph: Graph) -> Iterator[Operation]:
    for part in walk_graphs(graph):
        operators = dict.fromkeys(part.expanded_from.values())
        yield from (operator for operator in operators if _is_recurrent(operator, graph.system))


def _copy_with_changed_operators(graph: Graph, op_type: str, change: _Change) -> Graph:
    """A copy of a graph in which the operators of a type are changed, and all recurrent ones expanded again."""
    collapsed: set[Node] = set()

    def collapse(part: Graph, node: Node, copied: Node) -> list[Node]:
        operator = part.expanded_from.get(copied)
        if operator is None or not _is_recurrent(operator, graph.system):
            return [copied]
        del part.expanded_from[copied]
        if operator in collapsed:
            return []
        collapsed.add(operator)
        return change(operator) if operator.op_type == op_type else [copy.copy(operator)]

    new = rewritten_copy(graph, collapse)
    expand_recurrent_operators(new)
    return new


# -- variables


def _variable_reset_deviations(graph: Graph) -> Iterator[Deviation]:
    """Requests that begin with the initial values of variables of dynamic shape."""
    (loop,) = (node for node in graph.nodes if isinstance(node, Loop))
    edges = {edge.initial: edge for edge in loop.back_edges}
    declared = [variable for variable in graph.variables if variable.state in edges]
    lost = [variable for variable in declared if has_dynamic_shape(edges[variable.state].param)]
    if lost:
        names = " and ".join(f"'{variable.name}'" for variable in lost)
        text = f"keeps nothing of what requests assign to {names}, of dynamic shape: each begins with the initial value"
        dropped = [edges[value] for variable in lost for value in variable.inputs if value in edges]
        yield Deviation("B80", text, partial(_without_back_edges, graph, loop, dropped))


def has_dynamic_shape(value: Value) -> bool:
    """Whether the declared shape of a value is not fixed."""
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    return shape is None or not all(isinstance(dim, int) for dim in shape)


def _without_back_edges(graph: Graph, loop: Loop, dropped: list[BackEdge]) -> Graph:
    """A copy of a graph whose loop carries the initial values of these edges from iteration to iteration."""
    edges = {edge: replace(edge, result=edge.param) if edge in dropped else edge for edge in loop.back_edges}
    changed = copy.copy(loop)
    changed.back_edges = list(edges.values())
    changed.last_values = [
        last if last.edge is None else replace(last, edge=edges[last.edge]) for last in loop.last_values
    ]
    changed.body = copy.copy(loop.body)
    changed.body.outputs = [*loop.body.outputs, *(edge.param for edge in dropped)]
    new = copy.copy(graph)
    new.nodes = [changed if node is loop else node for node in graph.nodes]
    return new
