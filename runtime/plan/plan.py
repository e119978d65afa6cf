"""Lowers a graph to a plan: a flat array of instructions over slots.

Every value of every scope has its own slot; a capture is the outer value's slot. Control flow becomes instructions: a
loop is ``ENTER HEAD body... NEXT EXIT``, an If is ``BRANCH then... JUMP else... JOIN``. If the condition belongs to the
iteration itself, its nodes precede the boundary, as ``ENTER condition... TEST HEAD rest... NEXT EXIT``. The plan is
independent of dtypes and shapes; the engine binds instructions to kernels on first execution.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from ..ops.registry import ResolvedOperation, ResolvedOperator, resolve, resolve_or_defer_error
from ..ops.weight_packing import with_packed_weights
from ..record import record
from .iteration_batching import hoisted_nodes, iteration_value
from .trip_count_analysis import condition_can_change


class Opcode(IntEnum):
    """The kind of an instruction. The engine distinguishes bound and unbound nodes itself."""

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
    """``loop``: index of the loop of a control instruction; ``target``: target of BRANCH and JUMP."""

    kind: Opcode
    node: Node | None = None
    op: ResolvedOperator | None = None
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    loop: int = -1
    target: int = -1
    #: Index of the innermost enclosing loop; -1 in the main graph.
    inside: int = -1
    #: JUMP and JOIN: copies of a branch's results.
    moves: tuple[tuple[int, int], ...] = ()
    #: NODE: the hoisted form, valid while no value was edited (iteration_batching.py).
    hoisted: Instruction | None = None
    #: NODE: index of the outermost loop in which its inputs are invariant, so that it runs once per entry while no
    #: value was edited; -1: none.
    once: int = -1


@record
class EdgePlan:
    """A back edge. ``initial`` is -1 if iteration 0 uses part 0 of ``sliced`` instead."""

    edge: BackEdge
    initial: int
    param: int
    result: int
    #: The result's buffer is exclusive and rewritten in each iteration, so that swapping pointers moves it.
    swap: bool
    sliced: SlicedInput | None = None


@record
class SlicePlan:
    sliced: SlicedInput
    outer: int
    inner: int


@record
class LastValuePlan:
    """``edge``: index into the loop's edges; -1: no back edge feeds it, so that it has no value after zero trips."""

    output: LastValueOutput
    source: int
    outer: int
    edge: int


@record
class ScanPlan:
    output: ScanOutput
    result: int
    outer: int
    #: Required length of its axis; -1: the number of elements.
    length: int = -1


@record
class LoopPlan:
    """The instructions and slots of a loop; -1: absent slot."""

    loop: Loop
    index: int
    parent: int
    path: str
    enter: int = -1
    #: Start of an iteration: the nodes of its own condition, else the head (boundary).
    top: int = -1
    head: int = -1
    next: int = -1
    exit: int = -1
    trip_count: int = -1
    initial_condition: int = -1
    condition: int = -1
    condition_input: int = -1
    #: Value of the next iteration's condition input: the condition, even if ignored (docs/semantics.md 3.2).
    yielded: int = -1
    iteration: int = -1
    edges: list[EdgePlan] = field(default_factory=list)
    slices: list[SlicePlan] = field(default_factory=list)
    last_values: list[LastValuePlan] = field(default_factory=list)
    scans: list[ScanPlan] = field(default_factory=list)
    #: (iteration input, slot of its copy) for outputs that return it, since the boundary overwrites it.
    saved_inputs: list[tuple[int, int]] = field(default_factory=list)
    #: The iteration from which on only the trip count can end the loop (docs/semantics.md 3.2); 1 if the condition is
    #: invariant but must be computed once. -1: the condition can end it.
    endless_from: int = -1


