"""Graph -> Plan: a flat array of instructions over slots.

Every value of every scope gets one slot of its own; a capture is simply the outer value's slot. Control flow becomes
instructions: a loop is ``ENTER HEAD body... NEXT EXIT``, an If is ``BRANCH then... JUMP else... JOIN``. Where the
condition is that of the iteration itself, what it needs stands before the boundary, as ``ENTER condition... TEST HEAD
rest... NEXT EXIT``. Nothing here knows dtypes or shapes; the engine binds instructions to kernels when it first meets
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import IntEnum

from ..errors import ModelError
from ..graph import (
    MAIN,
    Array,
    BackEdge,
    Graph,
    If,
    LastValueOutput,
    Loop,
    Node,
    Operation,
    ScanOutput,
    SlicedInput,
    Value,
    walk,
)
from ..graph.producers import ProducerMap
from ..ops.registry import ResolvedOperation, ResolvedOperator, resolve, resolve_or_refuse
from ..ops.weight_packing import with_packed_weights
from ..record import record
from .hoisting import hoisted_nodes, iteration_value
from .trip_counts import condition_can_change


class Opcode(IntEnum):
    """What an instruction is. The engine tells bound and unbound nodes apart itself."""

    NODE = 0
    ENTER = 1
    HEAD = 2
    NEXT = 3
    EXIT = 4
    BRANCH = 5
    JUMP = 6
    JOIN = 7
    END = 8
    TEST = 11


@record
class Instruction:
    """``loop``: index of the loop that it belongs to as a control instruction; ``target``: where BRANCH and JUMP go."""

    kind: Opcode
    node: Node | None = None
    op: ResolvedOperator | None = None
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    loop: int = -1
    target: int = -1
    #: Index of the innermost loop whose body holds the instruction; -1 in the main graph.
    inside: int = -1
    #: JUMP and JOIN: what a branch's results are copied to.
    moves: tuple[tuple[int, int], ...] = ()
    #: NODE: the hoisted form, which gives the same in less time as long as nothing was changed by hand (hoisting.py).
    hoisted: Instruction | None = None
    #: NODE: index of the outermost loop in whose entries its inputs stay as they are, so that it runs once an entry as
    #: long as nothing was changed by hand; -1: none.
    once: int = -1


@record
class EdgePlan:
    """A back edge. ``initial`` is -1 where iteration 0 gets part 0 of ``sliced`` instead."""

    edge: BackEdge
    initial: int
    param: int
    result: int
    #: The result's buffer belongs to it alone and is written anew each iteration, so that swapping pointers moves it.
    swap: bool
    sliced: SlicedInput | None = None


@record
class SlicePlan:
    sliced: SlicedInput
    outer: int
    inner: int


@record
class LastValuePlan:
    """``edge``: index into the loop's edges; -1: no back edge feeds it, so that zero trips leave it without a value."""

    output: LastValueOutput
    source: int
    outer: int
    edge: int


@record
class ScanPlan:
    output: ScanOutput
    result: int
    outer: int
    #: How long its axis is to be; -1: as long as there are elements.
    length: int = -1


@record
class LoopPlan:
    """One loop's instructions and slots; -1 stands for an absent slot."""

    loop: Loop
    index: int
    parent: int
    path: str
    enter: int = -1
    #: Where an iteration begins: what its own condition needs, else the head, where its boundary is.
    top: int = -1
    head: int = -1
    next: int = -1
    exit: int = -1
    trip_count: int = -1
    initial_condition: int = -1
    condition: int = -1
    condition_input: int = -1
    #: What an iteration gives the next one's condition input: the condition, one that is ignored too
    #: (docs/semantics.md 3.2).
    yielded: int = -1
    iteration: int = -1
    edges: list[EdgePlan] = field(default_factory=list)
    slices: list[SlicePlan] = field(default_factory=list)
    last_values: list[LastValuePlan] = field(default_factory=list)
    scans: list[ScanPlan] = field(default_factory=list)
    #: (what an iteration got, slot that keeps it): for outputs that return it, since the boundary writes over it.
    saved_inputs: list[tuple[int, int]] = field(default_factory=list)
    #: The iteration before which it is sure that nothing can end the loop unless its trip count does
    #: (docs/semantics.md 3.2): 1
    #: where the condition is always the same but known only once it was computed. -1: something can.
    endless_from: int = -1


