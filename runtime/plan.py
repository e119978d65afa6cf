"""Graph -> Plan: a flat array of instructions over slots.

Every value of every scope gets one slot of its own; a capture is simply the outer value's slot. Control flow becomes
instructions: a loop is ``ENTER HEAD body... NEXT EXIT``, an If is ``BRANCH then... JUMP else... JOIN``. Nothing here
knows dtypes or shapes; the engine binds instructions to kernels when it first meets them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from .ahead import in_plain, iteration_of
from .dependence import can_change
from .errors import ModelError
from .graph import (
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
)
from .ops.registry import Op, ResolvedOperation, resolve
from .ops.weights import weighted


class Kind(IntEnum):
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


@dataclass
class Instruction:
    """``loop``: index of the loop that it belongs to as a control instruction; ``target``: where BRANCH and JUMP go."""

    kind: Kind
    node: Node | None = None
    op: Op | None = None
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    loop: int = -1
    target: int = -1
    #: Index of the innermost loop whose body holds the instruction; -1 in the main graph.
    inside: int = -1
    #: JUMP and JOIN: what a branch's results are copied to.
    moves: tuple[tuple[int, int], ...] = ()
    #: NODE: what gives the same in less time as long as nothing was changed by hand (ahead.py).
    ahead: Instruction | None = None


@dataclass
class EdgePlan:
    """A back edge. ``initial`` is -1 where iteration 0 gets part 0 of ``sliced`` instead."""

    edge: BackEdge
    initial: int
    param: int
    result: int
    #: The result's buffer belongs to it alone and is written anew each iteration, so that swapping pointers moves it.
    swap: bool
    sliced: SlicedInput | None = None


@dataclass
class SlicePlan:
    sliced: SlicedInput
    outer: int
    inner: int


@dataclass
class LastPlan:
    """``edge``: index into the loop's edges; -1: no back edge feeds it, so that zero trips leave it without a value."""

    output: LastValueOutput
    source: int
    outer: int
    edge: int


@dataclass
class ScanPlan:
    output: ScanOutput
    result: int
    outer: int


@dataclass
class LoopPlan:
    """One loop's instructions and slots; -1 stands for an absent slot."""

    loop: Loop
    index: int
    parent: int
    path: str
    enter: int = -1
    head: int = -1
    next: int = -1
    exit: int = -1
    trip_count: int = -1
    initial_condition: int = -1
    condition: int = -1
    condition_input: int = -1
    iteration: int = -1
    edges: list[EdgePlan] = field(default_factory=list)
    slices: list[SlicePlan] = field(default_factory=list)
    lasts: list[LastPlan] = field(default_factory=list)
    scans: list[ScanPlan] = field(default_factory=list)
    #: Values that can differ between iterations reach the condition.
    condition_can_change: bool = False


@dataclass
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

    def loop_of(self, loop: Loop) -> LoopPlan:
        """The plan of one of the graph's loops."""
        return next(plan for plan in self.loops if plan.loop is loop)

    def inside(self, loop: int) -> Iterator[int]:
        """Positions of the instructions directly in a loop's body (-1: the main graph), inner loops as their ENTER."""
        for pc, instruction in enumerate(self.code):
            if instruction.inside == loop:
                yield pc


def compile_graph(graph: Graph) -> Plan:
    """Lay a graph out as a plan.

    Raises:
        UnsupportedError: an operator that nothing can run; it names operator, node and opset.
        ModelError: a node uses a value that its scope does not have.
    """
    compiler = _Compiler(Plan(graph))
    compiler.graph(graph, -1, MAIN)
    plan = compiler.plan
    plan.code.append(Instruction(Kind.END))
    plan.inputs = [(value, plan.slot_of[value]) for value in graph.inputs]
    names = graph.output_names or [value.name for value in graph.outputs]
    plan.outputs = [
        (name, compiler.slot(value, "the model's outputs")) for name, value in zip(names, graph.outputs, strict=True)
    ]
    return plan


