"""Batched hoisting: what depends only on sliced inputs and the iteration number, computed for a batch of iterations.

A product with weights whose rows are known before the loop runs (``X[i] @ W``) reads its weights once for many
iterations, not once for each. Every node stays in the plan and gives the same bits as alone: the order of a sum in
``panels.h`` does not depend on the number of rows. :func:`hoisted` gives the batched form of such products.

For this a recurrent cell of OpenVINO is split in two: the product of its input, and the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np

from ..graph import Array, Loop, Node, Operation, SlicedInput, System, TensorType, Value
from ..graph.dependence import made_in
from ..graph.slices import cut, from_start
from ..ops.primitives import NotNative, View
from ..ops.registry import Op, ResolvedOperation, resolve
from ..ops.weights import Weighted, fits, is_large, on_weights
from ..record import record
from .batch import Rows
from .trips import runs_to_its_count


def _words(text: str) -> frozenset[str]:
    """Operators' types, in lower case: both systems' words."""
    return frozenset(text.split())


#: Operators that make something of one iteration's rows, are cheap beside a product, and give each element the same
#: however many there are.
_EXACT = _words(
    "abs add cast clamp clip convert div divide flatten gather identity mul multiply neg negative relu reshape squeeze"
    " sub subtract transpose unsqueeze"
)
#: What an iteration number goes through on its way to a Gather; conversions only to types that can hold it.
_RESHAPES = _words("identity squeeze unsqueeze reshape")
_CONVERSIONS = {"cast": ("to", (6, 7)), "convert": ("destination_type", ("i32", "i64"))}
_PRODUCTS = _words("matmul gemm")
_CELLS = _words("lstmcell grucell rnncell")


def is_ours(node: Node, system: System) -> bool:
    """A node without control flow whose operator is one of the system's own."""
    return isinstance(node, Operation) and (system is not System.ONNX or node.domain in ("", "ai.onnx"))


def iteration_of(loop: Loop) -> Value:
    """The number of the iteration: the loop's own, or a new value."""
    return loop.iteration or Value(f"{loop.name}_iteration", TensorType(np.dtype(np.int64), ()))


def hoisted(loop: Loop, system: System, number: Value) -> dict[Node, ResolvedOperation]:
    """Nodes of a loop's body, each with a batched form that is valid as long as nothing in the loop is changed by hand.

    ``number``: what :func:`iteration_of` gave.
    """
    finder = Finder(loop, system)
    made: dict[Node, ResolvedOperation] = {}
    if finder.found():
        cells = {halves[0]: (cell, halves[1]) for cell, halves in finder.halves.items()}
        for chain in finder.chains:
            last = chain.nodes[-1]
            batch = finder.node(chain, number)
            if last in cells:
                cell, rest = cells[last]
                op = Op(partial(_both_halves, batch.op, len(batch.inputs), rest.op), {})
                made[cell] = resolved(cell, op, [*batch.inputs, *cell.inputs[1:]])
            else:
                made[last] = batch
    return made


def _both_halves(batch: Op, count: int, rest: Op, p: Any, *inputs: Any) -> tuple[Any, ...]:
    """A cell whose input's product comes out of a batch; ``count``: how many inputs the batch has."""
    return rest.apply(p, [*batch.apply(p, inputs[:count]), *inputs[count:]])


def resolved(node: Node, op: Op, inputs: list[Value | None] | None = None) -> ResolvedOperation:
    """``node`` with another operator, and other inputs."""
    inputs = node.inputs if inputs is None else inputs
    header = (node.name, node.op_type, node.domain, node.version)
    return ResolvedOperation(*header, inputs, node.outputs, op=op, source=node.source)


@record
class Source:
    """Rows of a tensor outside, one an iteration. ``index``: the iteration number as a Gather gets it."""

    outer: Value
    inner: Value
    sliced: SlicedInput | None = None
    axis: int = 0
    index: Value | None = None

    def view(self, index: Any, where: str) -> View:
        """The view of the outer tensor as rows; ``index``: the number's description, for its shape."""
        if self.sliced is not None:
            return partial(cut, sliced=self.sliced, where=where)
        return partial(_gathered, axis=self.axis, ndim=index.ndim)


