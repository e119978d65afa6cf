"""Random loops that write into tensors that they carry, as caches of keys and values are written.

What is written in one iteration is all that is copied in the next one; all ways of running, and onnxruntime, agree.
"""

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
#: Rows, heads and elements of a cache: enough to be renewed; as many stretches as are remembered, and more; small.
SHAPES = ((6, 2, 32), (5, 3, 40), (4, 70, 4), (3, 2, 5))
value = helper.make_tensor_value_info


class Body:
    """Nodes that make caches of caches; all numbers are small whole ones."""

    def __init__(self, draw: Draw, shape: tuple[int, int, int]) -> None:
        self.draw, self.shape, self.count = draw, shape, 0
        self.rng = np.random.default_rng(draw.integer(0, 999))
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

    def place(self, i: str, *shape: int) -> str:
        """A row, which moves with the iterations, as a tensor of indices."""
        times = self.add("Mul", i, self.constant(self.draw.integer(0, 2)))
        moved = self.add("Add", times, self.constant(self.draw.integer(0, 5)))
        row = self.add("Mod", moved, self.constant(self.shape[0]))
        return self.add("Expand", row, self.constant(np.array(shape, np.int64)))

    def update(self, i: str, *shape: int) -> str:
        rows = self.constant(self.rng.integers(-9, 10, shape).astype(np.float32))
        return self.add("Add", rows, self.add("Cast", i, to=F32))

    def write(self, cache: str, i: str) -> str:
        s, h, d = self.shape
        match self.draw.integer(0, 6):
            case 0 | 1:
                reduction = self.draw.pick(("none", "add", "max"))
                return self.add("ScatterND", cache, self.place(i, 1, 1), self.update(i, 1, h, d), reduction=reduction)
            case 2:
                tuples = self.constant(np.array([[0, 1, 3], [s - 1, 0, 2], [0, 1, 3]]))
                return self.add("ScatterND", cache, tuples, self.update(i, 3), reduction="add")
            case 3:
                return self.add("ScatterElements", cache, self.place(i, 1, h, d), self.update(i, 1, h, d), axis=0)
            case 4:
                axis = self.draw.integer(1, 2)
                part = (s, 1, d) if axis == 1 else (s, h, 1)
                at = self.constant(np.full(part, self.draw.integer(0, 1)))
                return self.add("ScatterElements", cache, at, self.update(i, *part), axis=axis)
            case 5:
                at = self.constant(self.rng.integers(0, h, s))
                return self.add("TensorScatter", cache, self.update(i, s, 1, d), at, axis=1)
            case _:
                return self.add("Mul", cache, self.constant(np.float32(self.draw.pick((-1, 1)))))

    def branch(self, caches: list[str], i: str) -> str:
        """Written in some iterations, taken from elsewhere in the others."""
        even = self.add("Equal", self.add("Mod", i, self.constant(2)), self.constant(0))
        graphs = []
        for _ in range(2):
            before, self.nodes = self.nodes, []
            result = self.write(self.draw.pick(caches), i)
            graphs.append(helper.make_graph(self.nodes, "branch", [], [value(result, F32, self.shape)]))
            self.nodes = before
        return self.add("If", even, then_branch=graphs[0], else_branch=graphs[1])

    def inner(self, caches: list[str], i: str) -> str:
        """A loop that writes into what it carries, and perhaps into what the outer one does."""
        before, self.nodes = self.nodes, []
        param, j, go = self.name(), self.name(), self.name()
        result = self.write(self.draw.pick([param, param, *caches]), j)
        result = self.write(result, i) if self.draw.chance(50) else result
        keep = self.add("Identity", go)
        inputs = [value(j, I64, []), value(go, BOOL, []), value(param, F32, self.shape)]
        outputs = [value(keep, BOOL, []), value(result, F32, self.shape)]
        graph = helper.make_graph(self.nodes, "inner", inputs, outputs)
        self.nodes = before
        return self.add("Loop", self.constant(self.draw.integer(0, 4)), "", self.draw.pick(caches), body=graph)


def model(draw: Draw) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A Loop that carries caches, and its inputs."""
    body = Body(draw, draw.pick(SHAPES))
    shape = body.shape
    params = [f"c{k}" for k in range(draw.integer(1, 3))]
    caches = list(params)
    for _ in range(draw.integer(1, 5)):
        make = draw.integer(0, 9)
        last = caches[-1] if draw.chance(60) else draw.pick(caches)
        caches.append(
            body.branch(caches, "i") if make == 0 else body.inner(caches, "i") if make == 1 else body.write(last, "i")
        )
    results = [draw.pick([*caches[-2:], caches[-1], *caches]) for _ in params]
    yielded = [body.add("Identity", r) if draw.chance(10) else r for r in results]
    seen = body.add("ReduceMax", draw.pick(caches), keepdims=0)
    keep = body.add("Identity", "more")
    # One name may stand for several outputs of a body in ONNX, but not in every runtime.
    ends = [r if r not in params and yielded.count(r) == 1 else body.add("Identity", r) for r in yielded]
    inputs = [value("i", I64, []), value("more", BOOL, []), *(value(p, F32, shape) for p in params)]
    outputs = [value(keep, BOOL, []), *(value(r, F32, shape) for r in ends), value(seen, F32, [])]
    outer = [f"x{k}" for k in range(len(params))]
    made = [f"y{k}" for k in range(len(params))]
    graph = helper.make_graph(
        [
            helper.make_node(
                "Loop", ["M", "", *outer], [*made, "ys"], body=helper.make_graph(body.nodes, "body", inputs, outputs)
            )
        ],
        "caches",
        [value("M", I64, []), *(value(x, F32, shape) for x in outer)],
        [*(value(y, F32, shape) for y in made), value("ys", F32, ["n"])],
        body.constants,
    )
    feeds = {x: body.rng.integers(-9, 10, shape).astype(np.float32) for x in outer}
    opsets = [helper.make_opsetid("", 24)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=11), {"M": np.array(draw.integer(0, 12)), **feeds}


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_all_ways_agree(seed: int) -> None:
    draw = FromSeed(seed)
    proto, feeds = model(draw)
    read = loopdbg.Model(frontend.from_proto(proto, "caches"))
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


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_stops_show_the_same(seed: int) -> None:
    """Wherever an execution stands, goes back to or is changed, everything is as where each node makes a whole copy."""
    draw = FromSeed(f"stops {seed}")
    proto, feeds = model(draw)
    read = loopdbg.Model(frontend.from_proto(proto, "caches"))
    engines = [Engine(read.plan), Engine(read.plan)]
    engines[1].binder.native = False
    kept = []
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
                engine.changes.set(slot, engine.value(slot) + number)
        elif move == "on" and engines[0].stack:
            for engine in engines:
                engine.clear_stops()
                engine.stop_at(0, engine.loop_state(0)[0] + number)
                resume(engine)
        elif move in ("boundary", "node"):
            for engine in engines:
                step(engine, move == "node")
        assert visible(engines[0]) == visible(engines[1]), move
    assert finish(engines[0], read) == finish(engines[1], read)


@pytest.mark.parametrize("seed", range(60))
def test_onnxruntime_agrees(seed: int) -> None:
    import onnxruntime

    proto, feeds = model(FromSeed(f"peer {seed}"))
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    peer = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    ours = loopdbg.Model(frontend.from_proto(proto, "caches")).run(feeds)
    for name, theirs in zip(ours, peer.run(list(ours), feeds), strict=True):
        np.testing.assert_array_equal(ours[name], theirs)