@dataclass
class _Compiler:
    plan: Plan
    ahead: dict[Node, ResolvedOperation] = field(default_factory=dict)

    def new(self, value: Value) -> int:
        if value not in self.plan.slot_of:
            self.plan.slot_of[value] = len(self.plan.slots)
            self.plan.slots.append(value)
            if value.constant is not None:
                self.plan.constants.append((self.plan.slot_of[value], value.constant))
        return self.plan.slot_of[value]

    def slot(self, value: Value, user: str) -> int:
        if value.constant is not None:
            return self.new(value)
        if value not in self.plan.slot_of:
            raise ModelError(f"{user} uses the value '{value.name}', which nothing before it defines")
        return self.plan.slot_of[value]

    def maybe(self, value: Value | None, user: str) -> int:
        return -1 if value is None else self.slot(value, user)

    def emit(self, instruction: Instruction, inside: int) -> int:
        instruction.inside = inside
        self.plan.code.append(instruction)
        return len(self.plan.code) - 1

    def graph(self, graph: Graph, inside: int, path: str) -> None:
        for value in (*graph.inputs, *graph.constants):
            self.new(value)
        for node in graph.nodes:
            if isinstance(node, Loop):
                self.loop(node, inside, path)
            elif isinstance(node, If):
                self.branch(node, inside, path)
            elif isinstance(node, Operation):
                self.operation(node, inside)

    def operation(self, node: Operation, inside: int) -> None:
        instruction = self.instruction(node, node, inside)
        if node in self.ahead:
            instruction.ahead = self.instruction(node, self.ahead[node], inside)
        self.emit(instruction, inside)

    def instruction(self, node: Operation, run: Operation, inside: int) -> Instruction:
        """What runs ``run`` for ``node``."""
        system = self.plan.graph.system
        inputs = tuple(self.maybe(value, node.describe()) for value in run.inputs)
        constants = [None if slot < 0 else self.plan.slots[slot].constant for slot in inputs]
        op = weighted(run, resolve(run, system), system, constants)
        outputs = tuple(-1 if value is None else self.new(value) for value in node.outputs)
        return Instruction(Kind.NODE, node, op, inputs, outputs, inside=inside)

    def branch(self, node: If, inside: int, path: str) -> None:
        condition = node.inputs[0]
        assert condition is not None
        start = self.emit(Instruction(Kind.BRANCH, node, inputs=(self.slot(condition, node.describe()),)), inside)
        outputs = tuple(-1 if value is None else self.new(value) for value in node.outputs)
        self.plan.code[start].outputs = outputs
        ends = []
        for word, branch, kind in (
            ("then", node.then_branch, Kind.JUMP),
            ("else", node.else_branch, Kind.JOIN),
        ):
            if kind is Kind.JOIN:
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
        plan.trip_count = self.maybe(node.trip_count, where)
        plan.initial_condition = self.maybe(node.initial_condition, where)
        initials = [
            self.slot(edge.initial, where) if isinstance(edge.initial, Value) else -1 for edge in node.back_edges
        ]
        slices = [self.slot(sliced.outer, where) for sliced in node.sliced_inputs]
        for edge in node.back_edges:
            if isinstance(edge.initial, SlicedInput):
                slices.append(self.slot(edge.initial.outer, where))
        for invariant in node.invariants:
            self.plan.slot_of[invariant.inner] = self.slot(invariant.outer, where)
        reads = (plan.trip_count, plan.initial_condition, *initials, *slices)
        plan.enter = self.emit(
            Instruction(Kind.ENTER, node, inputs=tuple(s for s in reads if s >= 0), loop=plan.index), inside
        )
        plan.head = self.emit(Instruction(Kind.HEAD, node, loop=plan.index), inside)
        number = iteration_of(node)
        ahead = in_plain(node, self.plan.graph.system, number)
        self.ahead.update(ahead)
        if ahead:
            self.new(number)
        self.graph(node.body, plan.index, plan.path)
        plan.condition = self.maybe(node.condition, where)
        plan.condition_input = self.maybe(node.condition_input, where)
        plan.iteration = self.maybe(number if ahead else node.iteration, where)
        self.ports(plan, initials, where)
        plan.condition_can_change = can_change(node)
        plan.next = self.emit(Instruction(Kind.NEXT, node, loop=plan.index), inside)
        for value in node.outputs:
            if value is not None:
                self.new(value)
        plan.lasts = [self.last(plan, output, where) for output in node.last_values]
        plan.scans = [ScanPlan(s, self.slot(s.result, where), self.new(s.outer)) for s in node.scan_outputs]
        outputs = (*(last.outer for last in plan.lasts), *(scan.outer for scan in plan.scans))
        plan.exit = self.emit(Instruction(Kind.EXIT, node, outputs=outputs, loop=plan.index), inside)

    def ports(self, plan: LoopPlan, initials: list[int], where: str) -> None:
        node = plan.loop
        made = {value for inner in node.body.nodes for value in inner.outputs if value is not None}
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

    def last(self, plan: LoopPlan, output: LastValueOutput, where: str) -> LastPlan:
        wanted = [output.edge] if output.edge else [e.edge for e in plan.edges if e.edge.result is output.result]
        index = next((k for k, e in enumerate(plan.edges) if e.edge in wanted), -1)
        source = plan.edges[index].param if index >= 0 else self.slot(output.result, where)
        return LastPlan(output, source, self.new(output.outer), index)
