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

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from . import batch, bind
from .graph import Array, Graph, If, Loop, Node, Operation, SlicedInput, System, TensorType, Value, bodies, walk
from .ops.eager import Eager
from .ops.primitives import View
from .ops.recurrent_openvino import STATES, input_half, state_half
from .ops.registry import Op, ResolvedOperation, resolve
from .plan import can_change
from .slices import cut


def _words(text: str) -> frozenset[str]:
    """Operators' types, in lower case: both systems' words."""
    return frozenset(text.split())


#: Operators that make something of one iteration's rows and are cheap beside a product.
_CHEAP = _words(
    "abs add cast clamp clip convert div divide elu exp flatten gather gelu hardsigmoid identity leakyrelu log mul"
    " multiply neg negative prelu relu reshape sigmoid softplus sqrt squeeze sub subtract swish tanh transpose"
    " unsqueeze"
)
#: What an iteration number goes through on its way to a Gather; conversions only to types that can hold it.
_RESHAPES = _words("identity squeeze unsqueeze reshape")
_CONVERSIONS = {"cast": ("to", (6, 7)), "convert": ("destination_type", ("i32", "i64"))}
_PRODUCTS = _words("matmul gemm")
#: What may follow a product in its block: of its size, and next to nothing beside it.
_FOLLOWERS = _words("add sub subtract mul multiply")
#: Operators with products inside whose weights are mostly constants.
_WEIGHTED = _words("matmul gemm lstmcell grucell rnncell lstm gru rnn lstmsequence grusequence rnnsequence")
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
        blocks = _Blocks(loop, self)
        if blocks.found():
            loop = blocks.apply()
            self.changed = True
        self._weigh(loop.body.nodes)
        return [*before, loop]

    def is_ours(self, node: Node) -> bool:
        """A node without control flow whose operator is one of the system's own."""
        return isinstance(node, Operation) and (self.system is not System.ONNX or node.domain in ("", "ai.onnx"))

    def op(self, node: Node) -> Op:
        """The operator of a node."""
        assert isinstance(node, Operation)
        return resolve(node, self.system)

    def _may_move(self, node: Node) -> bool:
        """It gives the same wherever and how often it is computed."""
        if not isinstance(node, Operation) or node.op_type.lower().startswith(_RANDOM):
            return False
        op = self.op(node)
        return op.pure and not getattr(op, "random", False)

    def _invariants(self, loop: Loop) -> tuple[list[Node], list[Node]]:
        """The body's nodes that go before the loop, and the others."""
        outside = {invariant.inner: invariant.outer for invariant in loop.invariants}
        varying = set(_made_in(loop)) - outside.keys()
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
        """Let products keep their weights in a layout of their own."""
        for k, node in enumerate(nodes):
            if not isinstance(node, Operation) or isinstance(node, ResolvedOperation):
                continue
            if node.op_type.lower() not in _WEIGHTED or not self.is_ours(node) or not _may_have_weights(node):
                continue
            op = self.op(node)
            if op.native:
                nodes[k] = _resolved(node, replace(op, function=partial(_on_weighted, op.function)))
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


def _resolved(node: Node, op: Op, inputs: list[Value | None] | None = None) -> ResolvedOperation:
    """``node`` with another operator, and other inputs."""
    inputs = node.inputs if inputs is None else inputs
    return ResolvedOperation(node.name, node.op_type, node.domain, node.version, inputs, node.outputs, op=op)


class _Weighted:
    """Other primitives whose products go by the name of ``weighted``."""

    def __init__(self, p: Any) -> None:
        self._p = p

    def __getattr__(self, name: str) -> Any:
        return getattr(self._p, name)

    def matmul(self, a: Any, b: Any) -> Any:
        return self._p.weighted(a, b)


def _on_weighted(function: Callable[..., Any], p: Any, *inputs: Any, **keywords: Any) -> Any:
    return function(p if isinstance(p, Eager) else _Weighted(p), *inputs, **keywords)


def _made_in(loop: Loop) -> Iterator[Value]:
    """The body's parameters: what it gets anew in every iteration, and invariant inputs."""
    yield from (edge.param for edge in loop.back_edges)
    yield from (sliced.inner for sliced in loop.sliced_inputs)
    yield from (value for value in (loop.iteration, loop.condition_input) if value is not None)
    yield from loop.body.inputs