@record
class Plan:
    """The program of the engine. ``slots[k]`` is the value of slot k; an alias shares its target's slot."""

    graph: Graph
    slots: list[Value] = field(default_factory=list)
    code: list[Instruction] = field(default_factory=list)
    loops: list[LoopPlan] = field(default_factory=list)
    inputs: list[tuple[Value, int]] = field(default_factory=list)
    outputs: list[tuple[str, int]] = field(default_factory=list)
    constants: list[tuple[int, Array]] = field(default_factory=list)
    slot_of: dict[Value, int] = field(default_factory=dict)
    #: Values computed from constants only.
    constant_values: set[Value] = field(default_factory=set)
    #: Values computed inside the Ifs of a body (-1: of the main graph), with their branch paths; a lazy cache.
    branch_paths: dict[int, dict[Value, tuple[tuple[int, bool], ...]]] = field(default_factory=dict)
    #: Values readable by name in a body, if branches need no distinction; a lazy cache.
    names_by_body: dict[int, dict[str, Value]] = field(default_factory=dict)

    def loop_of(self, loop: Loop) -> LoopPlan:
        """The plan of a loop."""
        return next(plan for plan in self.loops if plan.loop is loop)

    def body_positions(self, loop: int) -> list[int]:
        """Positions of the instructions directly in a loop's body (-1: the main graph), inner loops as their ENTER."""
        return [pc for pc, instruction in enumerate(self.code) if instruction.inside == loop]


def compile_graph(graph: Graph) -> Plan:
    """Lower a graph to a plan.

    A node without implementation fails when it runs.

    Raises:
        ModelError: a node uses an undefined value, or its attributes do not match its operator.
    """
    compiler = PlanCompiler(Plan(graph), ProducerMap.for_graph(graph))
    for node in walk(graph):
        # Validates the inputs and attributes of nodes before other code reads them.
        if isinstance(node, Operation):
            compiler.ops[node] = resolve_or_defer_error(node, graph.system)
    compiler.compile_graph(graph, -1, MAIN)
    plan = compiler.plan
    plan.code.append(Instruction(Opcode.END))
    plan.inputs = [(value, plan.slot_of[value]) for value in graph.inputs]
    names = graph.output_names or [value.name for value in graph.outputs]
    plan.outputs = [
        (name, compiler.slot_read_by(value, "the model's outputs"))
        for name, value in zip(names, graph.outputs, strict=True)
    ]
    return plan


