"""Random loops that carry sequences: all ways of running, and onnxruntime, agree, and no sequence ever changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import loopdbg
import ways
from engine_state import finish, resume, step, visible
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frontends.onnx import reader as frontend
from strategies.draws import Draw, FromSeed

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
value = helper.make_tensor_value_info


def sequence(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_sequence_value_info(name, F32, None)


class Body:
    """Nodes that make sequences of sequences. Each has an element at least; all elements are [n, 2], all of one n
    where ``alike``."""

    def __init__(self, draw: Draw) -> None:
        self.draw, self.count, self.alike = draw, 0, draw.chance(60)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def add(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        name = self.name()
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        return name

    def constant(self, array: Any) -> str:
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def tensor(self, i: str) -> str:
        rows = 3 if self.alike else self.draw.integer(0, 3)
        return self.add(
            "Add", self.constant(np.full((rows, 2), self.draw.integer(-9, 9), np.float32)), self.as_float(i)
        )

    def as_float(self, number: str) -> str:
        return self.add("Cast", number, to=F32)

    def position(self, s: str, i: str) -> str:
        """A place of an element, from either end."""
        length = self.add("SequenceLength", s)
        at = self.add("Mod", self.add("Add", i, self.constant(self.draw.integer(0, 3))), length)
        return self.add("Sub", at, length) if self.draw.chance(30) else at

    def change(self, s: str, i: str) -> str:
        match self.draw.integer(0, 7):
            case 0 | 1 | 2:
                return self.add("SequenceInsert", s, self.tensor(i))
            case 3:
                return self.add("SequenceInsert", s, self.tensor(i), self.position(s, i))
            case 4:
                return self.add("SequenceInsert", s, self.add("SequenceAt", s, self.position(s, i)))
            case 5:
                longer = self.add("SequenceInsert", s, self.tensor(i))
                return self.add("SequenceErase", longer, *([self.position(s, i)] if self.draw.chance(50) else []))
            case 6:
                return self.add("SequenceConstruct", *(self.tensor(i) for _ in range(self.draw.integer(1, 3))))
            case _:
                if self.alike:
                    x = self.add("Concat", self.tensor(i), self.tensor(i), axis=0)
                    return self.add("SplitToSequence", x, self.constant(3), axis=0)
                return self.add("Identity", s)

    def branch(self, known: list[str], i: str) -> str:
        even = self.add("Equal", self.add("Mod", i, self.constant(2)), self.constant(0))
        graphs = []
        for _ in range(2):
            before, self.nodes = self.nodes, []
            result = self.change(self.draw.pick(known), i)
            graphs.append(helper.make_graph(self.nodes, "branch", [], [sequence(result)]))
            self.nodes = before
        return self.add("If", even, then_branch=graphs[0], else_branch=graphs[1])

    def inner(self, known: list[str], i: str) -> str:
        before, self.nodes = self.nodes, []
        param, j, go = self.name(), self.name(), self.name()
        result = self.change(self.draw.pick([param, param, *known]), j)
        keep = self.add("Identity", go)
        inputs = [value(j, I64, []), value(go, BOOL, []), sequence(param)]
        graph = helper.make_graph(self.nodes, "inner", inputs, [value(keep, BOOL, []), sequence(result)])
        self.nodes = before
        return self.add("Loop", self.constant(self.draw.integer(0, 4)), "", self.draw.pick(known), body=graph)

    def seen(self, s: str, i: str) -> str:
        """A number that a sequence gives."""
        match self.draw.integer(0, 2):
            case 0:
                return self.as_float(self.add("SequenceLength", s))
            case 1:
                return self.add("ReduceSum", self.add("SequenceAt", s, self.position(s, i)), keepdims=0)
            case _:
                stack = int(self.alike and self.draw.chance(50))
                joined = self.add("ConcatFromSequence", s, axis=self.draw.integer(0, 2) if stack else 0, new_axis=stack)
                return self.add("ReduceSum", joined, keepdims=0)


def model(draw: Draw) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A Loop that carries sequences, and its inputs."""
    body = Body(draw)
    params = [f"s{k}" for k in range(draw.integer(1, 3))]
    known = list(params)
    for _ in range(draw.integer(1, 5)):
        make = draw.integer(0, 9)
        last = known[-1] if draw.chance(60) else draw.pick(known)
        known.append(
            body.branch(known, "i") if make == 0 else body.inner(known, "i") if make == 1 else body.change(last, "i")
        )
    results = [draw.pick([*known[-2:], known[-1], *known]) for _ in params]
    seen = body.seen(draw.pick(known), "i")
    keep = body.add("Identity", "more")
    # One name may stand for several outputs of a body in ONNX, but not in every runtime.
    ends = [r if r not in params and results.count(r) == 1 else body.add("Identity", r) for r in results]
    inputs = [value("i", I64, []), value("more", BOOL, []), *map(sequence, params)]
    outputs = [value(keep, BOOL, []), *map(sequence, ends), value(seen, F32, [])]
    outer = [f"x{k}" for k in range(len(params))]
    made = [f"y{k}" for k in range(len(params))]
    loop = helper.make_node(
        "Loop", ["M", "", *outer], [*made, "ys"], body=helper.make_graph(body.nodes, "body", inputs, outputs)
    )
    joined = helper.make_node("ConcatFromSequence", [made[0]], ["all"], axis=0)
    graph = helper.make_graph(
        [loop, joined],
        "sequences",
        [value("M", I64, []), *map(sequence, outer)],
        [*map(sequence, made), value("ys", F32, ["n"]), value("all", F32, None)],
        body.constants,
    )
    rng = np.random.default_rng(draw.integer(0, 999))
    feeds = {
        x: [
            rng.integers(-9, 10, (3 if body.alike else draw.integer(0, 3), 2)).astype(np.float32)
            for _ in range(draw.integer(1, 3))
        ]
        for x in outer
    }
    opsets = [helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), {"M": np.array(draw.integer(0, 12)), **feeds}