def _gathered(x: Array, axis: int, ndim: int) -> Array:
    axis = from_start(axis, x.ndim)
    rows = np.moveaxis(x, axis, 0)
    return np.expand_dims(rows, tuple(range(axis + 1, axis + 1 + ndim)))


@record
class Chain:
    """Nodes that are computed together for a batch of iterations; the output of the last one is the result."""

    nodes: list[Node]
    sources: list[Source]


@record
class Finder:
    """The products of one loop's body that can be computed for many iterations at once, each with the nodes before it;
    only such that give the same as alone."""

    loop: Loop
    system: System
    chains: list[Chain] = field(default_factory=list)

    def __post_init__(self) -> None:
        loop = self.loop
        self.made: dict[Value, Node] = {
            value: node for node in loop.body.nodes for value in node.outputs if value is not None
        }
        self.outer = {invariant.inner: invariant.outer for invariant in loop.invariants}
        self.inside = (set(made_in(loop)) - self.outer.keys()) | self.made.keys()
        self.sources = {sliced.inner: Source(sliced.outer, sliced.inner, sliced) for sliced in loop.sliced_inputs}
        self.numbers: set[Value] = set() if loop.iteration is None else {loop.iteration}
        self.rows: set[Value] = set(self.sources)
        #: Cell -> its two halves.
        self.halves: dict[Node, list[ResolvedOperation]] = {}

    def found(self) -> bool:
        """Find the chains."""
        if any(edge.param is self.loop.iteration for edge in self.loop.back_edges):
            return False  # what counts as the iteration number there is a carried value
        products: list[Node] = []
        for node in self.loop.body.nodes:
            if not is_ours(node, self.system):
                continue
            if node.foreign:
                continue
            word = node.op_type.lower()
            if word in _CELLS and self.system is System.OPENVINO:
                products += self._halves(node)
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
                if word in _PRODUCTS:
                    products.append(node)
                else:
                    self.rows.add(out)
        self.chains = [chain for chain in map(self._chain, products) if chain is not None]
        return bool(self.chains)

    def _op(self, node: Node) -> Op:
        assert isinstance(node, Operation)
        return resolve(node, self.system)

    def _inside(self, values: Iterable[Value | None]) -> bool:
        return any(value in self.inside for value in values if value is not None)

    def _halves(self, cell: Node) -> list[ResolvedOperation]:
        """The product of a cell's input where that is known beforehand; the cell itself is to use it."""
        from ..ops.recurrent_openvino import STATES, input_half, state_half

        states = STATES[cell.op_type.lower()]
        weights = cell.inputs[1 + states :]
        if len(weights) < 2 or self._inside(weights):
            return []
        x = cell.inputs[0]
        if x not in self.rows:
            return []
        op = self._op(cell)
        out = Value(f"{cell.name}_input")
        half = replace(op, function=partial(input_half, op.function, states))
        product = resolved(replace(cell, outputs=[out]), half, [x, *weights])
        rest = on_weights(replace(op, function=partial(state_half, op.function, states)))
        self.halves[cell] = [product, resolved(cell, rest, [out, *cell.inputs[1:]])]
        self.made[out] = product
        return [product]

    def _is_number(self, node: Node, word: str) -> bool:
        """It gives the iteration number, in whatever shape."""
        if not node.inputs or node.inputs[0] not in self.numbers or self._inside(node.inputs[1:]):
            return False
        if word in _CONVERSIONS and isinstance(node, Operation):
            attribute, types = _CONVERSIONS[word]
            return node.attributes.get(attribute) in types
        return word in _RESHAPES

    def _gather(self, node: Node, out: Value) -> Source | None:
        """The source that ``node`` is where it takes row i out of a tensor outside."""
        if node.op_type.lower() != "gather" or len(node.inputs) < 2 or node.inputs[1] not in self.numbers:
            return None
        data, index = node.inputs[:2]
        assert isinstance(node, Operation)
        axis: Any = node.attributes.get("axis", 0)
        if self.system is System.OPENVINO:
            if str(node.attributes.get("batch_dims", "0")) != "0" or len(node.inputs) < 3 or node.inputs[2] is None:
                return None
            axis = node.inputs[2].constant
            if axis is None or axis.size != 1:
                return None
        if data is None or data in self.inside:
            return None
        return Source(data, out, axis=int(np.reshape(axis, ())), index=index)

    def _is_row(self, node: Node, word: str) -> bool:
        """It makes one iteration's rows of such rows and of what is the same in all iterations."""
        if not any(value in self.rows for value in node.inputs):
            return False
        if self._inside(value for value in node.inputs if value not in self.rows):
            return False
        if word in _PRODUCTS:
            if node.inputs[0] not in self.rows or any(value in self.rows for value in node.inputs[1:]):
                return False
        elif word not in _EXACT:
            return False
        op = self._op(node)
        return op.native and op.pure

    def _chain(self, product: Node) -> Chain | None:
        """The product with what leads to it; None where its weights are few, or not known."""
        weights = self._weights(product)
        if weights is None or not is_large(weights):
            return None
        nodes: dict[Node, None] = {}
        sources: dict[Value, Source] = {}
        self._collect(product, nodes, sources)
        return Chain(list(nodes), list(sources.values()))

    def _collect(self, node: Node, nodes: dict[Node, None], sources: dict[Value, Source]) -> None:
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

    def _weights(self, product: Node) -> Array | None:
        """What a product multiplies with, where that is constant."""
        weights = product.inputs[1]
        return None if weights is None else self.outer.get(weights, weights).constant

    def node(self, chain: Chain, number: Value) -> ResolvedOperation:
        """A node that does what a chain does. ``number``: the iteration's."""
        loop, last = self.loop, chain.nodes[-1]
        steps = [(self._op(node), tuple(node.inputs), node.outputs[0]) for node in chain.nodes]
        rows = {source.inner for source in chain.sources} | {out for _, _, out in steps}
        others = list(dict.fromkeys(v for _, inputs, _ in steps for v in inputs if v is not None and v not in rows))
        batch = Batch(
            [source.inner for source in chain.sources],
            others,
            steps,
            chain.sources,
            not runs_to_its_count(loop),
            last.describe(),
        )
        tensors = [source.outer for source in chain.sources]
        indices = [source.index for source in chain.sources]
        return resolved(last, Op(batch, {}), [number, loop.trip_count, *tensors, *indices, *others])


