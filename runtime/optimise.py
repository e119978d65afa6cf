"""Graph -> Graph: the same loops with less work in each iteration, for runs that nobody looks into.

Three things are done; what is read stays as it was, a new graph shares with it what did not change:

* **Invariants**: a node of a body that depends on nothing which the loop changes is computed once, before the loop.
* **Blocks**: a product with weights whose rows depend on sliced inputs and the iteration number alone (``X[i] @ W``) is
  computed for a block of iterations at once, together with the cheap nodes that lead to it and follow it. A recurrent
  cell of OpenVINO is cut in two for that.
* **Weights**: the other products with constant weights may keep these in a layout of their own.

The loops stay the same in number and order, and so do their iterations and why they end. What fails here fails
somewhere in the plain graph as well, or not at all (a node that is computed though its loop runs no iteration): so a
run that fails is repeated on the plain graph (``model.py``), which decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .ahead import Finder, iteration_of, resolved
from .dependence import made_in, uses
from .graph import Graph, If, Loop, Node, Operation, System, Value
from .ops.registry import ResolvedOperation, resolve
from .ops.weights import is_large, is_weighted, on_weights

_RANDOM = ("random", "bernoulli", "multinomial", "dropout")


def optimise(graph: Graph) -> Graph | None:
    """A graph that gives the same as ``graph`` within rounding, in less time; None where there is nothing to gain.

    Every operator of ``graph`` can be resolved.
    """
    optimiser = _Optimiser(graph.system)
    nodes = optimiser.nodes(graph.nodes, False)
    return replace(graph, nodes=nodes) if optimiser.changed else None


@dataclass
class _Optimiser:
    system: System
    changed: bool = False

    def nodes(self, nodes: Sequence[Node], in_loop: bool) -> list[Node]:
        """The nodes of a graph, the graphs inside them first."""
        made: list[Node] = []
        for node in nodes:
            if isinstance(node, Loop):
                made.extend(self._loop(node))
            elif isinstance(node, If):
                then, other = (
                    replace(branch, nodes=self.nodes(branch.nodes, in_loop))
                    for branch in (node.then_branch, node.else_branch)
                )
                if in_loop:
                    self._weigh(then.nodes)
                    self._weigh(other.nodes)
                made.append(replace(node, then_branch=then, else_branch=other))
            else:
                made.append(node)
        return made

    def _loop(self, loop: Loop) -> list[Node]:
        """The loop, after what was taken out of it."""
        body = replace(loop.body, nodes=self.nodes(loop.body.nodes, True))
        loop = replace(loop, body=body)
        before, body.nodes = self._invariants(loop)
        self.changed = self.changed or not _only_constants(before)
        finder = Finder(loop, self.system)
        if finder.found():
            loop = _with_blocks(finder)
            self.changed = True
        self._weigh(loop.body.nodes)
        return [*before, loop]

    def _may_move(self, node: Node) -> bool:
        """It gives the same wherever and how often it is computed."""
        if not isinstance(node, Operation) or node.op_type.lower().startswith(_RANDOM):
            return False
        op = resolve(node, self.system)
        return op.pure and not getattr(op, "random", False)

    def _invariants(self, loop: Loop) -> tuple[list[Node], list[Node]]:
        """The body's nodes that go before the loop, and the others."""
        outside = {invariant.inner: invariant.outer for invariant in loop.invariants}
        varying = set(made_in(loop)) - outside.keys()
        before: list[Node] = []
        rest: list[Node] = []
        for node in loop.body.nodes:
            if self._may_move(node) and not any(value in varying for value in node.inputs):
                inputs = [None if value is None else outside.get(value, value) for value in node.inputs]
                before.append(node if inputs == node.inputs else replace(node, inputs=inputs))
            else:
                rest.append(node)
                varying.update(value for value in node.outputs if value is not None)
        return before, rest

    def _weigh(self, nodes: list[Node]) -> None:
        """Let products keep weights in panels that only the binder knows to be constant; plans do so with others."""
        for k, node in enumerate(nodes):
            if not isinstance(node, Operation) or isinstance(node, ResolvedOperation):
                continue
            if is_weighted(node, self.system) and _may_have_weights(node):
                op = resolve(node, self.system)
                if op.native:
                    nodes[k] = resolved(node, on_weights(op, known_only=True))
                    self.changed = True


def _only_constants(nodes: Sequence[Node]) -> bool:
    """All that they make follows from constants: that costs nothing in a loop either."""
    known: set[Value | None] = {None}
    for node in nodes:
        if all(value in known or (value is not None and value.constant is not None) for value in node.inputs):
            known.update(node.outputs)
        else:
            return False
    return True


def _with_blocks(finder: Finder) -> Loop:
    """The loop with a node for each chain."""
    loop = finder.loop
    number = iteration_of(loop)
    inputs = loop.body.inputs if number is loop.iteration else [*loop.body.inputs, number]
    made = {chain.nodes[-1]: finder.node(chain, number) for chain in finder.chains}
    nodes: list[Node] = []
    for node in loop.body.nodes:
        halves = finder.halves.get(node)
        nodes += [made.get(part, part) for part in (halves if halves and halves[0] in made else [node])]
    loop = replace(loop, iteration=number, body=replace(loop.body, inputs=inputs, nodes=nodes))
    touched = {node for chain in finder.chains for node in chain.nodes}
    touched.update(finder.made[s.inner] for chain in finder.chains for s in chain.sources if s.sliced is None)
    _drop_unused(loop, touched)
    return loop


def _may_have_weights(node: Node) -> bool:
    """What it multiplies with is no constant here, but may follow from some."""
    weights = [value for value in node.inputs[1:] if value is not None]
    known = [value.constant for value in weights if value.constant is not None]
    return len(known) < len(weights) and not any(is_large(constant) for constant in known)


def _drop_unused(loop: Loop, candidates: set[Node]) -> None:
    """Remove those of the candidates from a new body whose outputs nothing uses any more."""
    body = loop.body
    while True:
        used = uses(loop)
        kept = [n for n in body.nodes if n not in candidates or any(used[v] for v in n.outputs if v is not None)]
        if len(kept) == len(body.nodes):
            return
        body.nodes = kept