@settings(max_examples=70, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_all_ways_agree(seed: int) -> None:
    draw = FromSeed(seed)
    proto, feeds = model(draw)
    read = loopdbg.Model(frontend.from_proto(proto, "sequences"))
    expected = ways.by_engine(read, feeds, ways.python_only)
    assert expected[0] is None, expected
    for _ in range(2):
        assert ways.executed(read, feeds) == expected
    stops = ways.hooked(read, feeds)
    assert stops[0] == expected
    known = {state[:3]: state for state in stops[1]}
    ended, stood = ways.debugged(read, feeds)
    assert ended == expected
    assert [known[state[:3]] for state in stood] == stood
    assert ways.recorded(read, feeds)[0] == expected
    assert ways.there_and_back(read, feeds, draw) == expected
    assert ways.by_engine(read, feeds, drive=ways.by_nodes(9)) == expected


def changed(carried: Any, number: int) -> Any:
    """Another sequence than a carried one: other numbers, one more element, or one less."""
    other = [x + number for x in carried]
    return other + other[:1] if number == 1 else other[:-1] or other if number == 2 else other


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_stops_show_the_same(seed: int) -> None:
    """Wherever an execution stands, goes back to or is changed, all is as where each node runs in Python; and what was
    seen of it stays as it was."""
    draw = FromSeed(f"stops {seed}")
    proto, feeds = model(draw)
    read = loopdbg.Model(frontend.from_proto(proto, "sequences"))
    engines = [Engine(read.plan), Engine(read.plan)]
    engines[1].binder.native = False
    kept, seen = [], []
    for engine in engines:
        engine.start(read.check(feeds))
    for _ in range(draw.integer(4, 25)):
        move, number = draw.pick(("boundary", "boundary", "node", "on", "save", "back", "set")), draw.integer(1, 3)
        if move == "save":
            kept.append([engine.checkpoints.take() for engine in engines])
        elif move == "back" and kept:
            for engine, checkpoint in zip(engines, draw.pick(kept), strict=True):
                engine.checkpoints.restore(checkpoint)
        elif move == "set" and engines[0].stack:
            slot = draw.pick([edge.param for edge in read.plan.loops[engines[0].stack[-1]].edges])
            for engine in engines:
                engine.changes.set(slot, changed(engine.value(slot), number))
        elif move == "on" and engines[0].stack:
            for engine in engines:
                engine.clear_stops()
                engine.stop_at(0, engine.loop_state(0)[0] + number)
                resume(engine)
        elif move in ("boundary", "node"):
            for engine in engines:
                step(engine, move == "node")
        assert visible(engines[0]) == visible(engines[1]), move
        if engines[0].stack:
            values = [engines[0].value(edge.param) for edge in read.plan.loops[engines[0].stack[0]].edges]
            seen.append((values, ways.plain(values)))
    assert finish(engines[0], read) == finish(engines[1], read)
    assert all(ways.plain(values) == before for values, before in seen)


@pytest.mark.parametrize("seed", range(60))
def test_onnxruntime_agrees(seed: int) -> None:
    import onnxruntime

    proto, feeds = model(FromSeed(f"peer {seed}"))
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    peer = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    ours = loopdbg.Model(frontend.from_proto(proto, "sequences")).run(feeds)
    for name, theirs in zip(ours, peer.run(list(ours), feeds), strict=True):
        assert ways.plain(ours[name]) == ways.plain(theirs)