def _ports(loop: Loop) -> Iterator[Value | None]:
    """What a loop reads around it, and what it takes from its body."""
    yield from (loop.trip_count, loop.initial_condition, loop.condition, loop.ignored_condition)
    for edge in loop.back_edges:
        yield edge.initial if isinstance(edge.initial, Value) else edge.initial.outer
        yield edge.result
    yield from (sliced.outer for sliced in loop.sliced_inputs)
    yield from (invariant.outer for invariant in loop.invariants)
    yield from (last.result for last in loop.last_values)
    yield from (scan.result for scan in loop.scan_outputs)


def _uses(loop: Loop) -> Counter[Value]:
    """How often each value is used in a loop's body, by its ports and in the graphs inside."""
    found: Counter[Value] = Counter(value for value in _ports(loop) if value is not None)
    found.update(loop.body.outputs)
    for node in walk(loop.body):
        found.update({value for value in node.inputs if value is not None})
        if isinstance(node, Loop):
            found.update(value for value in _ports(node) if value is not None)
        for _, inner in bodies(node):
            found.update(inner.outputs)
    return found


# --- Blocks.


@dataclass
class _Source:
    """Rows of a tensor outside, one an iteration. ``index``: the iteration number as a Gather gets it."""

    outer: Value
    inner: Value
    sliced: SlicedInput | None = None
    axis: int = 0
    index: Value | None = None

    def view(self, index: Any, where: str) -> View:
        """How to look at the outer tensor as rows; ``index``: the number's description, for its shape."""
        if self.sliced is not None:
            return partial(cut, sliced=self.sliced, where=where)
        return partial(_gathered, axis=self.axis, ndim=index.ndim)


def _gathered(x: Array, axis: int, ndim: int) -> Array:
    axis = axis + x.ndim if axis < 0 else axis
    rows = np.moveaxis(x, axis, 0)
    return np.expand_dims(rows, tuple(range(axis + 1, axis + 1 + ndim)))


@dataclass
class _Chain:
    """Nodes that are computed together for a block of iterations; the last one's output is what they are for."""

    nodes: list[Node]
    sources: list[_Source]


