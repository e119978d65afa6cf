"""The coverage of a run against the facts of the same run, stepped node by node; used by ``campaign.py coverage``.

The facts are derived here, by NumPy, from the operands of every node that the engine stops at, and from the boundaries
of the loops: without predicates, and without what the coverage knows of where values are at a boundary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import loopdbg
from loopdbg.debugger.coverage.recorder import CoverageRecorder
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.graph import Graph, If, Loop, Node, Operation, System, walk
from loopdbg.runtime.plan.plan import Opcode
from optimizer_access import set_optimizer_options
from random_program_checks import load_program
from strategies import program_generator, program_oracle
from strategies.draws import ChoiceSource, SeededChoices
from strategies.program_text import program_text
from strategies.tensorrt_networks import NetworkGenerator
from text_models import model as text_model

#: Iterations after which a run is stopped, and nodes after which a case is given up.
MAX_ITERATIONS, _MAX_NODES, _MAX_DEPTH = 30, 20_000, 100
_KINDS = ("programs", "operands", "programs", "operands", "networks")
_FEATURES = ("branches", "nested", "scan", "openvino", "condition", "rows", "growing", "direct", "delayed")


@dataclass
class CoverageCase:
    """A model, its inputs, and the text that it was made of."""

    model: loopdbg.Model
    feeds: Mapping[str, Any]
    text: str


def case_names(numbers: Iterable[int]) -> list[str]:
    """The names of the cases with these numbers: each kind in turn."""
    return [f"{_KINDS[number % len(_KINDS)]} {number}" for number in numbers]


def make_case(name: str) -> CoverageCase:
    """The case of a name."""
    draw = SeededChoices(f"coverage {name}")
    kind = name.partition(" ")[0]
    if kind == "operands":
        return draw_operands(draw)
    if kind == "networks":
        network = NetworkGenerator(draw)
        model = network.network().model()
        return CoverageCase(model, network.feeds(draw), "\n".join(map(repr, walk(model.graph))))
    features = frozenset({"branches", *(draw.pick(_FEATURES) for _ in range(draw.integer(1, 3)))})
    program = program_generator.draw_program(draw, features)
    return CoverageCase(load_program(program), program_generator.draw_feeds(program, draw), program_text(program))


#: Statements of a body, with the type of their result: v float[4], i int64 index, b bool, f float, w float[4,3].
_STATEMENTS = (
    ("v", "Clip ({v}, {f}, {f})"),
    ("v", "Max ({v}, {v})"),
    ("v", "Min ({v}, {f}, {v})"),
    ("v", "Where ({c}, {v}, {v})"),
    ("v", "Add ({v}, {f})"),
    ("v", "Neg ({v})"),
    ("c", "Less ({v}, {f})"),
    ("f", "Gather <axis = 0> ({v}, {i})"),
    ("f", "ReduceMax <keepdims = 0> ({v})"),
    ("f", "Clip ({f}, zero, one)"),
    ("i", "Mod ({k}, four)"),
    ("i", "Cast <to = 7> ({b})"),
    ("i", "ArgMax <axis = 0, keepdims = 0> ({v})"),
    ("k", "Add ({i}, {k})"),
    ("b", "Less ({f}, {f})"),
    ("b", "Equal ({i}, {i})"),
    ("v", "ScatterElements <axis = 0> ({v}, {i1}, {f1})"),
    ("v", "ScatterND ({v}, {i11}, {f1})"),
    ("f", "GatherND ({v}, {i1})"),
    ("v", "GatherElements <axis = 0> ({v}, {i4})"),
    ("f", "ReduceSum <keepdims = 0> ({s})"),
)
_TYPES = {"v": "float[4]", "c": "bool[4]", "f": "float", "i": "int64", "k": "int64", "b": "bool"}
_CONVERSIONS = {
    "i1": "Reshape ({i}, shape1)",
    "i11": "Reshape ({i}, shape11)",
    "i4": "Expand ({i}, shape4)",
    "f1": "Reshape ({f}, shape1)",
    "s": "Slice ({v}, {i1}, {i1})",
}
_BEFORE = (
    "zero = Constant <value_float = 0.0> () one = Constant <value_float = 1.0> () four = Constant <value_int = 4> () "
    "shape1 = Constant <value_ints = [1]> () shape11 = Constant <value_ints = [1, 1]> () "
    "shape4 = Constant <value_ints = [4]> () yes = Constant <value = bool {1}> ()"
)


class _BodyText:
    """Random statements over values by type, of which the last ones are preferred."""

    def __init__(self, draw: ChoiceSource) -> None:
        self.draw, self.count = draw, 0

    def lines(self, values: dict[str, list[str]], number: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(number):
            if depth and self.draw.chance(25):
                lines.append(self.branch(values, depth))
            else:
                kind, statement = self.draw.pick(_STATEMENTS)
                self.add(values, kind, statement, lines)
        return lines

    def add(self, values: dict[str, list[str]], kind: str, statement: str, lines: list[str]) -> str:
        for name in (*_CONVERSIONS, *_TYPES):
            while f"{{{name}}}" in statement:
                if name in _CONVERSIONS:
                    operand = self.add(values, "", _CONVERSIONS[name], lines)
                else:
                    operand = self.draw.pick(values[name][-4:] if self.draw.chance(60) else values[name])
                statement = statement.replace(f"{{{name}}}", operand, 1)
        self.count += 1
        result = f"t{self.count}"
        lines.append(f"{result} = {statement}")
        if kind:
            values[kind].append(result)
        if kind == "i":
            values["k"].append(result)
        return result

    def branch(self, values: dict[str, list[str]], depth: int) -> str:
        condition = self.draw.pick(values["b"])
        kind = self.draw.pick(("v", "f"))
        branches = []
        for name in ("then_branch", "else_branch"):
            inside = {key: list(names) for key, names in values.items()}
            lines = self.lines(inside, self.draw.integer(0, 3), depth - 1)
            self.count += 1
            lines.append(f"t{self.count} = Identity ({inside[kind][-1]})")
            branches.append(f"{name} = graph{self.count} () => ({_TYPES[kind]} t{self.count}) {{ {' '.join(lines)} }}")
        self.count += 1
        values[kind].append(f"t{self.count}")
        return f"t{self.count} = If ({condition}) <{', '.join(branches)}>"

    def loop(self, values: dict[str, list[str]], depth: int) -> str:
        """A Loop, or a Scan over rows, masks and indices."""
        draw, n = self.draw, self.count
        self.count += 1
        inside = {key: list(names) for key, names in values.items()}
        is_scan = draw.chance(35)
        inside["v"].append(f"v{n}")
        inside["k"].append(f"k{n}")
        if is_scan:
            for kind in "fib":
                inside[kind].append(f"{kind}{n}")
        else:
            inside["i"].append(f"m{n}")
            inside["k"].append(f"n{n}")
            inside["b"].append(f"c{n}")
        lines = [] if is_scan else [f"m{n} = Mod (n{n}, four)"]
        lines += self.lines(inside, draw.integer(2, 7), 2)
        if depth and draw.chance(45):
            lines.append(self.loop(inside, depth - 1))
        lines += self.lines(inside, draw.integer(0, 3), 1)
        lines.append(f"vo{n} = Identity ({inside['v'][-1]}) ko{n} = Identity ({inside['k'][-1]})")
        if is_scan:
            body = (
                f"body = graph_b{n} (float[4] v{n}, int64 k{n}, float f{n}, int64 i{n}, bool b{n}) => "
                f"(float[4] vo{n}, int64 ko{n}) {{ {' '.join(lines)} }}"
            )
            result = f"l{n}, j{n} = Scan <num_scan_inputs = 3, {body}> ({values['v'][-1]}, {values['k'][-1]}, R, I, B)"
        else:
            lines.append(f"co{n} = Identity ({draw.pick(inside['b'])})")
            body = (
                f"body = graph_b{n} (int64 n{n}, bool c{n}, float[4] v{n}, int64 k{n}) => "
                f"(bool co{n}, float[4] vo{n}, int64 ko{n}) {{ {' '.join(lines)} }}"
            )
            trips = draw.pick(("M", "M", "four", values["i"][-1]))
            start = draw.pick(("yes", "yes", values["b"][-1]))
            result = f"l{n}, j{n} = Loop <{body}> ({trips}, {start}, {values['v'][-1]}, {values['k'][-1]})"
        values["v"].append(f"l{n}")
        return result


def draw_operands(draw: ChoiceSource) -> CoverageCase:
    """A model of loops with clamps, selections and indices; its Scans have rows that decide something."""
    values = {"v": ["V"], "c": ["C"], "f": ["F", "zero", "one"], "i": ["J"], "k": ["J", "M"], "b": ["Q"]}
    loop = _BodyText(draw).loop(values, 2)
    text = (
        f"g (float[4] V, bool[4] C, float F, int64 J, int64 M, bool Q, float[N] R, int64[N] I, bool[N] B) => "
        f"(float[4] y) {{ {_BEFORE} {loop} y = Identity ({values['v'][-1]}) }}"
    )
    rows = draw.integer(0, 5)

    def numbers(count: int) -> list[float]:
        return [draw.pick((-2.0, -0.5, 0.0, 0.5, 1.0, 3.0, float("nan"))) for _ in range(count)]

    feeds = {
        "V": np.array(numbers(4), np.float32),
        "C": np.array([draw.chance(50) for _ in range(4)]),
        "F": np.float32(numbers(1)[0]),
        "J": np.int64(draw.integer(0, 3)),
        "M": np.int64(draw.integer(0, 6)),
        "Q": np.bool_(draw.chance(50)),
        "R": np.array(numbers(rows), np.float32),
        "I": np.array([draw.integer(-4, 3) for _ in range(rows)], np.int64),
        "B": np.array([draw.chance(50) for _ in range(rows)], bool),
    }
    return CoverageCase(text_model(text), feeds, text)


# -- the facts of a run


@dataclass
class _Entry:
    """What one entry of a loop did so far. ``now``: in the iteration that has not ended."""

    now: set[str] = field(default_factory=set)
    branches_now: list[str] = field(default_factory=list)


class SteppedFacts:
    """The ids of the points that a run hits, by stepping through all of its nodes."""

    def __init__(self, model: loopdbg.Model) -> None:
        self.model = model
        self.engine = Engine(model.plan)
        self.facts: set[str] = set()
        self._paths = dict(_node_paths(model.graph, "main"))
        self._entries: dict[int, _Entry] = {}
        self._ended: Counter[int] = Counter()

    def run(self, feeds: Mapping[str, Any]) -> bool:
        """Run; False: it takes too long."""
        engine = self.engine
        engine.start(self.model.check(feeds))
        engine.set_limits(MAX_ITERATIONS, True)
        engine.stop_before_node()
        engine.stop_anywhere()
        for _ in range(_MAX_NODES):
            event, index = engine.resume()
            if event == "node":
                self._node(index)
            elif event == "boundary":
                self._boundary(index)
            elif event == "limit":
                self.facts.add(f"{engine.plan.loops[index].path}/termination/never")
                return True
            else:
                assert event == "end", event
                return True
            engine.clear_stops()
            engine.stop_at_node(_MAX_DEPTH)
            engine.stop_anywhere()
        return False

    def _boundary(self, index: int) -> None:
        plan = self.engine.plan.loops[index]
        iteration, _, _, reason, _ = self.engine.loop_state(index)
        entry = self._entries.setdefault(index, _Entry())
        if iteration:
            self.facts |= entry.now
            for branch in entry.branches_now:
                self.facts.add(f"{branch} {'first' if iteration == 1 else 'later'}")
            if reason is not None:
                self.facts |= {f"{branch} last" for branch in entry.branches_now}
        if iteration == 2:
            self.facts.add(f"{plan.path}/iterations/many")
        entry.now, entry.branches_now = set(), []
        if reason is not None:
            if iteration < 2:
                self.facts.add(f"{plan.path}/iterations/{('zero', 'one')[iteration]}")
            self.facts.add(f"{plan.path}/termination/{reason}")
            del self._entries[index]

    def _node(self, pc: int) -> None:
        instruction = self.engine.plan.code[pc]
        node, index = instruction.node, instruction.inside
        if index < 0 or node is None:
            return
        plan = self.engine.plan.loops[index]
        entry = self._entries.setdefault(index, _Entry())
        # Nodes of a condition that is tested before its iteration run in the last test as well.
        now = self.facts if pc < plan.head else entry.now
        label = self._paths[node]
        now.add(f"{label}/node")
        if instruction.kind is Opcode.BRANCH:
            taken = bool(np.asarray(self.engine.peek(instruction.inputs[0])).reshape(()))
            entry.branches_now.append(f"{label}/branch/{'then' if taken else 'else'}")
        elif isinstance(node, Operation):
            slots = [None if value is None else self.engine.plan.slot_of[value] for value in node.inputs]
            read = [None if slot is None else self.engine.peek(slot) for slot in slots]
            now |= {f"{label}/{fact}" for fact in _operand_facts(node, read, self.model.graph.system)}


def _node_paths(graph: Graph, path: str) -> Iterator[tuple[Node, str]]:
    for node in graph.nodes:
        yield node, f"{path}/{node.name}"
        if isinstance(node, Loop):
            yield from _node_paths(node.body, f"{path} ▸ {node.name}")
        elif isinstance(node, If):
            yield from _node_paths(node.then_branch, f"{path} ▸ {node.name} (then)")
            yield from _node_paths(node.else_branch, f"{path} ▸ {node.name} (else)")


def _operand_facts(node: Operation, read: list[Any], system: System) -> Iterator[str]:
    """What the operands of one execution of a node say, by plain NumPy."""
    operands = [None if x is None or isinstance(x, list) else np.asarray(x) for x in read]
    attributes = node.attributes
    with np.errstate(all="ignore"):
        match node.op_type:
            case "Clip" | "Clamp":
                x = operands[0]
                bounds = [*operands[1:], None, None]
                low = attributes.get("min") if bounds[0] is None else bounds[0]
                high = attributes.get("max") if bounds[1] is None else bounds[1]
                low, high = (None if end is None else np.asarray(end, x.dtype) for end in (low, high))
                yield from _facts("clamp", below=low is not None and x < low, above=high is not None and x > high)
                within = [x >= low] if low is not None else []
                within += [x <= high] if high is not None else []
                yield from _facts("clamp", inside=np.logical_and.reduce(np.broadcast_arrays(*within)))
            case "Max" | "Min" | "Maximum" | "Minimum":
                names = [value.name for value in node.inputs if value is not None]
                for k, x in enumerate(operands):
                    others = [y for j, y in enumerate(operands) if j != k]
                    wins = [x > y if node.op_type.startswith("Ma") else x < y for y in others]
                    if wins and np.any(np.logical_and.reduce(np.broadcast_arrays(*wins))):
                        yield f"clamp/{names[k] if names.count(names[k]) == 1 else f'input {k}'}"
            case "Where" | "Select":
                yield from _facts("select", true=operands[0], false=~operands[0])
            case "Gather" | "GatherElements" | "ScatterElements" | "ScatterElementsUpdate" | "ScatterUpdate":
                axis = int(attributes.get("axis", 0))
                if system is System.OPENVINO and "axis" not in attributes:
                    axis = int(operands[2 if node.op_type == "Gather" else 3].reshape(-1)[0])
                size = operands[0].shape[axis]
                yield from _facts("index", first=_is_in(operands[1], 0, -size), last=_is_in(operands[1], size - 1, -1))
            case "GatherND" | "ScatterND" | "ScatterNDUpdate":
                batch = int(attributes.get("batch_dims", attributes.get("batched", 0)))
                indices = operands[1]
                sizes = np.array(operands[0].shape[batch : batch + indices.shape[-1]])
                yield from _facts(
                    "index", first=(indices == 0) | (indices == -sizes), last=(indices == sizes - 1) | (indices == -1)
                )
            case "Slice" if len(operands) > 2:
                yield from _slice_facts(operands, system)


def _slice_facts(operands: list[Any], system: System) -> Iterator[str]:
    x, starts, ends = operands[:3]
    order = (4, 3) if system is System.OPENVINO else (3, 4)
    axes, steps = (operands[k].tolist() if k < len(operands) and operands[k] is not None else None for k in order)
    for k, (start, end) in enumerate(zip(starts.reshape(-1).tolist(), ends.reshape(-1).tolist(), strict=True)):
        size = x.shape[k if axes is None else axes[k]]
        step = 1 if steps is None else steps[k]
        begin, stop = (v + size if v < 0 else v for v in (start, end))
        if step > 0:
            yield from _facts("index", first=begin <= 0 < stop, last=begin <= size - 1 < stop)
        else:
            yield from _facts("index", first=stop < 0 <= begin, last=stop < size - 1 <= begin)


def _is_in(indices: Any, *numbers: int) -> Any:
    return np.isin(indices, numbers)


def _facts(kind: str, **ways: Any) -> Iterator[str]:
    for way, holds in ways.items():
        if np.any(holds):
            yield f"{kind}/{way}"


# -- the comparison


def judge_case(name: str) -> str:
    """``equal`` if the coverage has exactly the points that are facts; else DIFFERS."""
    try:
        case = make_case(name)
    except loopdbg.ModelError:
        return "refused"  # a network that its own rules do not allow
    recorders = [CoverageRecorder(case.model, accumulate) for accumulate in (False, True, False)]
    # Scalar programs run from the second boundary on.
    set_optimizer_options(recorders[-1].engine, hot_after=1)
    try:
        # A recorder is used again as its caches must not change what a run covers.
        for recorder in (*recorders, *recorders):
            case.model.execute(case.feeds, max_iterations=MAX_ITERATIONS, observer=recorder)
    except loopdbg.LimitError:
        return "refused"
    except (loopdbg.LoopdbgError, program_oracle.ProgramTooLargeError):
        return "fails"
    stepped = SteppedFacts(case.model)
    if not stepped.run(case.feeds):
        return "too long"
    ids = {point.id for point in recorders[0].points}
    if any("#" in point for point in ids):
        return "names repeat"
    wanted = stepped.facts & ids
    for recorder in recorders:
        if recorder.hits != wanted:
            return f"DIFFERS: missing {sorted(wanted - recorder.hits)}, too much {sorted(recorder.hits - wanted)}"
    return "equal" if ids else "none"


def describe_case(name: str) -> str:
    """A case as text."""
    case = make_case(name)
    return f"{case.text}\n{dict(case.feeds)}"