@record
class PlanCompiler:
    plan: Plan
    origins: ProducerMap
    ops: dict[Operation, ResolvedOperator] = field(default_factory=dict)
    hoisted: dict[Node, ResolvedOperation] = field(default_factory=dict)
    #: Slot -> index of the innermost loop in which it varies; -1 (or absent): invariant.
    varies: dict[int, int] = field(default_factory=dict)

    def get_or_add_slot(self, value: Value) -> int:
        slot = self.plan.slot_of.setdefault(value, len(self.plan.slots))
        if slot == len(self.plan.slots):
            self.plan.slots.append(value)
            if value.constant is not None:
                self.plan.constants.append((slot, value.constant))
        return slot

    def slot_read_by(self, value: Value, user: Node | str, part: str = "") -> int:
        if value.constant is not None:
            return self.get_or_add_slot(value)
        if value not in self.plan.slot_of:
            user_text = user if isinstance(user, str) else user.describe()
            raise ModelError(
                f"{user_text}{part} uses the value '{value.name}', which nothing before it defines", name=value.name
            )
        return self.plan.slot_of[value]

    def optional_slot_read_by(self, value: Value | None, user: Node | str) -> int:
        return -1 if value is None else self.slot_read_by(value, user)

    def emit(self, instruction: Instruction, inside: int) -> int:
        instruction.inside = inside
        self.plan.code.append(instruction)
        return len(self.plan.code) - 1

    def compile_graph(self, graph: Graph, inside: int, path: str) -> None:
        for value in (*graph.inputs, *graph.constants):
            self.get_or_add_slot(value)
        self.compile_nodes(graph.nodes, inside, path)

    def compile_nodes(self, nodes: Sequence[Node], inside: int, path: str) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self.compile_loop(node, inside, path)
            elif isinstance(node, If):
                self.compile_if(node, inside, path)
            elif isinstance(node, Operation):
                self.compile_operation(node, inside)

    def compile_operation(self, node: Operation, inside: int) -> None:
        instruction = self.make_instruction(node, node, inside)
        if node in self.hoisted:
            instruction.hoisted = self.make_instruction(node, self.hoisted[node], inside)
        instruction.once = self.find_invariant_loop(instruction, inside)
        self.emit(instruction, inside)

    def find_invariant_loop(self, instruction: Instruction, inside: int) -> int:
        """See :attr:`Instruction.once`; records in which loop the outputs vary."""
        assert instruction.op is not None
        # Inner loops have higher indices.
        varies = max([self.varies.get(slot, -1) for slot in instruction.inputs], default=-1)
        if instruction.op.random or not instruction.op.pure:
            varies = inside
        self.varies.update(dict.fromkeys(instruction.outputs, varies))
        if varies == inside or not instruction.inputs:
            return -1
        while self.plan.loops[inside].parent != varies:
            inside = self.plan.loops[inside].parent
        return inside

    def make_instruction(self, node: Operation, run: Operation, inside: int) -> Instruction:
        """The instruction that runs ``run`` in place of ``node``."""
        system = self.plan.graph.system
        inputs = [-1 if value is None else self.slot_read_by(value, node) for value in run.inputs]
        settled = self.plan.constant_values
        is_constant = [value is None or value.constant is not None or value in settled for value in run.inputs]
        op = self.ops.get(run) or resolve(run, system)
        if op.pure and not op.random and all(is_constant):
            settled.update(filter(None, node.outputs))
        op = with_packed_weights(run, op, system, is_constant)
        outputs = [-1 if value is None else self.get_or_add_slot(value) for value in node.outputs]
        return Instruction(Opcode.NODE, node, op, tuple(inputs), tuple(outputs), inside=inside)

    def compile_if(self, node: If, inside: int, path: str) -> None:
        condition = node.inputs[0]
        assert condition is not None
        start = self.emit(Instruction(Opcode.BRANCH, node, inputs=(self.slot_read_by(condition, node),)), inside)
        outputs = tuple(-1 if value is None else self.get_or_add_slot(value) for value in node.outputs)
        self.varies.update((slot, inside) for slot in outputs)
        self.plan.code[start].outputs = outputs
        ends = []
        for branch_name, branch, kind in (
            ("then", node.then_branch, Opcode.JUMP),
            ("else", node.else_branch, Opcode.JOIN),
        ):
            if kind is Opcode.JOIN:
                self.plan.code[start].target = len(self.plan.code)
            self.compile_graph(branch, inside, f"{path} ▸ {node.name} ({branch_name})")
            moves = tuple(
                (self.slot_read_by(value, node, f", its {branch_name} branch"), out)
                for value, out in zip(branch.outputs, outputs, strict=True)
                if out >= 0
            )
            ends.append(self.emit(Instruction(kind, node, outputs=outputs, moves=moves), inside))
        self.plan.code[ends[0]].target = ends[1] + 1

    def compile_loop(self, node: Loop, inside: int, path: str) -> None:
        plan = LoopPlan(node, len(self.plan.loops), inside, f"{path} ▸ {node.name}")
        self.plan.loops.append(plan)
        plan.trip_count = self.optional_slot_read_by(node.trip_count, node)
        plan.initial_condition = self.optional_slot_read_by(node.initial_condition, node)
        initials = [
            self.slot_read_by(edge.initial, node) if isinstance(edge.initial, Value) else -1 for edge in node.back_edges
        ]
        slices = [self.slot_read_by(sliced.outer, node) for sliced in node.sliced_inputs]
        for edge in node.back_edges:
            if isinstance(edge.initial, SlicedInput):
                slices.append(self.slot_read_by(edge.initial.outer, node))
        for invariant in node.invariants:
            self.plan.slot_of[invariant.inner] = self.slot_read_by(invariant.outer, node)
        lengths = [self.optional_slot_read_by(scan.length, node) for scan in node.scan_outputs]
        reads = (plan.trip_count, plan.initial_condition, *initials, *slices, *lengths)
        plan.enter = self.emit(
            Instruction(Opcode.ENTER, node, inputs=tuple(s for s in reads if s >= 0), loop=plan.index), inside
        )
        number = iteration_value(node)
        batched = hoisted_nodes(node, self.plan.graph.system, number)
        self.hoisted.update(batched)
        if batched:
            self.get_or_add_slot(number)
        aliases = {invariant.inner for invariant in node.invariants}
        unchanged = {edge.param for edge in node.back_edges if edge.param is edge.result}
        for value in (*node.body.inputs, *([number] if batched else [])):
            if value not in aliases:
                self.varies[self.get_or_add_slot(value)] = inside if value in unchanged else plan.index
        plan.top = len(self.plan.code)
        for value in (*node.body.inputs, *node.body.constants):
            self.get_or_add_slot(value)
        if node.condition_node_count is not None:
            self.compile_nodes(node.body.nodes[: node.condition_node_count], plan.index, plan.path)
            self.emit(Instruction(Opcode.TEST, loop=plan.index), plan.index)
        plan.head = self.emit(Instruction(Opcode.HEAD, node, loop=plan.index), inside)
        self.compile_nodes(node.body.nodes[node.condition_node_count or 0 :], plan.index, plan.path)
        plan.condition = self.optional_slot_read_by(node.condition, node)
        plan.condition_input = self.optional_slot_read_by(node.condition_input, node)
        ignored = None if node.condition_input is None else node.ignored_condition
        plan.yielded = self.optional_slot_read_by(
            (node.condition if node.condition_node_count is None else None) or ignored, node
        )
        plan.iteration = self.optional_slot_read_by(number if batched else node.iteration, node)
        self.plan_loop_ports(plan, initials)
        plan.endless_from = self.endless_from(node)
        plan.next = self.emit(Instruction(Opcode.NEXT, node, loop=plan.index), inside)
        self.varies.update((self.get_or_add_slot(value), inside) for value in node.outputs if value is not None)
        plan.last_values = [self.last_value(plan, output) for output in node.last_values]
        plan.scans = [
            ScanPlan(s, self.slot_read_by(s.result, node), self.get_or_add_slot(s.outer), length)
            for s, length in zip(node.scan_outputs, lengths, strict=True)
        ]
        outputs = (*(last.outer for last in plan.last_values), *(scan.outer for scan in plan.scans))
        plan.exit = self.emit(Instruction(Opcode.EXIT, node, outputs=outputs, loop=plan.index), inside)

    def plan_loop_ports(self, plan: LoopPlan, initials: list[int]) -> None:
        node = plan.loop
        # Values computed once per entry must not be moved.
        swappable = {
            value
            for inner in node.body.nodes
            for value in inner.outputs
            if value is not None and self.varies[self.slot_read_by(value, plan.loop)] == plan.index
        }
        # Values for the next condition are computed before the carried values are read.
        swappable.difference_update(
            v for inner in node.body.nodes[: node.condition_node_count or 0] for v in inner.outputs if v
        )
        results = [edge.result for edge in node.back_edges]
        for edge, initial in zip(node.back_edges, initials, strict=True):
            plan.edges.append(
                EdgePlan(
                    edge,
                    initial,
                    self.slot_read_by(edge.param, plan.loop),
                    self.slot_read_by(edge.result, plan.loop),
                    edge.result in swappable and results.count(edge.result) == 1,
                    edge.initial if isinstance(edge.initial, SlicedInput) else None,
                )
            )
        plan.slices = [
            SlicePlan(sliced, self.slot_read_by(sliced.outer, plan.loop), self.slot_read_by(sliced.inner, plan.loop))
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

    def last_value(self, plan: LoopPlan, output: LastValueOutput) -> LastValuePlan:
        edges = [output.edge] if output.edge else [e.edge for e in plan.edges if e.edge.result is output.result]
        index = next((k for k, e in enumerate(plan.edges) if e.edge in edges), -1)
        source = plan.edges[index].param if index >= 0 else self.slot_read_by(output.result, plan.loop)
        inputs = {plan.iteration, plan.condition_input, *(e.param for e in plan.edges), *(s.inner for s in plan.slices)}
        if index < 0 and source in inputs:
            copy_slot = self.get_or_add_slot(Value(f"{output.result.name}", output.result.type))
            plan.saved_inputs.append((source, copy_slot))
            source = copy_slot
        return LastValuePlan(output, source, self.get_or_add_slot(output.outer), index)
