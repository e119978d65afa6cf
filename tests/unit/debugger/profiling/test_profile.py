"""Profiles: which nodes and loops have the time and memory of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from cli_runner import run_cli
from loopdbg.debugger.profiling.profile import (
    LoopCosts,
    MissingNode,
    NodeKind,
    NodeProfile,
    PeerNode,
    PeerProfile,
    Profile,
    Ranking,
    RankReason,
    Segment,
    ValueMemory,
    profile_lines,
)
from loopdbg.debugger.profiling.ranking import rank_nodes
from loopdbg.debugger.profiling.timeline_files import save_timeline
from text_models import ENDLESS, SAMPLES, model, proto, sample

TRIPS, SECONDS = 40, 0.05

#: A large product, a sum of two numbers, and a cache that grows by a row in each iteration and is read as a whole.
GROWING = """
g (int64 M, float[192,192] y0, float[2] x0, float[N,16384] cache0)
    => (float[192,192] y, float[K,16384] cache, float[K,2] s) {
    y, x, cache, s = Loop <body = body (int64 i, bool c, float[192,192] y_in, float[2] x_in, float[N,16384] cache_in)
        => (bool keep, float[192,192] y_out, float[2] x_out, float[L,16384] cache_out, float[2] s_out) {
        keep = Identity (c)
        product = MatMul (y_in, y_in)
        y_out = Tanh (product)
        x_out = Add (x_in, x_in)
        row = Constant <value = int64[2] {1, 16384}> ()
        zeros = ConstantOfShape (row)
        cache_out = Concat <axis = 0> (cache_in, zeros)
        powers = Exp (cache_out)
        total = ReduceSum <keepdims = 0> (powers)
        s_out = Sub (x_out, total)
    }> (M, , y0, x0, cache0)
}"""

#: Two loops, the inner one in a body: its iterations are those of all entries.
NESTED = """
n (float x0) => (float x) {
    three = Constant <value = int64 {3}> ()
    four = Constant <value = int64 {4}> ()
    x = Loop <body = outer (int64 i, bool c, float a) => (bool keep, float b) {
        keep = Identity (c)
        b = Loop <body = inner (int64 j, bool d, float e) => (bool go, float f) {
            go = Identity (d)
            f = Sin (e)
        }> (four, , a)
    }> (three, , x0)
}"""

STRINGS = """
w (int64 M, string[1] s0) => (string[1] s) {
    s = Loop <body = body (int64 i, bool c, string[1] t) => (bool keep, string[1] u) {
        keep = Identity (c)
        u = StringConcat (t, t)
    }> (M, , s0)
}"""


@pytest.fixture(scope="module")
def growing() -> Profile:
    inputs: dict[str, Any] = {"M": TRIPS, "y0": np.eye(192, dtype=np.float32), "x0": [0.0, 1.0]}
    inputs["cache0"] = np.zeros((1, 16384), np.float32)
    profile: Profile = model(GROWING).profile(inputs, seconds=0.5)
    return profile


def node(profile: Profile, op_type: str) -> NodeProfile:
    (only,) = (node for node in profile.nodes if node.op_type == op_type)
    return only


def test_large_product_has_most_of_the_time(growing: Profile) -> None:
    product = node(growing, "MatMul")
    assert product.calls == TRIPS and product.kind is NodeKind.KERNEL
    assert product.seconds > 20 * node(growing, "Add").seconds
    assert [n.seconds for n in growing.nodes] == sorted((n.seconds for n in growing.nodes), reverse=True)


def test_parts_add_up_to_the_run(growing: Profile) -> None:
    (loop,) = growing.loops
    parts = sum(n.seconds for n in growing.nodes) + growing.boundary_seconds
    assert min(growing.begin_seconds, growing.output_seconds) > 0
    ends = growing.begin_seconds + growing.output_seconds
    assert parts + ends + growing.other_seconds == pytest.approx(growing.seconds, rel=1e-6)
    assert loop.seconds == pytest.approx(sum(n.seconds for n in growing.nodes if n.loop == loop.path)
                                         + loop.boundary_seconds, rel=1e-6)  # fmt: skip
    assert (loop.iterations, loop.entries) == (TRIPS, 1)


def test_segments_cover_all_iterations(growing: Profile) -> None:
    (loop,) = growing.loops
    assert [segment.first for segment in loop.segments] == list(range(TRIPS))
    assert [segment.end for segment in loop.segments] == list(range(1, TRIPS + 1))
    assert all(len(n.seconds_by_segment) == TRIPS for n in growing.nodes if n.loop == loop.path)


def test_growing_value_and_the_node_that_reads_all_of_it(growing: Profile) -> None:
    values = {value.name: value for value in growing.loops[0].values}
    cache = values["cache_in"]
    assert (cache.kind, cache.dtype, cache.grows) == ("carried", "float32", True)
    assert (cache.first_shape, cache.last_shape) == ((1, 16384), (1 + TRIPS, 16384))
    assert cache.last_bytes == (1 + TRIPS) * 16384 * 4
    assert not values["y_in"].grows
    assert (values["s"].kind, values["s"].last_shape, values["s"].last_bytes) == ("scan output", (TRIPS, 2), TRIPS * 8)
    powers = node(growing, "Exp").seconds_by_segment
    assert sum(powers[-10:]) > 2 * sum(powers[:10])


def test_nested_loop_counts_all_entries() -> None:
    profile = model(NESTED).profile({"x0": 1.0}, seconds=SECONDS)
    outer, inner = profile.loops
    assert (outer.path, outer.iterations, outer.entries) == ("main ▸ Loop_2", 3, 1)
    assert (inner.path, inner.iterations, inner.entries) == ("main ▸ Loop_2 ▸ Loop_1", 12, 3)
    assert outer.seconds >= inner.seconds > 0
    assert node(profile, "Sin").calls == 12 and node(profile, "Sin").loop == inner.path


def test_loop_over_small_values_runs_as_one_program() -> None:
    loaded, inputs = sample("counter.onnx", max_trips=100_000, limit=10**9)
    profile = loaded.profile(inputs, seconds=SECONDS)
    (program,) = (n for n in profile.nodes if n.kind is NodeKind.PROGRAM)
    assert program.loop == "main ▸ counter" and len(program.members) == 2
    assert program.seconds > 0.9 * profile.loops[0].seconds
    assert not profile.loops[0].segments
    assert all(n.loop == "main" for n in profile.nodes if n is not program)


def test_node_without_a_kernel_is_in_python() -> None:
    profile = model(STRINGS).profile({"M": 3, "s0": np.array(["a"], object)}, seconds=SECONDS)
    assert node(profile, "StringConcat").kind is NodeKind.PYTHON
    assert profile.seconds_of(NodeKind.PYTHON) > 0


def test_main_graph_alone_has_nodes_and_no_loop() -> None:
    profile = model("g (float x) => (float y) { y = Sin (x) }").profile({"x": 1.0}, seconds=SECONDS)
    assert profile.loops == () and [n.loop for n in profile.nodes] == ["main"]


def test_results_are_the_same_after_a_profile() -> None:
    loaded, inputs = sample("newton_sqrt.onnx")
    before = loaded.run(inputs)
    loaded.profile(inputs, seconds=SECONDS)
    after = loaded.run(inputs)
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)


def test_variables_are_not_changed() -> None:
    loaded, inputs = sample("newton_sqrt.onnx")
    loaded.profile(inputs, seconds=SECONDS)
    assert loaded.state == {}


def test_endless_run_is_measured_up_to_the_limit() -> None:
    profile = model(ENDLESS).profile({"v0": 0.5}, seconds=SECONDS, max_iterations=7)
    assert profile.loops[0].iterations == 7
    assert profile.notes[-1].endswith("measured up to there")


def test_loop_that_nothing_ends_is_refused() -> None:
    loaded, inputs = sample("loop_infinite.xml")
    with pytest.raises(loopdbg.LimitError) as caught:
        loaded.profile(inputs)
    assert caught.value.loop == "leibniz"


def test_recording_cannot_be_measured(tmp_path: Path) -> None:
    with loopdbg.debug(*sample("newton_sqrt.onnx")) as session:
        assert session.profile().loops[0].iterations == 5
        assert session.frame.iteration == 0
        session.record(tmp_path / "run.loopdb")
    with loopdbg.Trace.open(tmp_path / "run.loopdb") as trace, pytest.raises(loopdbg.UsageError, match="profile"):
        loopdbg.Replay(trace).profile()


@pytest.mark.parametrize(("name", "peer"), [("greedy_decoder.onnx", "onnxruntime"), ("lstm.xml", "openvino")])
def test_peer_runs_the_same_model(name: str, peer: str) -> None:
    pytest.importorskip(peer)
    loaded, inputs = sample(name)
    profile = loaded.profile(inputs, seconds=0.2, against=peer)
    assert profile.peer is not None and profile.peer.name == peer
    assert profile.peer.seconds > 0 and profile.peer.nodes
    if peer == "onnxruntime":
        (argmax,) = (n for n in profile.peer.nodes if n.op_type == "ArgMax")
        assert argmax.calls == profile.loops[0].iterations and argmax.is_matched
        assert node(profile, "ArgMax").peer_seconds == argmax.seconds
        assert not {n.op_type for n in profile.peer.nodes} & {"Loop", "If", "Scan"}


#: Two loops with the same derived names of nodes, and Constants, which onnxruntime does not number.
UNNAMED = """
u (int64 M, float[64,64] y0) => (float[64,64] z) {
    y = Loop <body = first (int64 i, bool c, float[64,64] y_in) => (bool keep, float[64,64] y_out) {
        keep = Identity (c)
        k = Constant <value = float {2}> ()
        a = Tanh (y_in)
        half = Constant <value = float {0.5}> ()
        b = Sub (a, half)
        y_out = MatMul (b, y_in)
    }> (M, , y0)
    z = Loop <body = second (int64 i, bool c, float[64,64] z_in) => (bool keep, float[64,64] z_out) {
        keep = Identity (c)
        k = Constant <value = float {2}> ()
        a = Tanh (z_in)
        half = Constant <value = float {0.5}> ()
        b = Sub (a, half)
        z_out = MatMul (b, z_in)
    }> (M, , y)
}"""


def test_nodes_without_names_have_the_time_of_the_same_ones_in_onnxruntime(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "unnamed.onnx"
    path.write_bytes(proto(UNNAMED).SerializeToString())
    inputs = {"M": 5, "y0": np.eye(64, dtype=np.float32)}
    profile = loopdbg.load(path).profile(inputs, seconds=0.2, against="onnxruntime")
    assert profile.peer is not None
    products = [n for n in profile.nodes if n.op_type == "MatMul"]
    assert len(products) == 2 and {n.loop for n in products} == {loop.path for loop in profile.loops}
    times = sorted(n.seconds for n in profile.peer.nodes if n.op_type == "MatMul")
    assert sorted(n.peer_seconds or 0.0 for n in products) == times
    assert {n.name for n in profile.peer.nodes if n.op_type == "MatMul"} == {"MatMul_5"}
    assert all(n.is_matched for n in profile.peer.nodes)


def test_nodes_that_run_together_have_the_time_of_all() -> None:
    pytest.importorskip("onnxruntime")
    text = """
    g (int64 M, float[256,256] y0) => (float[256,256] y) {
        y = Loop <body = body (int64 i, bool c, float[256,256] y_in) => (bool keep, float[256,256] y_out) {
            keep = Identity (c)
            a = Tanh (y_in)
            b = Mul (a, a)
            y_out = Sub (b, a)
        }> (M, , y0)
    }"""
    inputs = {"M": 20, "y0": np.full((256, 256), 0.5, np.float32)}
    profile = model(text).profile(inputs, seconds=0.2, against="onnxruntime")
    (group,) = (n for n in profile.nodes if n.kind is NodeKind.GROUP)
    assert profile.peer is not None and group.calls == 20
    times = {n.name: n.seconds for n in profile.peer.nodes}
    assert group.peer_seconds == pytest.approx(sum(times[name] for name in group.members if name in times))
    assert len(set(group.members) & set(times)) == 3


def test_lstm_has_the_time_of_the_one_node_in_onnxruntime() -> None:
    pytest.importorskip("onnxruntime")
    text = """
    g (float[6,1,4] X, float[1,16,4] W, float[1,16,4] R) => (float[6,1,1,4] Y) {
        [layer] Y = LSTM <hidden_size = 4> (X, W, R)
    }"""
    shapes = {"X": (6, 1, 4), "W": (1, 16, 4), "R": (1, 16, 4)}
    inputs = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    profile = model(text).profile(inputs, seconds=0.2, against="onnxruntime")
    (loop,) = profile.loops
    assert profile.peer is not None and [n.is_matched for n in profile.peer.nodes] == [True]
    assert loop.peer_seconds == profile.peer.nodes[0].seconds
    assert "; onnxruntime " in next(line for line in str(profile).splitlines() if line.startswith("loop "))


def test_lstm_in_two_directions_is_one_node_in_onnxruntime() -> None:
    pytest.importorskip("onnxruntime")
    text = """
    g (float[6,1,4] X, float[2,16,4] W, float[2,16,4] R) => (float[6,2,1,4] Y) {
        [layer] Y = LSTM <hidden_size = 4, direction = "bidirectional"> (X, W, R)
    }"""
    shapes = {"X": (6, 1, 4), "W": (2, 16, 4), "R": (2, 16, 4)}
    inputs = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    profile = model(text).profile(inputs, seconds=0.2, against="onnxruntime")
    assert profile.peer is not None and [n.is_matched for n in profile.peer.nodes] == [True]
    assert [loop.peer_seconds for loop in profile.loops] == [profile.peer.nodes[0].seconds, None]


#: A node in a branch that only the first iteration takes, and one whose inputs never change.
BRANCH = """
b (int64 M, float[32] y0, float[32] k) => (float[32] y) {
    y = Loop <body = body (int64 i, bool c, float[32] y_in) => (bool keep, float[32] y_out) {
        keep = Identity (c)
        rate = Exp (k)
        zero = Constant <value = int64 {0}> ()
        is_first = Equal (i, zero)
        x = If (is_first) <then_branch = first () => (float[32] p) { p = Sin (y_in) },
                           else_branch = later () => (float[32] q) { q = Cos (y_in) }>
        y_out = Mul (x, rate)
    }> (M, , y0)
}"""


def test_nodes_of_the_main_graph_run_together_while_they_are_measured() -> None:
    text = "g (float[256,256] x) => (float[256,256] y) { a = Add (x, x)  b = Mul (a, x)  y = Sub (b, a) }"
    profile = model(text).profile({"x": np.full((256, 256), 0.5, np.float32)}, seconds=SECONDS)
    assert [(n.kind, len(n.members)) for n in profile.nodes] == [(NodeKind.GROUP, 3)]


def test_calls_are_counted() -> None:
    inputs = {"M": 9, "y0": np.ones(32, np.float32), "k": np.zeros(32, np.float32)}
    profile = model(BRANCH).profile(inputs, seconds=SECONDS)
    calls = {n.op_type: n.calls for n in profile.nodes}
    assert calls["Sin"] == 1 and calls["Cos"] == 8 and calls["Exp"] == 1 and calls["Mul"] == 9
    assert calls["Constant"] == 0


def test_peer_that_refuses_a_model_is_named() -> None:
    pytest.importorskip("openvino")
    with pytest.raises(loopdbg.UsageError, match="openvino refuses the model"):
        model(STRINGS).profile({"M": 3, "s0": np.array(["a"], object)}, seconds=SECONDS, against="openvino")


SMALL_PROFILE = Profile(
    "made.onnx", 3, 1e-3, 1.1e-3, 1.05e-3, 2e-8,
    (
        NodeProfile("big", "MatMul", "main ▸ l", 8, 6e-4, 5, NodeKind.KERNEL, "y = x @ w", (),
                    (5e-5,) * 4 + (1e-4,) * 4, 2e-3),
        NodeProfile("a", "Add", "main ▸ l", 8, 2e-4, 6, NodeKind.GROUP, "a = y + 1", ("a", "b"), (2.5e-5,) * 8),
        NodeProfile("first", "Sin", "main", 1, 1e-4, 0, NodeKind.PYTHON, "s = sin(x)"),
    ),
    (
        LoopCosts("main ▸ l", "Loop", 8, 1, 8.5e-4, 5e-5,
                    tuple(Segment(k, k + 1, 1e-4 if k < 4 else 1.5e-4) for k in range(8)),
                    (ValueMemory("h", "carried", "float32", (4,), (4,), 16, 16),
                     ValueMemory("cache", "carried", "float32", (0, 4), (8, 4), 0, 128))),
    ),
    PeerProfile("onnxruntime", "1.0", 4e-3, 4.4e-3, (PeerNode("big", "MatMul", 2e-3, 8, True),
                                                     PeerNode("own", "Reshape", 1e-3, 8)), True,
                Ranking(1, 3, 2e-6, (MissingNode("a", "Add", "main ▸ l", RankReason.DISPATCH),
                                     MissingNode("k", "Exp", "main ▸ l", RankReason.FEWER_CALLS)))),
    ("a note",),
    begin_seconds=2e-5, output_seconds=1e-5, every=4,
)  # fmt: skip


def test_table() -> None:
    assert str(SMALL_PROFILE).splitlines() == [
        "made.onnx: 1 ms a run, the fastest of 3 (median 1.1 ms)",
        "  kernels 80.0%, nodes in Python 10.0%, boundaries of loops 5.0%, begin 2.0%, outputs 1.0%, rest 2.0%",
        "  nodes were measured in one of 4 iterations: the clock takes long next to them",
        "onnxruntime 1.0: 4 ms a run, 4 times as long",
        "  its nodes 75.0%, between them (dispatch, copies) 25.0%",
        "  of the 3 nodes that take it longest, 1 is among those that take longest here; the others: 1 computed once "
        "here, 1 mostly dispatch there (its shortest call takes 2 us)",
        "",
        "loop main ▸ l: 8 iterations, 0.85 ms (85.0%), 0.11 ms each; its boundaries 5.9%",
        "  grows: 0.1 ms to 0.15 ms an iteration; MatMul 'big' 50 us to 0.1 ms",
        "  carried cache: float32 [0, 4] to [8, 4], 0 B to 128 B",
        "  carried h: float32 [4], 16 B",
        "",
        "  time  share  calls    each  onnxruntime  node",
        "0.6 ms  60.0%      8   75 us         2 ms  MatMul in l: y = x @ w",
        "0.2 ms  20.0%      8   25 us            -  Add in l: a = y + 1  (group of 2)",
        "0.1 ms  10.0%      1  0.1 ms            -  Sin: s = sin(x)  (in Python)",
        "",
        "nodes of onnxruntime without a node of the same name here",
        "time  share  calls  node",
        "1 ms  22.7%      8  Reshape 'own'",
        "note: a note",
    ]


def test_nodes_that_take_a_peer_long_but_not_this_engine_have_a_reason() -> None:
    def ranked(name: str, seconds: float, calls: int, peer_seconds: float, kind: NodeKind) -> NodeProfile:
        return NodeProfile(name, "Op", "main ▸ l", calls, seconds, kind=kind, peer_seconds=peer_seconds, peer_calls=100)

    long_in_peer = [
        ranked("both", 1.0, 100, 1.0, NodeKind.KERNEL),
        ranked("once", 1e-6, 1, 0.9, NodeKind.KERNEL),
        ranked("batch", 1e-6, 100, 0.8, NodeKind.BATCH),
        ranked("kernel", 1e-6, 100, 0.7, NodeKind.KERNEL),
        ranked("short", 1e-6, 100, 0.04, NodeKind.GROUP),
    ]
    long_here = [ranked(f"here {k}", 0.1, 100, 0.015, NodeKind.KERNEL) for k in range(10)]
    nodes = (*long_in_peer, *long_here)
    peer = PeerProfile("onnxruntime", "1.0", 3.0, 3.0, tuple(
        PeerNode(n.name, n.op_type, n.peer_seconds or 0.0, n.peer_calls, True) for n in nodes
    ), True)  # fmt: skip
    ranking = rank_nodes(replace(SMALL_PROFILE, nodes=nodes, loops=(), peer=peer))
    assert (ranking.common, ranking.count, ranking.call_seconds) == (1, 5, pytest.approx(1.5e-4))
    assert {node.name: node.reason.value for node in ranking.missing} == {
        "once": "fewer-calls", "batch": "together", "kernel": "kernel", "short": "dispatch",
    }  # fmt: skip


def test_nodes_that_take_as_long_as_others_tie() -> None:
    """Eleven equal nodes: which one is not among the ten is chance. One that takes longer is none of them."""
    order = np.random.default_rng(4).permutation(11)
    equal = [
        NodeProfile(
            f"equal {k}", "Op", "main ▸ l", 100, 1 + 0.001 * k, peer_seconds=1 + 0.001 * order[k], peer_calls=100
        )
        for k in range(11)
    ]
    unlike = NodeProfile("unlike", "Op", "main ▸ l", 100, 1e-6, peer_seconds=9.0, peer_calls=100)

    def reasons(*nodes: NodeProfile) -> list[tuple[str, RankReason]]:
        peer = PeerProfile("onnxruntime", "1.0", 3.0, 3.0, tuple(
            PeerNode(n.name, n.op_type, n.peer_seconds or 0.0, n.peer_calls, True) for n in nodes
        ), True)  # fmt: skip
        ranking = rank_nodes(replace(SMALL_PROFILE, nodes=nodes, loops=(), peer=peer))
        return [(node.name, node.reason) for node in ranking.missing]

    assert reasons(*equal) == [("equal 0", RankReason.TIE)]
    assert ("unlike", RankReason.KERNEL) in reasons(*equal, unlike)


def test_perfetto_timeline_nests_nodes_in_iterations(tmp_path: Path) -> None:
    save_timeline(SMALL_PROFILE, tmp_path / "a.perfetto.json")
    events = json.loads((tmp_path / "a.perfetto.json").read_text())["traceEvents"]
    iterations = [event for event in events if event["cat"] == "iteration"]
    assert [event["name"] for event in iterations] == [f"iteration {k}" for k in range(8)]
    assert [event["dur"] for event in iterations] == pytest.approx([100.0] * 4 + [150.0] * 4)
    for event in events:
        around = [e for e in iterations if e["ts"] <= event["ts"] + 1e-6 and event["ts"] < e["ts"] + e["dur"] - 1e-6]
        assert event["cat"] not in ("MatMul", "Add") or len(around) == 1
    assert [e["dur"] for e in events if e["cat"] == "MatMul"] == pytest.approx([50.0] * 4 + [100.0] * 4)


def test_speedscope_timeline_closes_what_it_opens(tmp_path: Path) -> None:
    save_timeline(SMALL_PROFILE, tmp_path / "a.speedscope.json")
    document = json.loads((tmp_path / "a.speedscope.json").read_text())
    (profile,) = document["profiles"]
    opened: list[int] = []
    times = [event["at"] for event in profile["events"]]
    for event in profile["events"]:
        if event["type"] == "O":
            opened.append(event["frame"])
        else:
            assert opened.pop() == event["frame"]
    assert not opened and times == sorted(times) and times[-1] == profile["endValue"]
    assert len(document["shared"]["frames"]) == len({frame["name"] for frame in document["shared"]["frames"]})


def test_command_line_prints_json_and_writes_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.svg", "a.perfetto.json")]
    options = [word for file in files for word in ("-o", file)]
    ran = run_cli(capsys, "profile", SAMPLES / "greedy_decoder.onnx", "--seconds", SECONDS, "--json", *options)
    assert ran.status == 0
    report = json.loads(ran.out)
    assert report["loops"][0]["path"] == "main ▸ decode" and report["nodes"][0]["seconds"] > 0
    assert "<svg" in files[0].read_text() and json.loads(files[1].read_text())["traceEvents"]


@pytest.mark.parametrize("name", ["a.txt", "a.json", "missing/a.svg"])
def test_file_that_cannot_be_written_is_refused_first(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ran = run_cli(capsys, "profile", SAMPLES / "greedy_decoder.onnx", "-o", tmp_path / name)
    assert ran.status == 2 and name.rpartition("/")[0] in ran.error_line


def test_loop_without_measured_iterations_has_no_figure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    limit = ("--max-iterations", "100000")
    path = SAMPLES / "loop_infinite.xml"
    ran = run_cli(capsys, "profile", path, *limit, "--seconds", SECONDS, "-o", tmp_path / "a.svg")
    assert ran.status == 2 and "measured by themselves" in ran.err


def test_command_is_no_peer_to_measure() -> None:
    loaded, inputs = sample("newton_sqrt.onnx")
    with pytest.raises(loopdbg.UsageError, match="does not say what its nodes take"):
        loaded.profile(inputs, seconds=SECONDS, against="cmd:false {model} {inputs} {outputs}")


def test_operators_add_up_their_nodes() -> None:
    first, second = (NodeProfile(name, "Add", "main", 1, seconds) for name, seconds in (("a", 1e-3), ("b", 3e-3)))
    single = NodeProfile("c", "MatMul", "main", 1, 3.5e-3)
    profile = Profile("m.onnx", 1, 0.01, 0.01, 0.01, 0.0, (single, second, first), ())
    assert [(o.op_type, o.seconds) for o in profile.operators] == [("Add", pytest.approx(4e-3)), ("MatMul", 3.5e-3)]
    assert "by operator: Add 40.0% (2 nodes)" in "\n".join(profile_lines(profile, 1))
    assert "by operator" not in str(profile)