@record
class Plan:
    """What the engine runs. ``slots[k]`` is the value that slot k holds; an alias shares its target's slot."""

    graph: Graph
    slots: list[Value] = field(default_factory=list)
    code: list[Instruction] = field(default_factory=list)
    loops: list[LoopPlan] = field(default_factory=list)
    inputs: list[tuple[Value, int]] = field(default_factory=list)
    outputs: list[tuple[str, int]] = field(default_factory=list)
    constants: list[tuple[int, Array]] = field(default_factory=list)
    slot_of: dict[Value, int] = field(default_factory=dict)
    #: Values that nodes make of constants alone.
    constant_values: set[Value] = field(default_factory=set)
    #: What the nodes inside the Ifs of a body compute (-1: of the main graph), with the branches that lead there; found
    #: when frames first ask for it.
    branch_paths: dict[int, dict[Value, tuple[tuple[int, bool], ...]]] = field(default_factory=dict)
    #: The values that a body can read by name, if no branch has to be told from another; found in the same way.
    names_by_body: dict[int, dict[str, Value]] = field(default_factory=dict)

    def loop_of(self, loop: Loop) -> LoopPlan:
        """The plan of one of the graph's loops."""
        return next(plan for plan in self.loops if plan.loop is loop)

    def body_positions(self, loop: int) -> Iterator[int]:
        """Positions of the instructions directly in a loop's body (-1: the main graph), inner loops as their ENTER."""
        for pc, instruction in enumerate(self.code):
            if instruction.inside == loop:
                yield pc


def compile_graph(graph: Graph) -> Plan:
    """Lay a graph out as a plan.

    A node whose operator nothing implements fails when it is run.

    Raises:
        ModelError: a node uses a value that its scope does not have, or its attributes do not fit its operator.
    """
    compiler = PlanCompiler(Plan(graph), ProducerMap.for_graph(graph))
    for node in walk(graph):
        # Before anything reads it: from here on a node has the inputs and the attributes that its operator demands.
        if isinstance(node, Operation):
            compiler.ops[node] = resolve_or_refuse(node, graph.system)
    compiler.graph(graph, -1, MAIN)
    plan = compiler.plan
    plan.code.append(Instruction(Opcode.END))
    plan.inputs = [(value, plan.slot_of[value]) for value in graph.inputs]
    names = graph.output_names or [value.name for value in graph.outputs]
    plan.outputs = [
        (name, compiler.slot(value, "the model's outputs")) for name, value in zip(names, graph.outputs, strict=True)
    ]
    return plan