@dataclass
class _Blocks:
    """The products of one loop's body that can be computed for many iterations at once."""

    loop: Loop
    optimiser: _Optimiser
    chains: list[_Chain] = field(default_factory=list)

    def __post_init__(self) -> None:
        loop = self.loop
        self.uses = _uses(loop)
        self.made: dict[Value, Node] = {
            value: node for node in loop.body.nodes for value in node.outputs if value is not None
        }
        inner = {invariant.inner for invariant in loop.invariants}
        self.inside = (set(_made_in(loop)) - inner) | self.made.keys()
        self.sources = {sliced.inner: _Source(sliced.outer, sliced.inner, sliced) for sliced in loop.sliced_inputs}
        self.numbers: set[Value] = set() if loop.iteration is None else {loop.iteration}
        self.rows: set[Value] = set(self.sources)
        #: Cell -> its two halves.
        self.halves: dict[Node, list[Node]] = {}

    def found(self) -> bool:
        """Find the chains; later products take earlier ones with them."""
        if any(edge.param is self.loop.iteration for edge in self.loop.back_edges):
            return False  # what counts as the iteration number there is a carried value
        products = []
        for node in self.loop.body.nodes:
            if not self.optimiser.is_ours(node) or isinstance(node, ResolvedOperation):
                continue
            word = node.op_type.lower()
            if word in STATES and self.optimiser.system is System.OPENVINO:
                products += self._halves(node, STATES[word])
                continue
            if len(node.outputs) != 1 or node.outputs[0] is None:
                continue
            out = node.outputs[0]
            if self._is_number(node, word):
                self.numbers.add(out)
            elif (source := self._gather(node, out)) is not None:
                self.sources[out] = source
                self.rows.add(out)
            elif self._is_row(node, word):
                self.rows.add(out)
                if word in _PRODUCTS:
                    products.append(node)
        taken: set[Node] = set()
        for node in reversed(products):
            if node not in taken:
                chain = self._chain(node)
                if chain is not None:
                    self.chains.append(chain)
                    taken.update(chain.nodes)
        return bool(self.chains)

    def _inside(self, values: Iterable[Value | None]) -> bool:
        return any(value in self.inside for value in values if value is not None)

    def _halves(self, cell: Node, states: int) -> list[Node]:
        """The product of a cell's input where that is known beforehand; the cell itself is to use it."""
        x, weights = cell.inputs[0], cell.inputs[1 + states :]
        if x not in self.rows or self._inside(weights) or len(weights) < 2:
            return []
        op = self.optimiser.op(cell)
        out = Value(f"{cell.name}_input")
        half = replace(op, function=partial(input_half, op.function, states))
        product = _resolved(replace(cell, outputs=[out]), half, [x, *weights])
        rest = partial(_on_weighted, partial(state_half, op.function, states))
        self.halves[cell] = [product, _resolved(cell, replace(op, function=rest), [out, *cell.inputs[1:]])]
        self.made[out] = product
        self.rows.add(out)
        self.uses[out] = 1
        return [product]

    def _is_number(self, node: Node, word: str) -> bool:
        """It gives the iteration number, in whatever shape."""
        if not node.inputs or node.inputs[0] not in self.numbers or self._inside(node.inputs[1:]):
            return False
        if word in _CONVERSIONS and isinstance(node, Operation):
            attribute, types = _CONVERSIONS[word]
            return node.attributes.get(attribute) in types
        return word in _RESHAPES

    def _gather(self, node: Node, out: Value) -> _Source | None:
        """The source that ``node`` is where it takes row i out of a tensor outside."""
        if node.op_type.lower() != "gather" or len(node.inputs) < 2 or node.inputs[1] not in self.numbers:
            return None
        data, index = node.inputs[:2]
        assert isinstance(node, Operation)
        axis: Any = node.attributes.get("axis", 0)
        if self.optimiser.system is System.OPENVINO:
            if str(node.attributes.get("batch_dims", "0")) != "0" or len(node.inputs) < 3 or node.inputs[2] is None:
                return None
            axis = node.inputs[2].constant
            if axis is None or axis.size != 1:
                return None
        if data is None or data in self.inside:
            return None
        return _Source(data, out, axis=int(np.reshape(axis, ())), index=index)

    def _is_row(self, node: Node, word: str) -> bool:
        """It makes one iteration's rows of such rows and of what is the same in all iterations."""
        if not any(value in self.rows for value in node.inputs):
            return False
        if self._inside(value for value in node.inputs if value not in self.rows):
            return False
        if word in _PRODUCTS:
            if node.inputs[0] not in self.rows or any(value in self.rows for value in node.inputs[1:]):
                return False
        elif word not in _CHEAP:
            return False
        op = self.optimiser.op(node)
        return op.native and op.pure

    def _chain(self, product: Node) -> _Chain | None:
        """The product with what leads to it and, where only the chain needs it, what follows."""
        nodes: dict[Node, None] = {}
        sources: dict[Value, _Source] = {}
        self._collect(product, nodes, sources)
        chain = list(nodes)
        if not any(_is_large(node) for node in chain if _is_product(node)):
            return None
        for node in chain[:-1]:
            if _is_product(node) and self._used_beside(node, nodes):
                return None
        if isinstance(product, ResolvedOperation):
            return _Chain(chain, list(sources.values()))
        while (follower := self._follower(chain[-1])) is not None:
            chain.append(follower)
        return _Chain(chain, list(sources.values()))

    def _collect(self, node: Node, nodes: dict[Node, None], sources: dict[Value, _Source]) -> None:
        stack: list[tuple[Node, bool]] = [(node, False)]
        while stack:
            node, done = stack.pop()
            if done:
                nodes.setdefault(node)
                continue
            if node in nodes:
                continue
            stack.append((node, True))
            for value in node.inputs:
                if value is None:
                    continue
                if value in self.sources:
                    sources[value] = self.sources[value]
                elif value in self.rows:
                    stack.append((self.made[value], False))

    def _used_beside(self, node: Node, nodes: Mapping[Node, None]) -> bool:
        """Something else than the chain uses what ``node`` gives."""
        out = node.outputs[0]
        assert out is not None
        return self.uses[out] != sum(out in user.inputs for user in nodes)

    def _follower(self, node: Node) -> Node | None:
        """The only node that uses ``node``, if it adds or multiplies something that is the same in every iteration."""
        out = node.outputs[0]
        assert out is not None
        if self.uses[out] != 1:
            return None
        user = next((n for n in self.loop.body.nodes if out in n.inputs), None)
        if user is None or user.op_type.lower() not in _FOLLOWERS or not self.optimiser.is_ours(user):
            return None
        if self._inside(value for value in user.inputs if value is not out):
            return None
        return user

    def apply(self) -> Loop:
        """The loop with a node for each chain."""
        loop = self.loop
        number = loop.iteration
        inputs = loop.body.inputs
        if number is None:
            number = Value(f"{loop.name}_iteration", TensorType(np.dtype(np.int64), ()))
            inputs = [*inputs, number]
        made = {chain.nodes[-1]: self._node(chain, number) for chain in self.chains}
        nodes = [
            made.get(part, part)
            for node in loop.body.nodes
            for part in (self.halves[node] if node in self.halves and self.halves[node][0] in made else [node])
        ]
        loop = replace(loop, iteration=number, body=replace(loop.body, inputs=inputs, nodes=nodes))
        touched = {node for chain in self.chains for node in chain.nodes}
        touched.update(self.made[s.inner] for chain in self.chains for s in chain.sources if s.sliced is None)
        _drop_unused(loop, touched)
        return loop

    def _node(self, chain: _Chain, number: Value) -> Node:
        loop, last = self.loop, chain.nodes[-1]
        steps = [(self.optimiser.op(node), tuple(node.inputs), node.outputs[0]) for node in chain.nodes]
        rows = {source.inner for source in chain.sources} | {out for _, _, out in steps}
        others = list(dict.fromkeys(v for _, inputs, _ in steps for v in inputs if v is not None and v not in rows))
        bounded = loop.trip_count is not None or loop.counted_by_slices or loop.fixed_trips is not None
        block = _Block(
            [source.inner for source in chain.sources],
            others,
            steps,
            chain.sources,
            can_change(loop) or not bounded,
            last.describe(),
        )
        tensors = [source.outer for source in chain.sources]
        indices = [source.index for source in chain.sources]
        return _resolved(last, Op(block, {}), [number, loop.trip_count, *tensors, *indices, *others])


