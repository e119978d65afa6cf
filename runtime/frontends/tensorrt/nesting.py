"""Infers the nesting of layers in loops and branches of conditionals from data dependences.

A layer is inside a loop if it depends on a recurrence or an iterator of it and its value has not left through a loop
output. A layer is in the branch of a conditional if only that branch reads it, so that it runs only on demand. Other
layers are in the outermost possible scope.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field

from ...graph.topological_order import topological_order
from ...record import record
from .control_flow import (
    IConditionLayer,
    IIfConditional,
    IIfConditionalInputLayer,
    IIfConditionalOutputLayer,
    IIteratorLayer,
    ILoop,
    ILoopBoundaryLayer,
    ILoopOutputLayer,
    IRecurrenceLayer,
    ITripLimitLayer,
)
from .layer import ILayer, ITensor
from .network import INetworkDefinition

#: An item of a scope: a layer, or a whole loop or conditional.
ScopeItem = ILayer | ILoop | IIfConditional


@record(eq=False)
class NestedScope:
    """A scope that becomes a graph: the main one, the body of a loop, a branch of a conditional."""

    parent: NestedScope | None = None
    owner: ILoop | IIfConditional | None = None
    #: ``body``, ``then``, ``else``.
    role: str = ""
    depth: int = 0
    items: list[ScopeItem] = field(default_factory=list)

    def enclosing_scopes(self) -> Iterator[NestedScope]:
        """This scope and its enclosing scopes, the innermost first."""
        scope: NestedScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


class Nesting:
    """The nesting of a network's layers in loops, and their scopes once they are assigned.

    Raises:
        ModelError: loops are not properly nested.
    """

    def __init__(self, network: INetworkDefinition) -> None:
        self.network = network
        self.main_scope = NestedScope()
        self.readers: dict[ILayer, list[tuple[ILayer, int]]] = {layer: [] for layer in network.layers}
        for layer in network.layers:
            for index, tensor in enumerate(layer._inputs):
                if tensor is not None and tensor._layer is not None:
                    self.readers[tensor._layer].append((layer, index))
        #: Layers that depend on the recurrences and iterators of a loop, up to its outputs.
        self.loop_dependents = {loop: self._find_loop_dependents(loop, ()) for loop in network.loops}
        self.enclosing_loops = self._find_enclosing_loops()
        while self._add_inner_loop_outputs():
            self.enclosing_loops = self._find_enclosing_loops()
        #: All layers inside a loop, including boundary layers of inner loops.
        self.layers_inside = {loop: set(self.loop_dependents[loop]) for loop in network.loops}
        for inner, loops in self.enclosing_loops.items():
            for loop in loops:
                self.layers_inside[loop] |= {*inner.layers, *self.loop_dependents[inner]}
        self._scopes: dict[Hashable, NestedScope] = {}
        self._inner_scopes: dict[tuple[ILoop | IIfConditional, str], NestedScope] = {}

    def assign_scopes(self) -> None:
        """Assign every item to a scope.

        Raises:
            ModelError: a value escapes from a loop or a branch other than by an output.
        """
        network = self.network
        items: list[ScopeItem] = [*network.layers, *network.loops, *network.conditionals]
        for item in items:
            self._assign_scope(item)
        self._check_escaping_values()
        self._fill_scopes()

    # -- nesting of loops

    def _dependents_of_layer(self, layer: ILayer) -> Iterator[tuple[ILayer, int]]:
        """The layers that depend on a layer, with the input that reads it (-1: none)."""
        yield from self.readers[layer]
        if isinstance(layer, ITripLimitLayer):
            yield from ((output, -1) for output in layer.loop.outputs)
        elif isinstance(layer, IConditionLayer | IIfConditionalOutputLayer):
            yield from ((output, -1) for output in layer.conditional.outputs)

    def _find_loop_dependents(self, loop: ILoop, more: Sequence[ILayer]) -> set[ILayer]:
        """All layers that depend on a loop's recurrences and iterators, and on ``more`` layers inside it."""
        dependents: set[ILayer] = set(more)
        stack: list[ILayer] = [*loop.recurrences, *loop.iterators, *more]
        while stack:
            for layer, _ in self._dependents_of_layer(stack.pop()):
                if layer in dependents or (isinstance(layer, ILoopBoundaryLayer) and layer.loop is loop):
                    continue
                dependents.add(layer)
                stack.append(layer)
        return dependents

    def _add_inner_loop_outputs(self) -> bool:
        """Add outputs of inner loops, and their dependents, to the outer loop; returns whether any was added."""
        changed = False
        for inner, loops in self.enclosing_loops.items():
            for loop in loops:
                if not self.loop_dependents[loop].issuperset(inner.outputs):
                    self.loop_dependents[loop] |= self._find_loop_dependents(loop, inner.outputs)
                    changed = True
        return changed

    def _find_enclosing_loops(self) -> dict[ILoop, list[ILoop]]:
        """The loops around each loop, the outermost first."""
        loops = self.network.loops
        enclosing: dict[ILoop, list[ILoop]] = {loop: [] for loop in loops}
        for k, first in enumerate(loops):
            for second in loops[k + 1 :]:
                pair = self._order_nested_loops(first, second)
                if pair is not None:
                    inner, outer = pair
                    enclosing[inner].append(outer)
        for loop, outer_loops in enclosing.items():
            outer_loops.sort(key=lambda outer: len(enclosing[outer]))
            for k, outer in enumerate(outer_loops):
                if set(enclosing[outer]) != set(outer_loops[:k]):
                    raise loop.error(
                        f"it is not cleanly nested: it overlaps with {' and '.join(map(repr, outer_loops))}; a loop "
                        "must be inside another one wholly, or not at all"
                    )
        return enclosing

    def _order_nested_loops(self, a: ILoop, b: ILoop) -> tuple[ILoop, ILoop] | None:
        """The inner and the outer one of two loops; None where neither is inside the other."""
        in_a, in_b = self.loop_dependents[a], self.loop_dependents[b]
        related = not in_a.isdisjoint((*b.layers, *in_b)), not in_b.isdisjoint((*a.layers, *in_a))
        if not any(related):
            return None
        #: Whether ``b`` is inside ``a``, and vice versa.
        signs: Sequence[tuple[bool, bool]] = (
            (not in_a.isdisjoint(b.outputs), not in_b.isdisjoint(a.outputs)),
            (
                not in_a.isdisjoint((*b.limits, *b.iterators, *b.recurrences)),
                not in_b.isdisjoint((*a.limits, *a.iterators, *a.recurrences)),
            ),
        )
        for b_inside, a_inside in signs:
            if b_inside and a_inside:
                raise b.error(
                    f"it is not cleanly nested: each of it and {a} depends on values inside the other; a loop must "
                    "be inside another one wholly, or not at all"
                )
            if b_inside:
                return b, a
            if a_inside:
                return a, b
        # Without outputs, the loop that was added later is regarded as the inner one.
        return b, a

    def innermost_loop(self, item: ScopeItem) -> ILoop | None:
        """The innermost loop that has to contain an item."""
        if isinstance(item, ILoopBoundaryLayer):
            item = item.loop
        if isinstance(item, ILoop):
            return self.enclosing_loops[item][-1] if self.enclosing_loops[item] else None
        layers = item.outputs if isinstance(item, IIfConditional) else [item]
        containing = [loop for loop in self.network.loops if any(layer in self.layers_inside[loop] for layer in layers)]
        containing.sort(key=lambda loop: len(self.enclosing_loops[loop]))
        for k, loop in enumerate(containing):
            if set(self.enclosing_loops[loop]) != set(containing[:k]):
                names = " and of ".join(repr(loop_named) for loop_named in containing)
                raise layers[0].error(f"it depends on values of {names}, and neither loop is inside the other")
        return containing[-1] if containing else None

    # -- assignment of scopes

    def inner_scope(self, owner: ILoop | IIfConditional, role: str) -> NestedScope:
        """The body of a loop, or a branch of a conditional."""
        if (owner, role) not in self._inner_scopes:
            parent = self._scopes[owner]
            self._inner_scopes[owner, role] = NestedScope(parent, owner, role, parent.depth + 1)
        return self._inner_scopes[owner, role]

    def _assign_scope(self, item: ScopeItem) -> None:
        """Assign an item to a scope, after all of its readers."""
        stack: list[ScopeItem] = [item]
        entered: set[ScopeItem] = set()
        while stack:
            top = stack[-1]
            if top in self._scopes:
                stack.pop()
                continue
            pending = [needed for needed in self._prerequisite_items(top) if needed not in self._scopes]
            if pending:
                if top in entered:
                    raise top.error("it is computed from its own output; only a recurrence leads back")
                entered.add(top)
                stack += pending
                continue
            self._scopes[top] = self._choose_scope(top)
            stack.pop()

    def _item_of_layer(self, layer: ILayer) -> ScopeItem:
        """The item of a layer: the loop or conditional of a boundary layer, or the layer itself."""
        if isinstance(layer, ILoopBoundaryLayer):
            return layer.loop
        if isinstance(layer, IConditionLayer | IIfConditionalOutputLayer):
            return layer.conditional
        return layer

    def _prerequisite_items(self, item: ScopeItem) -> list[ScopeItem]:
        """The items whose scopes determine an item's scope."""
        if isinstance(item, ILayer) and self._item_of_layer(item) is not item:
            return [self._item_of_layer(item)]
        needed = [self._item_of_layer(reader) for reader, _ in self._readers_of_item(item)]
        loop = self.innermost_loop(item)
        return needed if loop is None else [*needed, loop]

    def _readers_of_item(self, item: ScopeItem) -> Iterator[tuple[ILayer, int]]:
        """The readers of an item's outputs in its own scope."""
        sources: Sequence[ILayer] = [item] if isinstance(item, ILayer) else item.outputs
        for layer in sources:
            yield from self.readers[layer]

    def reading_scope(self, reader: ILayer, index: int) -> NestedScope:
        """The scope in which a layer's input is read."""
        if isinstance(reader, ILoopBoundaryLayer):
            is_inside = (
                (isinstance(reader, IRecurrenceLayer) and index == 1)
                or (isinstance(reader, ILoopOutputLayer) and index == 0)
                or (isinstance(reader, ITripLimitLayer) and reader.kind.name == "WHILE")
            )
            return self.inner_scope(reader.loop, "body") if is_inside else self._scopes[reader.loop]
        if isinstance(reader, IIfConditionalOutputLayer):
            return self.inner_scope(reader.conditional, "then" if index == 0 else "else")
        return self._scopes[self._item_of_layer(reader)]

    def _choose_scope(self, item: ScopeItem) -> NestedScope:
        if isinstance(item, ILayer) and self._item_of_layer(item) is not item:
            return self._scopes[self._item_of_layer(item)]
        loop = self.innermost_loop(item)
        widest = self.main_scope if loop is None else self.inner_scope(loop, "body")
        reading_scopes = [self.reading_scope(reader, index) for reader, index in self._readers_of_item(item)]
        outputs = item._outputs if isinstance(item, ILayer) else [t for layer in item.outputs for t in layer._outputs]
        if any(tensor in self.network.outputs for tensor in outputs):
            reading_scopes.append(self.main_scope)
        if not reading_scopes:
            return widest
        common = reading_scopes[0]
        for reading_scope in reading_scopes[1:]:
            enclosing = set(common.enclosing_scopes())
            common = next(s for s in reading_scope.enclosing_scopes() if s in enclosing)
        path = list(common.enclosing_scopes())
        if widest not in path:
            return widest
        # Prefer a branch, where it runs only on demand, but not a loop that it does not depend on.
        return next((s for s in path[: path.index(widest)] if isinstance(s.owner, IIfConditional)), widest)

    # -- checks of escaping values

    def _check_escaping_values(self) -> None:
        for tensor in self.network.outputs:
            layer = tensor._layer
            if layer is None:
                continue
            scope = self._producing_scope(layer)
            if scope is not self.main_scope:
                raise layer.error(
                    f"{tensor} is marked as an output of the network, and it is inside {scope.owner}; "
                    + _escape_hint(scope.owner)
                )
        for layer in self.network.layers:
            for index, tensor_read in enumerate(layer._inputs):
                if tensor_read is not None and tensor_read._layer is not None:
                    self._check_read(layer, index, tensor_read, tensor_read._layer)
        for conditional in self.network.conditionals:
            self._check_branches(conditional)

    def _producing_scope(self, layer: ILayer) -> NestedScope:
        """The scope that has a layer's output."""
        if isinstance(layer, IRecurrenceLayer | IIteratorLayer):
            return self.inner_scope(layer.loop, "body")
        return self._scopes[self._item_of_layer(layer)]

    def _check_read(self, reader: ILayer, index: int, tensor: ITensor, source: ILayer) -> None:
        scope = self._producing_scope(source)
        if scope in self.reading_scope(reader, index).enclosing_scopes():
            return
        raise reader.error(f"its input {index}, {tensor}, is inside {scope.owner}; " + _escape_hint(scope.owner))

    def _check_branches(self, conditional: IIfConditional) -> None:
        """Check that every layer that depends on the inputs of a conditional is in one of its branches."""
        branches = {self.inner_scope(conditional, "then"), self.inner_scope(conditional, "else")}
        stack: list[ILayer] = [*conditional.inputs]
        seen = set(stack)
        while stack:
            for layer, _ in self.readers[stack.pop()]:
                item = self._item_of_layer(layer)
                if layer in seen or item is conditional:
                    continue
                seen.add(layer)
                if branches.isdisjoint(self._scopes[item].enclosing_scopes()):
                    if isinstance(layer, IIfConditionalInputLayer):
                        continue
                    raise layer.error(
                        f"it reads a value of {conditional} and is in neither of its branches; "
                        f"{_escape_hint(conditional)}"
                    )
                stack.append(layer)

    # -- order of items

    def _fill_scopes(self) -> None:
        """Fill the scopes with their items in stable topological order."""
        first: dict[ScopeItem, int] = {}
        for number, layer in enumerate(self.network.layers):
            first.setdefault(self._item_of_layer(layer), number)
        predecessors: dict[ScopeItem, set[ScopeItem]] = {item: set() for item in first}
        for layer in self.network.layers:
            for index, tensor in enumerate(layer._inputs):
                if tensor is None or tensor._layer is None:
                    continue
                source = self._item_of_layer(tensor._layer)
                if isinstance(tensor._layer, IRecurrenceLayer | IIteratorLayer):
                    continue  # a parameter of the body
                reader = self._item_in_scope(layer, index, self._scopes[source])
                if reader is not source:
                    predecessors[reader].add(source)
        for item, number in sorted(first.items(), key=lambda pair: pair[1]):
            del number
            self._scopes[item].items.append(item)
        for scope in {id(nested): nested for nested in (self.main_scope, *self._inner_scopes.values())}.values():
            scope.items = _topological_items(scope.items, predecessors)
        self.predecessors = predecessors

    def _item_in_scope(self, reader: ILayer, index: int, target: NestedScope) -> ScopeItem:
        """The item of a scope that is, or contains, an input's reader."""
        scope = self.reading_scope(reader, index)
        if scope is target:
            return self._item_of_layer(reader)
        while scope.parent is not target:
            assert scope.parent is not None
            scope = scope.parent
        assert scope.owner is not None
        return scope.owner


def _topological_items(items: Sequence[ScopeItem], predecessors: dict[ScopeItem, set[ScopeItem]]) -> list[ScopeItem]:
    index = {item: k for k, item in enumerate(items)}
    order = topological_order([{index[source] for source in predecessors[item] if source in index} for item in items])
    if len(order) < len(items):
        stuck = items[min(set(range(len(items))) - set(order))]
        raise stuck.error("it is computed from its own output; only a recurrence leads back")
    return [items[k] for k in order]


def _escape_hint(owner: ILoop | IIfConditional | None) -> str:
    method = "add_loop_output" if isinstance(owner, ILoop) else "add_output"
    return f"a value leaves it by {method} alone"