@record
class PlanCompiler:
    plan: Plan
    origins: ProducerMap
    ops: dict[Operation, ResolvedOperator] = field(default_factory=dict)
    hoisted: dict[Node, ResolvedOperation] = field(default_factory=dict)
    #: Slot -> index of the innermost loop whose iterations give it other values; -1 (and absent): none does.
    varies: dict[int, int] = field(default_factory=dict)

    def add_slot(self, value: Value) -> int:
        if value not in self.plan.slot_of:
            self.plan.slot_of[value] = len(self.plan.slots)
            self.plan.slots.append(value)
            if value.constant is not None:
                self.plan.constants.append((self.plan.slot_of[value], value.constant))
        return self.plan.slot_of[value]

    def slot(self, value: Value, user: Node | str) -> int:
        if value.constant is not None:
            return self.add_slot(value)
        if value not in self.plan.slot_of:
            told = user if isinstance(user, str) else user.describe()
            raise ModelError(f"{told} uses the value '{value.name}', which nothing before it defines")
        return self.plan.slot_of[value]

    def optional_slot(self, value: Value | None, user: Node | str) -> int:
        return -1 if value is None else self.slot(value, user)

    def emit(self, instruction: Instruction, inside: int) -> int:
        instruction.inside = inside
        self.plan.code.append(instruction)
        return len(self.plan.code) - 1

    def graph(self, graph: Graph, inside: int, path: str) -> None:
        for value in (*graph.inputs, *graph.constants):
            self.add_slot(value)
        self.nodes(graph.nodes, inside, path)

    def nodes(self, nodes: Sequence[Node], inside: int, path: str) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self.loop(node, inside, path)
            elif isinstance(node, If):
                self.branch(node, inside, path)
            elif isinstance(node, Operation):
                self.operation(node, inside)

    def operation(self, node: Operation, inside: int) -> None:
        instruction = self.instruction(node, node, inside)
        if node in self.hoisted:
            instruction.hoisted = self.instruction(node, self.hoisted[node], inside)
        instruction.once = self.once_loop(instruction, inside)
        self.emit(instruction, inside)

    def once_loop(self, instruction: Instruction, inside: int) -> int:
        """See :attr:`Instruction.once`; notes in which loop the outputs vary."""
        assert instruction.op is not None
        # Of loops around one another the inner one has the higher number.
        varies = max((self.varies.get(slot, -1) for slot in instruction.inputs), default=-1)
        if instruction.op.random or not instruction.op.pure:
            varies = inside
        self.varies.update((slot, varies) for slot in instruction.outputs)
        if varies == inside or not instruction.inputs:
            return -1
        while self.plan.loops[inside].parent != varies:
            inside = self.plan.loops[inside].parent
        return inside

    def instruction(self, node: Operation, run: Operation, inside: int) -> Instruction:
        """What runs ``run`` for ``node``."""
        system = self.plan.graph.system
        inputs = tuple(self.optional_slot(value, node) for value in run.inputs)
        settled = [slot < 0 or self.is_settled(self.plan.slots[slot]) for slot in inputs]
        op = self.ops.get(run) or resolve(run, system)
        if op.pure and not op.random and all(settled):
            self.plan.constant_values.update(value for value in node.outputs if value is not None)
        op = with_packed_weights(run, op, system, settled)
        outputs = tuple(-1 if value is None else self.add_slot(value) for value in node.outputs)
        return Instruction(Opcode.NODE, node, op, inputs, outputs, inside=inside)

    def is_settled(self, value: Value) -> bool:
        """Does it follow from constants alone?"""
        return value.constant is not None or value in self.plan.constant_values

    def branch(self, node: If, inside: int, path: str) -> None:
        condition = node.inputs[0]
        assert condition is not None
        start = self.emit(Instruction(Opcode.BRANCH, node, inputs=(self.slot(condition, node),)), inside)
        outputs = tuple(-1 if value is None else self.add_slot(value) for value in node.outputs)
        self.varies.update((slot, inside) for slot in outputs)
        self.plan.code[start].outputs = outputs
        ends = []
        for word, branch, kind in (
            ("then", node.then_branch, Opcode.JUMP),
            ("else", node.else_branch, Opcode.JOIN),
        ):
            if kind is Opcode.JOIN:
                self.plan.code[start].target = len(self.plan.code)
            self.graph(branch, inside, f"{path} ▸ {node.name} ({word})")
            moves = tuple(
                (self.slot(value, f"{node.describe()}, its {word} branch"), out)
                for value, out in zip(branch.outputs, outputs, strict=True)
                if out >= 0
            )
            ends.append(self.emit(Instruction(kind, node, outputs=outputs, moves=moves), inside))
        self.plan.code[ends[0]].target = ends[1] + 1

    def loop(self, node: Loop, inside: int, path: str) -> None:
        where = node.describe()
        plan = LoopPlan(node, len(self.plan.loops), inside, f"{path} ▸ {node.name}")
        self.plan.loops.append(plan)
        plan.trip_count = self.optional_slot(node.trip_count, where)
        plan.initial_condition = self.optional_slot(node.initial_condition, where)
        initials = [
            self.slot(edge.initial, where) if isinstance(edge.initial, Value) else -1 for edge in node.back_edges
        ]
        slices = [self.slot(sliced.outer, where) for sliced in node.sliced_inputs]
        for edge in node.back_edges:
            if isinstance(edge.initial, SlicedInput):
                slices.append(self.slot(edge.initial.outer, where))
        for invariant in node.invariants:
            self.plan.slot_of[invariant.inner] = self.slot(invariant.outer, where)
        lengths = [self.optional_slot(scan.length, where) for scan in node.scan_outputs]
        reads = (plan.trip_count, plan.initial_condition, *initials, *slices, *lengths)
        plan.enter = self.emit(
            Instruction(Opcode.ENTER, node, inputs=tuple(s for s in reads if s >= 0), loop=plan.index), inside
        )
        number = iteration_value(node)
        batched = hoisted_nodes(node, self.plan.graph.system, number)
        self.hoisted.update(batched)
        if batched:
            self.add_slot(number)
        aliases = {invariant.inner for invariant in node.invariants}
        unchanged = {edge.param for edge in node.back_edges if edge.param is edge.result}
        for value in (*node.body.inputs, *([number] if batched else [])):
            if value not in aliases:
                self.varies[self.add_slot(value)] = inside if value in unchanged else plan.index
        plan.top = len(self.plan.code)
        for value in (*node.body.inputs, *node.body.constants):
            self.add_slot(value)
        if node.condition_node_count is not None:
            self.nodes(node.body.nodes[: node.condition_node_count], plan.index, plan.path)
            self.emit(Instruction(Opcode.TEST, loop=plan.index), plan.index)
        plan.head = self.emit(Instruction(Opcode.HEAD, node, loop=plan.index), inside)
        self.nodes(node.body.nodes[node.condition_node_count or 0 :], plan.index, plan.path)
        plan.condition = self.optional_slot(node.condition, where)
        plan.condition_input = self.optional_slot(node.condition_input, where)
        ignored = None if node.condition_input is None else node.ignored_condition
        plan.yielded = self.optional_slot(
            (node.condition if node.condition_node_count is None else None) or ignored, where
        )
        plan.iteration = self.optional_slot(number if batched else node.iteration, where)
        self.ports(plan, initials, where)
        plan.endless_from = self.endless_from(node)
        plan.next = self.emit(Instruction(Opcode.NEXT, node, loop=plan.index), inside)
        self.varies.update((self.add_slot(value), inside) for value in node.outputs if value is not None)
        plan.last_values = [self.last(plan, output, where) for output in node.last_values]
        plan.scans = [
            ScanPlan(s, self.slot(s.result, where), self.add_slot(s.outer), length)
            for s, length in zip(node.scan_outputs, lengths, strict=True)
        ]
        outputs = (*(last.outer for last in plan.last_values), *(scan.outer for scan in plan.scans))
        plan.exit = self.emit(Instruction(Opcode.EXIT, node, outputs=outputs, loop=plan.index), inside)

    def ports(self, plan: LoopPlan, initials: list[int], where: str) -> None:
        node = plan.loop
        # What is computed once an entry has to stay where it is.
        made = {
            value
            for inner in node.body.nodes
            for value in inner.outputs
            if value is not None and self.varies[self.slot(value, where)] == plan.index
        }
        # What the next condition needs is computed before anybody has read what was carried.
        made.difference_update(
            v for inner in node.body.nodes[: node.condition_node_count or 0] for v in inner.outputs if v
        )
        results = [edge.result for edge in node.back_edges]
        for edge, initial in zip(node.back_edges, initials, strict=True):
            plan.edges.append(
                EdgePlan(
                    edge,
                    initial,
                    self.slot(edge.param, where),
                    self.slot(edge.result, where),
                    edge.result in made and results.count(edge.result) == 1,
                    edge.initial if isinstance(edge.initial, SlicedInput) else None,
                )
            )
        plan.slices = [
            SlicePlan(sliced, self.slot(sliced.outer, where), self.slot(sliced.inner, where))
            for sliced in node.sliced_inputs
        ]

    def endless_from(self, node: Loop) -> int:
        if node.counted_by_slices or node.fixed_trips is not None or condition_can_change(node):
            return -1
        if (
            node.condition is None
            or node.condition_node_count is not None
            or self.origins.constant_scalar(node.condition)
        ):
            return 0
        return 0 if self.origins.skip_identities(node.condition) is node.condition_input else 1

    def last(self, plan: LoopPlan, output: LastValueOutput, where: str) -> LastValuePlan:
        wanted = [output.edge] if output.edge else [e.edge for e in plan.edges if e.edge.result is output.result]
        index = next((k for k, e in enumerate(plan.edges) if e.edge in wanted), -1)
        source = plan.edges[index].param if index >= 0 else self.slot(output.result, where)
        got = {plan.iteration, plan.condition_input, *(e.param for e in plan.edges), *(s.inner for s in plan.slices)}
        if index < 0 and source in got:
            kept = self.add_slot(Value(f"{output.result.name}", output.result.type))
            plan.saved_inputs.append((source, kept))
            source = kept
        return LastValuePlan(output, source, self.add_slot(output.outer), index)