def _may_have_weights(node: Node) -> bool:
    """False where what it multiplies with is known to be small."""
    least = bind.PANEL_BYTES[0]
    weights = [value for value in node.inputs[1:] if value is not None]
    return any(value.constant is None or value.constant.nbytes >= least for value in weights)


def _is_product(node: Node) -> bool:
    """A product with weights, its second input; the input half of a cell is one."""
    return node.op_type.lower() in _PRODUCTS or isinstance(node, ResolvedOperation)


def _is_large(product: Node) -> bool:
    """False where the weights are known to be few."""
    weights = product.inputs[1]
    return weights is None or weights.constant is None or weights.constant.size >= batch.LEAST_WEIGHTS


def _drop_unused(loop: Loop, candidates: set[Node]) -> None:
    """Remove those of the candidates from a new body whose outputs nothing uses any more."""
    body = loop.body
    while True:
        uses = _uses(loop)
        kept = [n for n in body.nodes if n not in candidates or any(uses[v] for v in n.outputs if v is not None)]
        if len(kept) == len(body.nodes):
            return
        body.nodes = kept


@dataclass
class _Block:
    """The operator of a chain: ``(iteration, trip count, sources, their indices, others) -> last output``."""

    inner: list[Value]
    others: list[Value]
    steps: list[tuple[Op, tuple[Value | None, ...], Value | None]]
    sources: list[_Source]
    conditional: bool
    where: str

    def __call__(self, p: Any, number: Any, trips: Any, *tensors: Any) -> Any:
        count = len(self.sources)
        outer, indices, others = tensors[:count], tensors[count : 2 * count], tensors[2 * count :]
        views = [
            (x, source.view(index, self.where)) for x, source, index in zip(outer, self.sources, indices, strict=True)
        ]
        return p.blocks(self.step, number, trips, views, others, self.conditional)

    def step(self, p: Any, parts: Sequence[Any], others: Sequence[Any]) -> Any:
        """One iteration, or the rows of many."""
        if not isinstance(p, Eager):
            p = _Weighted(p)
        known: dict[Value | None, Any] = {None: None}
        known.update(zip(self.inner, parts, strict=True))
        known.update(zip(self.others, others, strict=True))
        result = None
        for op, inputs, out in self.steps:
            result = known[out] = op.apply(p, [known[value] for value in inputs])[0]
        return result
