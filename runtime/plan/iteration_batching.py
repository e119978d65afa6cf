"""Batched hoisting: computes values that depend only on sliced inputs and the iteration number for many iterations.

A product whose rows are known before the loop runs (``X[i] @ W``) reads its weights once per batch of iterations. Every
node remains in the plan and gives identical bits: the summation order in ``packed_weights.h`` does not depend on the
number of rows. :func:`hoisted_nodes` returns the batched form of such products. OpenVINO's recurrent cells are split
into the input projection and the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

import numpy as np

from ..graph import Array, Loop, Node, Operation, SlicedInput, System, TensorType, Value
from ..graph.dependence import body_parameters
from ..graph.slicing import normalize_axis, slice_parts
from ..ops.primitive_types import NoNativeKernel, View
from ..ops.registry import ResolvedOperation, ResolvedOperator, resolve
from ..ops.weight_packing import PackedProductPrimitives, is_packable, is_packing_worthwhile, use_packed_products
from ..record import record
from .batched_primitives import BatchedRows
from .trip_count_analysis import has_known_trip_count


def _parse_op_types(text: str) -> frozenset[str]:
    """Operator types of both systems, in lower case."""
    return frozenset(text.split())


#: Operators on rows of an iteration that are cheap compared to a product, and whose elements do not depend on the row
#: count.
_ROWWISE_EXACT = _parse_op_types(
    "abs add cast clamp clip convert div divide flatten gather identity mul multiply neg negative relu reshape squeeze"
    " sub subtract transpose unsqueeze"
)
#: Operators between the iteration number and a Gather; conversions only to wide enough types.
_RESHAPES = _parse_op_types("identity squeeze unsqueeze reshape")
_CONVERSIONS = {"cast": ("to", (6, 7)), "convert": ("destination_type", ("i32", "i64"))}
_PRODUCTS = _parse_op_types("matmul gemm")
_CELLS = _parse_op_types("lstmcell grucell rnncell")


def is_builtin(node: Node, system: System) -> bool:
    """A node without control flow with a standard operator of the system."""
    return isinstance(node, Operation) and (system is not System.ONNX or node.domain in ("", "ai.onnx"))


def iteration_value(loop: Loop) -> Value:
    """The iteration number of a loop, or a new value for it."""
    return loop.iteration or Value(f"{loop.name}_iteration", TensorType(np.dtype(np.int64), ()))


def hoisted_nodes(loop: Loop, system: System, number: Value) -> dict[Node, ResolvedOperation]:
    """Nodes of a loop's body with batched forms, which are valid while no value in the loop is edited.

    ``number``: the result of :func:`iteration_value`.
    """
    finder = HoistableFinder(loop, system)
    batched_nodes: dict[Node, ResolvedOperation] = {}
    if finder.find_chains():
        cells = {parts[0]: (cell, parts[1]) for cell, parts in finder.cell_halves.items()}
        for chain in finder.chains:
            last = chain.nodes[-1]
            batch = finder.node(chain, number)
            if last in cells:
                cell, rest = cells[last]
                op = ResolvedOperator(partial(_run_cell, batch.op, len(batch.inputs), rest.op), {})
                batched_nodes[cell] = with_operator(cell, op, [*batch.inputs, *cell.inputs[1:]])
            else:
                batched_nodes[last] = batch
    return batched_nodes


def _run_cell(batch: ResolvedOperator, count: int, rest: ResolvedOperator, p: Any, *inputs: Any) -> tuple[Any, ...]:
    """Run a cell with a batched input projection; ``count``: number of inputs of the batch."""
    return rest.apply(p, [*batch.apply(p, inputs[:count]), *inputs[count:]])


def with_operator(node: Node, op: ResolvedOperator, inputs: list[Value | None] | None = None) -> ResolvedOperation:
    """``node`` with another operator and other inputs."""
    inputs = node.inputs if inputs is None else inputs
    header = (node.name, node.op_type, node.domain, node.version)
    return ResolvedOperation(*header, inputs, node.outputs, op=op, source=node.source)


@record
class RowSource:
    """Rows of an outer tensor, one per iteration. ``index``: the iteration number as the index of a Gather."""

    outer: Value
    inner: Value
    sliced: SlicedInput | None = None
    axis: int = 0
    index: Value | None = None

    def view(self, index: Any, describe: Callable[[], str]) -> View:
        """The view of the outer tensor as rows; only the shape of ``index`` is used."""
        if self.sliced is not None:
            return partial(slice_parts, sliced=self.sliced, describe=describe)
        return partial(_gathered_rows, axis=self.axis, ndim=index.ndim)


def _gathered_rows(x: Array, axis: int, ndim: int) -> Array:
    axis = normalize_axis(axis, x.ndim)
    rows = np.moveaxis(x, axis, 0)
    return np.expand_dims(rows, tuple(range(axis + 1, axis + 1 + ndim)))


@record
class HoistedChain:
    """Nodes that are computed together for a batch of iterations; the last output is the result."""

    nodes: list[Node]
    sources: list[RowSource]


@record
class HoistableFinder:
    """Finds the products of a loop's body that can be batched over iterations with identical results, each with its
    preceding nodes."""

    loop: Loop
    system: System
    chains: list[HoistedChain] = field(default_factory=list)

    def __post_init__(self) -> None:
        loop = self.loop
        self.producers: dict[Value, Node] = {
            value: node for node in loop.body.nodes for value in node.outputs if value is not None
        }
        self.outer = {invariant.inner: invariant.outer for invariant in loop.invariants}
        self.inside = (set(body_parameters(loop)) - self.outer.keys()) | self.producers.keys()
        self.sources = {sliced.inner: RowSource(sliced.outer, sliced.inner, sliced) for sliced in loop.sliced_inputs}
        self.numbers: set[Value] = set() if loop.iteration is None else {loop.iteration}
        self.rows: set[Value] = set(self.sources)
        #: Cell -> input projection and rest.
        self.cell_halves: dict[Node, list[ResolvedOperation]] = {}

    def find_chains(self) -> bool:
        """Find the chains; True if there are any."""
        if any(edge.param is self.loop.iteration for edge in self.loop.back_edges):
            return False  # the iteration number is a carried value
        products: list[Node] = []
        for node in self.loop.body.nodes:
            if not is_builtin(node, self.system):
                continue
            if node.is_custom_operator:
                continue
            op_type = node.op_type.lower()
            if op_type in _CELLS and self.system is System.OPENVINO:
                products += self._split_cell(node)
                continue
            if len(node.outputs) != 1 or node.outputs[0] is None:
                continue
            out = node.outputs[0]
            if self._is_iteration_number(node, op_type):
                self.numbers.add(out)
            elif (source := self._gathered_row_source(node, out)) is not None:
                self.sources[out] = source
                self.rows.add(out)
            elif self._computes_rows(node, op_type):
                if op_type in _PRODUCTS:
                    products.append(node)
                else:
                    self.rows.add(out)
        self.chains = [chain for chain in map(self._product_chain, products) if chain is not None]
        return bool(self.chains)

    def _resolved_operator(self, node: Node) -> ResolvedOperator:
        assert isinstance(node, Operation)
        return resolve(node, self.system)

    def _any_defined_inside(self, values: Iterable[Value | None]) -> bool:
        return not self.inside.isdisjoint(values)

    def _split_cell(self, cell: Node) -> list[ResolvedOperation]:
        """Split a cell with a known input; return its input projection, or nothing."""
        from ..ops.openvino_recurrent_cells import STATE_COUNTS, cell_from_products, project_cell_input

        states = STATE_COUNTS[cell.op_type.lower()]
        weights = cell.inputs[1 + states :]
        if len(weights) < 2 or self._any_defined_inside(weights):
            return []
        x = cell.inputs[0]
        if x not in self.rows:
            return []
        op = self._resolved_operator(cell)
        out = Value(f"{cell.name}_input")
        projection = replace(op, function=partial(project_cell_input, op.function, states))
        product = with_operator(replace(cell, outputs=[out]), projection, [x, *weights])
        rest = use_packed_products(replace(op, function=partial(cell_from_products, op.function, states)))
        self.cell_halves[cell] = [product, with_operator(cell, rest, [out, *cell.inputs[1:]])]
        self.producers[out] = product
        return [product]

    def _is_iteration_number(self, node: Node, op_type: str) -> bool:
        """Does a node return the iteration number, in any shape?"""
        if not node.inputs or node.inputs[0] not in self.numbers or self._any_defined_inside(node.inputs[1:]):
            return False
        if op_type in _CONVERSIONS and isinstance(node, Operation):
            attribute, types = _CONVERSIONS[op_type]
            return node.attributes.get(attribute) in types
        return op_type in _RESHAPES

    def _gathered_row_source(self, node: Node, out: Value) -> RowSource | None:
        """The source if ``node`` gathers row i of an outer tensor."""
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
        return RowSource(data, out, axis=int(np.reshape(axis, ())), index=index)

    def _computes_rows(self, node: Node, op_type: str) -> bool:
        """Does a node compute rows from rows and loop-invariant values?"""
        if self.rows.isdisjoint(node.inputs):
            return False
        if self._any_defined_inside(value for value in node.inputs if value not in self.rows):
            return False
        if op_type in _PRODUCTS:
            if node.inputs[0] not in self.rows or any(value in self.rows for value in node.inputs[1:]):
                return False
        elif op_type not in _ROWWISE_EXACT:
            return False
        op = self._resolved_operator(node)
        return op.native and op.pure

    def _product_chain(self, product: Node) -> HoistedChain | None:
        """The product with its preceding nodes; None if its weights are small or unknown."""
        weights = self._constant_weights(product)
        if weights is None or not is_packing_worthwhile(weights):
            return None
        nodes: dict[Node, None] = {}
        sources: dict[Value, RowSource] = {}
        self._collect_chain(product, nodes, sources)
        return HoistedChain(list(nodes), list(sources.values()))

    def _collect_chain(self, node: Node, nodes: dict[Node, None], sources: dict[Value, RowSource]) -> None:
        stack: list[tuple[Node, bool]] = [(node, False)]
        while stack:
            node, is_visited = stack.pop()
            if is_visited:
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
                    stack.append((self.producers[value], False))

    def _constant_weights(self, product: Node) -> Array | None:
        """The constant weights of a product, if any."""
        weights = product.inputs[1]
        return None if weights is None else self.outer.get(weights, weights).constant

    def node(self, chain: HoistedChain, number: Value) -> ResolvedOperation:
        """The batched node of a chain. ``number``: the iteration number."""
        loop, last = self.loop, chain.nodes[-1]
        steps = [(self._resolved_operator(node), tuple(node.inputs), node.outputs[0]) for node in chain.nodes]
        rows = {source.inner for source in chain.sources} | {out for _, _, out in steps}
        others = list(dict.fromkeys(v for _, inputs, _ in steps for v in inputs if v is not None and v not in rows))
        batch = BatchOperator(
            [source.inner for source in chain.sources],
            others,
            steps,
            chain.sources,
            not has_known_trip_count(loop),
            last.describe,
        )
        tensors = [source.outer for source in chain.sources]
        indices = [source.index for source in chain.sources]
        return with_operator(last, ResolvedOperator(batch, {}), [number, loop.trip_count, *tensors, *indices, *others])


@record
class BatchOperator:
    """The operator of a chain: ``(iteration, trip count, sources, their indices, others) -> last output``."""

    inner: list[Value]
    others: list[Value]
    steps: list[tuple[ResolvedOperator, tuple[Value | None, ...], Value | None]]
    sources: list[RowSource]
    conditional: bool
    describe: Callable[[], str]

    def __call__(self, p: Any, number: Any, trips: Any, *tensors: Any) -> Any:
        count = len(self.sources)
        outer, indices, others = tensors[:count], tensors[count : 2 * count], tensors[2 * count :]
        views = [
            (x, source.view(index, self.describe))
            for x, source, index in zip(outer, self.sources, indices, strict=True)
        ]
        return p.run_hoisted_step(self.step, number, trips, views, others, self.conditional)

    def step(self, p: Any, parts: Sequence[Any], others: Sequence[Any]) -> Any:
        """Compute one iteration, or the rows of many."""
        p = _RowExactProducts(p)
        values: dict[Value | None, Any] = {None: None}
        values.update(zip(self.inner, parts, strict=True))
        values.update(zip(self.others, others, strict=True))
        result = None
        for op, inputs, out in self.steps:
            result = values[out] = op.apply(p, [values[value] for value in inputs])[0]
        return result


class _RowExactProducts(PackedProductPrimitives):
    """Primitives whose products do not depend on the row count."""

    def matmul(self, a: Any, b: Any) -> Any:
        return self.matmul_accumulate(None, a, b)

    def matmul_accumulate(self, start: Any, a: Any, b: Any) -> Any:
        if b.known is None or not is_packable(a.batch if isinstance(a, BatchedRows) else a, b):
            raise NoNativeKernel
        return self._p.packed_matmul(a, b, start)
