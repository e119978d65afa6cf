"""Which layers are inside which loop, and in which branch of a conditional: inferred from what is computed from what.

A layer is inside a loop if it depends on a recurrence or an iterator of it and its value has not left through a loop
output. One is in the branch of a conditional if nothing but that branch reads it, so that it runs only where it is
needed. What neither holds for stands as far outside as it can.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field

from ...graph.topological_order import topological_order
from ...record import record
from .conditional import IConditionLayer, IIfConditional, IIfConditionalInputLayer, IIfConditionalOutputLayer
from .layer import ILayer, ITensor
from .loop import IIteratorLayer, ILoop, ILoopBoundaryLayer, ILoopOutputLayer, IRecurrenceLayer, ITripLimitLayer
from .network import INetworkDefinition

#: What stands in a scope: a layer, or a whole loop or conditional.
ScopeItem = ILayer | ILoop | IIfConditional


@record(eq=False)
class NestedScope:
    """A graph to be: the main one, the body of a loop, a branch of a conditional."""

    parent: NestedScope | None = None
    owner: ILoop | IIfConditional | None = None
    #: ``body``, ``then``, ``else``.
    role: str = ""
    depth: int = 0
    items: list[ScopeItem] = field(default_factory=list)

    def enclosing_scopes(self) -> Iterator[NestedScope]:
        """This one, and those around it, from the inside out."""
        place: NestedScope | None = self
        while place is not None:
            yield place
            place = place.parent


class Nesting:
    """Which layers of a network are inside which loop, and, once they are placed, where they stand.

    Raises:
        ModelError: loops that are not cleanly nested.
    """

    def __init__(self, network: INetworkDefinition) -> None:
        self.network = network
        self.main_scope = NestedScope()
        self.readers: dict[ILayer, list[tuple[ILayer, int]]] = {layer: [] for layer in network.layers}
        for layer in network.layers:
            for index, tensor in enumerate(layer._inputs):
                if tensor is not None and tensor._layer is not None:
                    self.readers[tensor._layer].append((layer, index))
        #: What depends on the recurrences and iterators of a loop, before it leaves.
        self.loop_dependents = {loop: self._find_loop_dependents(loop, ()) for loop in network.loops}
        self.enclosing_loops = self._find_enclosing_loops()
        while self._add_inner_loop_outputs():
            self.enclosing_loops = self._find_enclosing_loops()
        #: All that is inside, with the boundaries of inner loops.
        self.layers_inside = {loop: set(self.loop_dependents[loop]) for loop in network.loops}
        for inner, loops in self.enclosing_loops.items():
            for loop in loops:
                self.layers_inside[loop] |= {*inner.layers, *self.loop_dependents[inner]}
        self._scopes: dict[Hashable, NestedScope] = {}
        self._inner_scopes: dict[tuple[ILoop | IIfConditional, str], NestedScope] = {}

    def assign_scopes(self) -> None:
        """Find where everything stands.

        Raises:
            ModelError: a value leaves a loop or a branch otherwise than by an output of it.
        """
        network = self.network
        items: list[ScopeItem] = [*network.layers, *network.loops, *network.conditionals]
        for item in items:
            self._assign_scope(item)
        self._check_escaping_values()
        self._fill_scopes()

    # -- what is inside which loop

    def _dependents_of_layer(self, layer: ILayer) -> Iterator[tuple[ILayer, int]]:
        """The layers that depend on a layer, and the input through which (-1: through none)."""
        yield from self.readers[layer]
        if isinstance(layer, ITripLimitLayer):
            yield from ((output, -1) for output in layer.loop.outputs)
        elif isinstance(layer, IConditionLayer | IIfConditionalOutputLayer):
            yield from ((output, -1) for output in layer.conditional.outputs)

    def _find_loop_dependents(self, loop: ILoop, more: Sequence[ILayer]) -> set[ILayer]:
        """All that depends on a loop's recurrences and iterators, and on ``more`` layers that are inside."""
        found: set[ILayer] = set(more)
        stack: list[ILayer] = [*loop.recurrences, *loop.iterators, *more]
        while stack:
            for layer, _ in self._dependents_of_layer(stack.pop()):
                if layer in found or (isinstance(layer, ILoopBoundaryLayer) and layer.loop is loop):
                    continue
                found.add(layer)
                stack.append(layer)
        return found

    def _add_inner_loop_outputs(self) -> bool:
        """What an inner loop gives is inside as well, whatever it is computed from; True where that is more."""
        more = False
        for inner, loops in self.enclosing_loops.items():
            for loop in loops:
                if not self.loop_dependents[loop].issuperset(inner.outputs):
                    self.loop_dependents[loop] |= self._find_loop_dependents(loop, inner.outputs)
                    more = True
        return more

    def _find_enclosing_loops(self) -> dict[ILoop, list[ILoop]]:
        """The loops around each loop, the outermost first."""
        loops = self.network.loops
        around: dict[ILoop, list[ILoop]] = {loop: [] for loop in loops}
        for k, one in enumerate(loops):
            for other in loops[k + 1 :]:
                found = self._inner_and_outer(one, other)
                if found is not None:
                    inner, outer = found
                    around[inner].append(outer)
        for loop, found_around in around.items():
            found_around.sort(key=lambda outer: len(around[outer]))
            for k, outer in enumerate(found_around):
                if set(around[outer]) != set(found_around[:k]):
                    raise loop.error(
                        f"it is not cleanly nested: it overlaps with {' and '.join(map(repr, found_around))}; a loop "
                        "must be inside another one wholly, or not at all"
                    )
        return around

    def _inner_and_outer(self, one: ILoop, other: ILoop) -> tuple[ILoop, ILoop] | None:
        """The inner and the outer one of two loops; None where neither is inside the other."""
        in_one, in_other = self.loop_dependents[one], self.loop_dependents[other]
        touches = not in_one.isdisjoint((*other.layers, *in_other)), not in_other.isdisjoint((*one.layers, *in_one))
        if not any(touches):
            return None
        #: Is ``other`` inside ``one``, and the other way round?
        signs: Sequence[tuple[bool, bool]] = (
            (not in_one.isdisjoint(other.outputs), not in_other.isdisjoint(one.outputs)),
            (
                not in_one.isdisjoint((*other.limits, *other.iterators, *other.recurrences)),
                not in_other.isdisjoint((*one.limits, *one.iterators, *one.recurrences)),
            ),
        )
        for other_inside, one_inside in signs:
            if other_inside and one_inside:
                raise other.error(
                    f"it is not cleanly nested: each of it and {one} depends on values inside the other; a loop must "
                    "be inside another one wholly, or not at all"
                )
            if other_inside:
                return other, one
            if one_inside:
                return one, other
        # Nothing leaves them: the one that was added later is taken as the inner one.
        return other, one

    def innermost_loop(self, item: ScopeItem) -> ILoop | None:
        """The innermost loop that an item has to be inside of."""
        if isinstance(item, ILoopBoundaryLayer):
            item = item.loop
        if isinstance(item, ILoop):
            return self.enclosing_loops[item][-1] if self.enclosing_loops[item] else None
        layers = item.outputs if isinstance(item, IIfConditional) else [item]
        found = [loop for loop in self.network.loops if any(layer in self.layers_inside[loop] for layer in layers)]
        found.sort(key=lambda loop: len(self.enclosing_loops[loop]))
        for k, loop in enumerate(found):
            if set(self.enclosing_loops[loop]) != set(found[:k]):
                names = " and of ".join(repr(one) for one in found)
                raise layers[0].error(f"it depends on values of {names}, and neither loop is inside the other")
        return found[-1] if found else None

    # -- where everything stands

    def scope_of(self, item: ScopeItem) -> NestedScope:
        """The scope in which an item stands; that of a boundary layer is its loop's or conditional's."""
        return self._scopes[item]

    def inner_scope(self, owner: ILoop | IIfConditional, word: str) -> NestedScope:
        """The body of a loop, or a branch of a conditional."""
        if (owner, word) not in self._inner_scopes:
            around = self._scopes[owner]
            self._inner_scopes[owner, word] = NestedScope(around, owner, word, around.depth + 1)
        return self._inner_scopes[owner, word]

    def _assign_scope(self, item: ScopeItem) -> None:
        """Find the place of an item, after those of all that reads it."""
        stack: list[ScopeItem] = [item]
        entered: set[ScopeItem] = set()
        while stack:
            top = stack[-1]
            if top in self._scopes:
                stack.pop()
                continue
            waits = [one for one in self._prerequisites(top) if one not in self._scopes]
            if waits:
                if top in entered:
                    raise top.error("it is computed from its own output; only a recurrence leads back")
                entered.add(top)
                stack += waits
                continue
            self._scopes[top] = self._choose_scope(top)
            stack.pop()

    def _scope_item(self, layer: ILayer) -> ScopeItem:
        """What a layer stands for in its scope: the loop or the conditional at whose boundary it is, or itself."""
        if isinstance(layer, ILoopBoundaryLayer):
            return layer.loop
        if isinstance(layer, IConditionLayer | IIfConditionalOutputLayer):
            return layer.conditional
        return layer

    def _prerequisites(self, item: ScopeItem) -> list[ScopeItem]:
        """The items whose places an item's place follows from."""
        if isinstance(item, ILayer) and self._scope_item(item) is not item:
            return [self._scope_item(item)]
        needed = [self._scope_item(reader) for reader, _ in self._readers_of_item(item)]
        loop = self.innermost_loop(item)
        return needed if loop is None else [*needed, loop]

    def _readers_of_item(self, item: ScopeItem) -> Iterator[tuple[ILayer, int]]:
        """Who reads what an item gives to its own scope."""
        sources: Sequence[ILayer] = [item] if isinstance(item, ILayer) else item.outputs
        for layer in sources:
            yield from self.readers[layer]

    def reading_scope(self, reader: ILayer, index: int) -> NestedScope:
        """The scope in which a layer's input is read."""
        if isinstance(reader, ILoopBoundaryLayer):
            inside = (
                (isinstance(reader, IRecurrenceLayer) and index == 1)
                or (isinstance(reader, ILoopOutputLayer) and index == 0)
                or (isinstance(reader, ITripLimitLayer) and reader.kind.name == "WHILE")
            )
            return self.inner_scope(reader.loop, "body") if inside else self._scopes[reader.loop]
        if isinstance(reader, IIfConditionalOutputLayer):
            return self.inner_scope(reader.conditional, "then" if index == 0 else "else")
        return self._scopes[self._scope_item(reader)]

    def _choose_scope(self, item: ScopeItem) -> NestedScope:
        if isinstance(item, ILayer) and self._scope_item(item) is not item:
            return self._scopes[self._scope_item(item)]
        loop = self.innermost_loop(item)
        least = self.main_scope if loop is None else self.inner_scope(loop, "body")
        places = [self.reading_scope(reader, index) for reader, index in self._readers_of_item(item)]
        outputs = item._outputs if isinstance(item, ILayer) else [t for layer in item.outputs for t in layer._outputs]
        if any(tensor in self.network.outputs for tensor in outputs):
            places.append(self.main_scope)
        if not places:
            return least
        common = places[0]
        for place in places[1:]:
            around = set(common.enclosing_scopes())
            common = next(one for one in place.enclosing_scopes() if one in around)
        path = list(common.enclosing_scopes())
        if least not in path:
            return least
        # Into a branch, where it runs only if that is taken; into a loop only if it depends on it.
        return next((one for one in path[: path.index(least)] if isinstance(one.owner, IIfConditional)), least)

    # -- values that must not leave

    def _check_escaping_values(self) -> None:
        for tensor in self.network.outputs:
            layer = tensor._layer
            if layer is None:
                continue
            where = self._producing_scope(layer)
            if where is not self.main_scope:
                raise layer.error(
                    f"{tensor} is marked as an output of the network, and it is inside {where.owner}; "
                    + _escape_hint(where.owner)
                )
        for layer in self.network.layers:
            for index, read in enumerate(layer._inputs):
                if read is not None and read._layer is not None:
                    self._check_read(layer, index, read, read._layer)
        for conditional in self.network.conditionals:
            self._check_branches(conditional)

    def _producing_scope(self, layer: ILayer) -> NestedScope:
        """The scope that has a layer's output."""
        if isinstance(layer, IRecurrenceLayer | IIteratorLayer):
            return self.inner_scope(layer.loop, "body")
        return self._scopes[self._scope_item(layer)]

    def _check_read(self, reader: ILayer, index: int, tensor: ITensor, source: ILayer) -> None:
        made = self._producing_scope(source)
        if made in self.reading_scope(reader, index).enclosing_scopes():
            return
        raise reader.error(f"its input {index}, {tensor}, is inside {made.owner}; " + _escape_hint(made.owner))

    def _check_branches(self, conditional: IIfConditional) -> None:
        """What is computed from the inputs of a conditional is in one of its branches."""
        branches = {self.inner_scope(conditional, "then"), self.inner_scope(conditional, "else")}
        stack: list[ILayer] = [*conditional.inputs]
        seen = set(stack)
        while stack:
            for layer, _ in self.readers[stack.pop()]:
                unit = self._scope_item(layer)
                if layer in seen or unit is conditional:
                    continue
                seen.add(layer)
                if branches.isdisjoint(self._scopes[unit].enclosing_scopes()):
                    if isinstance(layer, IIfConditionalInputLayer):
                        continue
                    raise layer.error(
                        f"it reads a value of {conditional} and is in neither of its branches; "
                        f"{_escape_hint(conditional)}"
                    )
                stack.append(layer)

    # -- in which order

    def _fill_scopes(self) -> None:
        """Fill the scopes: what reads stands after what it reads, else in the order in which it was added."""
        first: dict[ScopeItem, int] = {}
        for number, layer in enumerate(self.network.layers):
            first.setdefault(self._scope_item(layer), number)
        follows: dict[ScopeItem, set[ScopeItem]] = {item: set() for item in first}
        for layer in self.network.layers:
            for index, tensor in enumerate(layer._inputs):
                if tensor is None or tensor._layer is None:
                    continue
                source = self._scope_item(tensor._layer)
                if isinstance(tensor._layer, IRecurrenceLayer | IIteratorLayer):
                    continue  # a parameter of the body
                reader = self._item_in_scope(layer, index, self._scopes[source])
                if reader is not source:
                    follows[reader].add(source)
        for item, number in sorted(first.items(), key=lambda pair: pair[1]):
            del number
            self._scopes[item].items.append(item)
        for place in {id(one): one for one in (self.main_scope, *self._inner_scopes.values())}.values():
            place.items = _topological_items(place.items, follows)
        self.predecessors = follows

    def _item_in_scope(self, reader: ILayer, index: int, where: NestedScope) -> ScopeItem:
        """The item of a scope that an input's reader is, or is inside of."""
        place = self.reading_scope(reader, index)
        if place is where:
            return self._scope_item(reader)
        while place.parent is not where:
            assert place.parent is not None
            place = place.parent
        assert place.owner is not None
        return place.owner


def _topological_items(items: Sequence[ScopeItem], follows: dict[ScopeItem, set[ScopeItem]]) -> list[ScopeItem]:
    place = {item: k for k, item in enumerate(items)}
    found = topological_order([{place[source] for source in follows[item] if source in place} for item in items])
    if len(found) < len(items):
        stuck = items[min(set(range(len(items))) - set(found))]
        raise stuck.error("it is computed from its own output; only a recurrence leads back")
    return [items[k] for k in found]


def _escape_hint(owner: ILoop | IIfConditional | None) -> str:
    what = "add_loop_output" if isinstance(owner, ILoop) else "add_output"
    return f"a value leaves it by {what} alone"