@record
class Batch:
    """The operator of a chain: ``(iteration, trip count, sources, their indices, others) -> last output``."""

    inner: list[Value]
    others: list[Value]
    steps: list[tuple[Op, tuple[Value | None, ...], Value | None]]
    sources: list[Source]
    conditional: bool
    where: str

    def __call__(self, p: Any, number: Any, trips: Any, *tensors: Any) -> Any:
        count = len(self.sources)
        outer, indices, others = tensors[:count], tensors[count : 2 * count], tensors[2 * count :]
        views = [
            (x, source.view(index, self.where)) for x, source, index in zip(outer, self.sources, indices, strict=True)
        ]
        return p.hoisted(self.step, number, trips, views, others, self.conditional)

    def step(self, p: Any, parts: Sequence[Any], others: Sequence[Any]) -> Any:
        """One iteration, or the rows of many."""
        p = _Exactly(p)
        known: dict[Value | None, Any] = {None: None}
        known.update(zip(self.inner, parts, strict=True))
        known.update(zip(self.others, others, strict=True))
        result = None
        for op, inputs, out in self.steps:
            result = known[out] = op.apply(p, [known[value] for value in inputs])[0]
        return result


class _Exactly(Weighted):
    """Primitives whose products give the same for many rows as for one."""

    def matmul(self, a: Any, b: Any) -> Any:
        return self.matmul_from(None, a, b)

    def matmul_from(self, start: Any, a: Any, b: Any) -> Any:
        if b.known is None or not fits(a.all if isinstance(a, Rows) else a, b):
            raise NotNative
        return self._p.weighted(a, b, start)
