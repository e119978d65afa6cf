"""``diff --against``: every sample model is the same in every peer, and what differs elsewhere is what is predicted."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
import text_models
from cli_runner import run_cli as command
from loopdbg.debugger.compare.live_peer.peer_comparison import PeerComparison, compare_with_peer
from loopdbg.debugger.compare.report import text_report
from loopdbg.debugger.compare.report.findings import Comparison, Verdict
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.peers.process import Peer
from loopdbg.runtime.errors import UsageError
from loopdbg.runtime.graph import loops
from text_models import SAMPLES, loop_text

ONNX = sorted(path.name for path in SAMPLES.glob("*.onnx"))
IR = ["lstm.xml", *sorted(path.name for path in SAMPLES.glob("*.xml") if path.name != "lstm.xml")]
#: It never ends by itself, so it is compared as far as asked, and not free-running.
ENDLESS = "loop_infinite.xml"
#: Fewer pixels, of which some end by their trip count and most by their condition, as all 288 do.
SMALLER: dict[str, dict[str, Any]] = {"mandelbrot.onnx": {"height": np.array(5), "width": np.array(8)}}
#: Seconds that any answer may take on a busy machine.
PATIENCE = 300


@pytest.fixture(scope="module")
def onnxruntime() -> Iterator[Peer]:
    with Peer("onnxruntime", PATIENCE) as peer:
        yield peer


@pytest.fixture(scope="module")
def openvino() -> Iterator[Peer]:
    with Peer("openvino", PATIENCE) as peer:
        yield peer


def give_up_soon(peer: Peer, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait one second in the run that will hang, counted from 1; what has an answer may take its time."""
    asked, runs = peer.request, itertools.count(1)

    def ask(what: str, *more: Any) -> Any:
        peer.timeout = 1 if what == "run" and next(runs) == number else PATIENCE
        return asked(what, *more)

    monkeypatch.setattr(peer, "request", ask)


@pytest.fixture
def peers(onnxruntime: Peer, openvino: Peer) -> dict[str, Peer]:
    return {"onnxruntime": onnxruntime, "openvino": openvino}


def inputs_of(name: str) -> dict[str, Any]:
    with np.load((SAMPLES / name).with_suffix(".inputs.npz")) as archive:
        return dict(archive)


# ------------------------------------------------------------------ sample models


@pytest.mark.parametrize(
    ("name", "who"), [*((n, "onnxruntime") for n in ONNX), *((n, "openvino") for n in (*ONNX, *IR))]
)
def test_sample_models_are_the_same(peers: dict[str, Peer], name: str, who: str) -> None:
    model, inputs = loopdbg.load(SAMPLES / name), inputs_of(name) | SMALLER.get(name, {})
    limit = 20 if name == ENDLESS else None
    result = compare_with_peer(model, inputs, peers[who], ComparisonOptions(), limit=limit)
    lockstep, free = result.comparisons
    assert result.same, result
    # All loops were compared, in as many iterations as they ran.
    ran = model.execute(inputs, max_iterations=limit)
    assert {loop.left: loop.iterations for loop in lockstep.loops} == {loop.path: loop.iterations for loop in ran.loops}
    if name == ENDLESS:
        assert free.empty and "the limit of iterations" in free.notes[0]
        return
    assert free.compared_outputs == len(model.outputs)
    outermost = {loop.path: loop.iterations for loop in ran.loops if loop.path.count("▸") == 1}
    assert {loop.left: loop.right_trips for loop in free.loops} == outermost
    assert not lockstep.notes and not free.notes


def test_numbers_are_given_as_a_run_takes_them(peers: dict[str, Peer]) -> None:
    model = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    result = compare_with_peer(model, {"a": 2.0, "tol": 1e-6}, peers["onnxruntime"], ComparisonOptions())
    assert result.same and len(result.comparisons) == 2, result


# ------------------------------------------------------------------ what is predicted


SCAN = """g (float k0, float[N] x) => (float k, float[M] y) {{ {before} k, y = Scan <num_scan_inputs = 1,
  body: graph = b (float ki, float xi) => (float {state}, float yi) {{
    ko = Add (ki, {term}) yi = Mul (ki, xi) }}> (k0, x) }}"""
SWAP = {
    "nodes": "co = Identity (ci)",
    "outputs": "bool co, float y, float x",
    "inputs": "int64 i, bool ci, float x, float y",
    "call": "a, b = Loop (m, c, v, w)",
    "result": "float a, float b",
    "graph_inputs": "int64 m, bool c, float v, float w",
}
STOPS = "k = Constant <value = float {6}> () xo = Add (x, x) co = Less (xo, k) e = Identity (xo)"
MODEL_INPUTS: dict[str, Any] = {"m": np.int64(5), "c": np.True_, "v": np.float32(1), "w": np.float32(2)}
ROW = {"k0": np.float32(10), "x": np.float32([1, 2, 3])}
INTS = {
    "inputs": "int64 i, bool ci, int64 x",
    "outputs": "bool co, int64 xo",
    "result": "int64 a",
    "graph_inputs": "int64 m, bool c, int64 v",
}
SHADOWED = text_models.NESTED.replace("int64 j, bool d, int64 u", "int64 i, bool c, int64 t").replace("(d)", "(c)")
SHADOWED = SHADOWED.replace("Mul (i, j)", "Mul (i, i)").replace("Add (u, product)", "Add (t, product)")

#: Rule, peer -> model, inputs, and how it shows: trips, outputs, crashed, hung, refused, failed.
PREDICTED: dict[tuple[str, str], tuple[str, dict[str, Any], str]] = {
    ("B1", "onnxruntime"): (
        loop_text(STOPS, call="a = Loop (m, , v)", graph_inputs="int64 m, float v"),
        MODEL_INPUTS,
        "trips",
    ),
    ("B1", "openvino"): (
        loop_text(STOPS, call="a = Loop (m, , v)", graph_inputs="int64 m, float v"),
        MODEL_INPUTS,
        "trips",
    ),
    ("B7", "onnxruntime"): (
        loop_text(outputs="bool co, float xo, int64 i", call="a, s = Loop (m, c, v)", result="float a, int64[N] s"),
        MODEL_INPUTS,
        "outputs",
    ),
    ("B8", "openvino"): (loop_text(**SWAP), MODEL_INPUTS, "refused"),
    ("B9", "onnxruntime"): (SCAN.format(before="", state="ki", term="xi"), ROW, "outputs"),
    ("B10", "onnxruntime"): (
        loop_text(
            nodes="co = Identity (ci) xo = Identity (x) e = Identity (x)",
            outputs="bool co, string xo, string e",
            inputs="int64 i, bool ci, string x",
            call="a, s = Loop (m, c, v)",
            result="string a, string[N] s",
            graph_inputs="int64 m, bool c, string v",
        ),
        {**MODEL_INPUTS, "v": np.array("ab", object)},
        "outputs",
    ),
    ("B14", "openvino"): (loop_text(), {**MODEL_INPUTS, "m": np.int64(-1)}, "hung"),
    ("B15", "openvino"): (
        loop_text("k = Constant <value = float {6}> () xo = Add (x, x) co = Less (xo, k)"),
        {**MODEL_INPUTS, "m": np.int64(2**32 + 2)},
        "trips",
    ),
    ("B16", "openvino"): (
        loop_text(
            outputs="bool co, float xo, float xo",
            call="a, s = Loop (m, n, v)",
            result="float a, float[N] s",
            graph_inputs="int64 m, float v",
            before="n = Constant <value = bool {0}> ()",
        ),
        MODEL_INPUTS,
        "outputs",
    ),
    ("B17", "onnxruntime"): (
        loop_text(outputs="bool co, float xo, float xo", call=", s = Loop (m, c, v)", result="float[N] s"),
        MODEL_INPUTS,
        "crashed",
    ),
    ("B19", "onnxruntime"): (SCAN.format(before="", state="ko", term="xi"), {**ROW, "x": np.float32([])}, "failed"),
    ("B21", "openvino"): (SCAN.format(before="o = Neg (k0)", state="ko", term="o"), ROW, "refused"),
    ("B28", "openvino"): (SHADOWED, {"M": np.int64(3), "K": np.int64(2)}, "refused"),
}


#: Rules that apply wherever another one does.
MORE_GENERAL = {"B8": ("B49",), "B28": ("B37",)}


def saved(folder: Path, text: str) -> loopdbg.Model:
    """The model from a file: peers read the file itself."""
    path = folder / "model.onnx"
    onnx.save(text_models.proto(text, 18), path)
    return loopdbg.load(path)


def against(peer: Peer, model: loopdbg.Model, feeds: dict[str, Any], **more: Any) -> PeerComparison:
    names = {port.name for port in model.inputs}
    return compare_with_peer(model, {k: v for k, v in feeds.items() if k in names}, peer, ComparisonOptions(), **more)


@pytest.mark.parametrize(("rule", "who"), PREDICTED)
def test_what_differs_is_what_is_predicted(
    peers: dict[str, Peer], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rule: str, who: str
) -> None:
    text, inputs, how = PREDICTED[rule, who]
    if how == "hung":
        give_up_soon(peers[who], 1, monkeypatch)
    result = against(peers[who], saved(tmp_path, text), inputs)
    lockstep, free = result.comparisons
    # The bodies compute the same: it is what is made of them that differs.
    assert lockstep.same or lockstep.empty, lockstep
    assert not free.same
    if how in ("trips", "outputs"):
        assert not free.failures
        assert rule in [reason.rule for reason in free.reasons]
        if how == "trips":
            assert rule in [reason.rule for loop in free.loops if loop.trips for reason in loop.trips.reasons]
    else:
        (failure,) = free.failures
        assert failure.kind == how
        assert {reason.rule for reason in failure.reasons} == {rule, *MORE_GENERAL.get(rule, ())}


#: What one peer does wrong the other does right, but for these.
BOTH_WRONG = ("B1", "B7", "B9", "B10", "B19")


@pytest.mark.parametrize(("rule", "who"), [case for case in PREDICTED if case[0] not in BOTH_WRONG])
def test_and_the_other_peer_is_the_same(peers: dict[str, Peer], tmp_path: Path, rule: str, who: str) -> None:
    other = "openvino" if who == "onnxruntime" else "onnxruntime"
    text, inputs, _ = PREDICTED[rule, who]
    result = against(peers[other], saved(tmp_path, text), inputs)
    assert result.same, result


def test_an_off_by_one_between_two_runtimes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The story: a loop gives one row less in production, and no one knows why."""
    path = tmp_path / "decoder.onnx"
    nodes = STOPS.replace("float {6}", "float {31}")
    text = loop_text(
        nodes,
        outputs="bool co, float xo, float e",
        call="a, s = Loop (m, , v)",
        result="float a, float[N] s",
        graph_inputs="int64 m, float v",
    )
    onnx.save(text_models.proto(text, 16), path)
    ran = command(capsys, "diff", path, "--against", "onnxruntime", "--input", "m=6", "--input", "v=1")
    assert ran.status == 6
    assert "iteration by iteration: same" in ran.out
    assert "iterations: loopdbg 6 (ended by the trip count), onnxruntime 5" in ran.out
    assert "rule B1: the body's condition 'co' is false in iteration 4, and onnxruntime stops there" in ran.out
    report = json.loads(
        command(capsys, "diff", path, "--against", "onnxruntime", "--input", "m=6", "--input", "v=1", "--json").out
    )
    assert report["same"] is False and report["peer"]["name"] == "onnxruntime"
    trips = report["comparisons"][1]["loops"][0]["trip_difference"]
    assert (trips["left"], trips["right"], trips["reasons"][0]["rule"]) == (6, 5, "B1")


def test_a_conversion_that_stops_earlier(openvino: Peer, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The same loop converted: OpenVINO's converter makes the body's condition count."""
    import openvino as runtime

    saved(tmp_path, PREDICTED["B1", "openvino"][0])
    converted = runtime.Core().read_model(tmp_path / "model.onnx")
    runtime.save_model(converted, tmp_path / "converted.xml", compress_to_fp16=False)
    words = (tmp_path / "model.onnx", tmp_path / "converted.xml", "--input", "m=5", "--input", "v=1")
    ran = command(capsys, "diff", *words)
    assert ran.status == 6
    assert "iterations: model.onnx 5 (ended by the trip count), converted.xml 3 (ended by the condition)" in ran.out
    assert "rule B1: " in ran.out


def test_a_model_without_a_loop(onnxruntime: Peer, openvino: Peer, tmp_path: Path) -> None:
    model = saved(tmp_path, "g (float[3] x) => (float[3] y) { y = Exp (x) }")
    for peer in (onnxruntime, openvino):
        result = against(peer, model, {"x": np.float32([1, 2, 3])})
        assert result.same and result.comparisons[1].compared_outputs == 1


# ------------------------------------------------------------------ 64 bits, random numbers, what cannot be handed over


def test_integers_beyond_32_bits_are_left_out(openvino: Peer, onnxruntime: Peer, tmp_path: Path) -> None:
    model = saved(tmp_path, loop_text(**INTS))
    inputs = {**MODEL_INPUTS, "m": np.int64(40), "v": np.int64(1)}
    result = against(openvino, model, inputs)
    lockstep, free = result.comparisons
    assert result.same and lockstep.loops[0].iterations == 31
    assert any("B29" in note for note in lockstep.notes) and "B29" in free.notes[0] and free.empty
    result = against(onnxruntime, model, inputs)
    assert result.same and result.comparisons[0].loops[0].iterations == 40 and not result.comparisons[0].notes


def test_float64_is_compared_as_float32_where_the_peer_computes_so(
    openvino: Peer, onnxruntime: Peer, tmp_path: Path
) -> None:
    text = loop_text(
        "co = Identity (ci) t = Constant <value = double {1.1}> () xo = Mul (x, t)",
        **{
            key: value.replace("float", "double")
            for key, value in (
                ("outputs", "bool co, float xo"),
                ("inputs", "int64 i, bool ci, float x"),
                ("result", "float a"),
                ("graph_inputs", "int64 m, bool c, float v"),
            )
        },
    )
    model = saved(tmp_path, text)
    inputs = {**MODEL_INPUTS, "v": np.float64(1.1)}
    result = against(openvino, model, inputs)
    assert result.same and any("float64" in note for note in result.comparisons[0].notes)
    assert result.comparisons[0].loops[0].growth.largest > 1e-9
    result = against(onnxruntime, model, inputs)
    assert result.same and result.comparisons[0].loops[0].growth.largest < 1e-15


@pytest.mark.parametrize("who", ["onnxruntime", "openvino"])
def test_random_numbers_are_handed_over(peers: dict[str, Peer], tmp_path: Path, who: str) -> None:
    model = saved(tmp_path, loop_text("co = Identity (ci) r = RandomUniformLike (x) xo = Add (x, r)"))
    result = against(peers[who], model, MODEL_INPUTS)
    assert result.same and result.comparisons[0].loops[0].iterations == 5
    assert any("draws random numbers" in note for note in result.comparisons[0].notes)


def test_unsupported_values_are_reported(openvino: Peer, tmp_path: Path) -> None:
    text = PREDICTED["B10", "onnxruntime"][0]
    result = against(openvino, saved(tmp_path, text), {**MODEL_INPUTS, "v": np.array("ab", object)})
    assert all(comparison.empty for comparison in result.comparisons)
    assert "strings, which openvino cannot be given" in result.comparisons[0].notes[0]


# ------------------------------------------------------------------ the first node


def test_the_node_that_a_peer_computes_in_another_way(openvino: Peer, tmp_path: Path) -> None:
    """OpenVINO gives 0 for the ReLU of NaN (docs/peers.md)."""
    first_value = "co = Identity (ci) one = Constant <value = float {1}> ()"
    nodes = f"{first_value} y = Sub (x, one) r = Sqrt (y) z = Relu (r) xo = Sub (z, one)"
    result = against(openvino, saved(tmp_path, loop_text(nodes)), {**MODEL_INPUTS, "v": np.float32(3)}, free=False)
    (lockstep,) = result.comparisons
    first = lockstep.first
    assert first is not None and first.first is not None and first.node is not None
    # 3 -> 0.41 -> sqrt(-0.59) is NaN in iteration 1.
    assert first.first.iteration == 1 and first.growth.first_beyond == 1
    assert (first.node.op_type, first.node.name) == ("Relu", "z")
    assert np.isnan(dict(first.node.inputs)["r"]) and np.isnan(first.node.difference.left)
    assert first.node.difference.right == 0


# ------------------------------------------------------------------ what is in the bodies


BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "an If": (
        text_models.BRANCHES.replace(
            "=> (bool c, float y, float e) {", "=> (bool d, float y, float e) { d = Identity (c)"
        ),
        {"M": np.int64(5), "v0": np.float32(1.5)},
    ),
    "a loop in a loop": (text_models.NESTED, {"M": np.int64(3), "K": np.int64(2)}),
    "both limits": (
        text_models.COUNT,
        {"M": np.int64(9), "cond": np.True_, "v0": np.int64(0), "bound": np.int64(4)},
    ),
    "no iteration": (text_models.SUM, {"M": np.int64(0), "v0": np.float32(1)}),
    "a carried value that grows": (
        loop_text(
            "co = Identity (ci) xo = Concat <axis = 0> (x, x)",
            "bool co, float[K] xo",
            "int64 i, bool ci, float[N] x",
            result="float[Z] a",
            graph_inputs="int64 m, bool c, float[N] v",
        ),
        {**MODEL_INPUTS, "v": np.float32([1])},
    ),
    "a Scan": (SCAN.format(before="", state="ko", term="xi"), ROW),
}


@pytest.mark.parametrize("who", ["onnxruntime", "openvino"])
@pytest.mark.parametrize("name", BODIES)
def test_bodies(peers: dict[str, Peer], tmp_path: Path, name: str, who: str) -> None:
    text, inputs = BODIES[name]
    model = saved(tmp_path, text)
    result = against(peers[who], model, inputs)
    assert result.same, result
    assert len(result.comparisons[0].loops) == len(list(loops(model.graph)))


def test_a_sequence_map_and_a_function(onnxruntime: Peer, tmp_path: Path) -> None:
    text = """g (seq(float[N]) s, float[N] t) => (seq(float[N]) r) {
      r = SequenceMap <body: graph = b (float[N] e, float[N] q) => (float[N] o) { o = Add (e, q) }> (s, t) }"""
    inputs = {"s": [np.ones(2, np.float32), np.zeros(2, np.float32)], "t": np.full(2, 3, np.float32)}
    result = against(onnxruntime, saved(tmp_path, text), inputs)
    assert result.same and result.comparisons[0].loops[0].iterations == 2
    proto = onnx.parser.parse_model("""
      <ir_version: 8, opset_import: ["" : 17, "f" : 1]>
      g (int64 m, float v) => (float a) { a = f.twice (m, v) }
      <domain: "f", opset_import: ["" : 17]>
      twice (n, x) => (y) { y = Loop <body = b (int64 i, bool c, float p) => (bool co, float q) {
        co = Identity (c) q = Add (p, p) }> (n, , x) }""")
    onnx.save(proto, tmp_path / "function.onnx")
    result = against(onnxruntime, loopdbg.load(tmp_path / "function.onnx"), {"m": np.int64(4), "v": np.float32(1)})
    assert result.same and result.comparisons[0].loops[0].iterations == 4


def test_an_ir_with_its_weights_elsewhere(openvino: Peer, tmp_path: Path) -> None:
    path = tmp_path / "lstm.xml"
    shutil.copy(SAMPLES / "lstm.xml", path)
    weights = shutil.copy(SAMPLES / "lstm.bin", tmp_path / "other.weights")
    result = against(openvino, loopdbg.load(path, weights), inputs_of("lstm.xml"))
    assert [(comparison.mode, comparison.same) for comparison in result.comparisons] == [
        ("lockstep", True),
        ("free", True),
    ]


def test_a_model_without_a_file(onnxruntime: Peer) -> None:
    result = against(onnxruntime, text_models.model(text_models.SUM), {"M": np.int64(4), "v0": np.float32(1)})
    assert result.same and [c.mode for c in result.comparisons] == ["lockstep", "free"]


# ------------------------------------------------------------------ peers that go wrong


@pytest.fixture
def bad(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "peers"), prepend=os.pathsep)
    with Peer("onnxruntime", PATIENCE, module="faulty_peer") as peer:
        yield peer


def run_bad(bad: Peer, **more: Any) -> PeerComparison:
    model = loopdbg.load(SAMPLES / "newton_sqrt.onnx")
    return compare_with_peer(model, inputs_of("newton_sqrt.onnx"), bad, ComparisonOptions(), **more)


@pytest.mark.parametrize(
    ("how", "what", "text"),
    [
        ("crash", "crashed", "SIGSEGV"),
        ("exit", "crashed", "exit status 3: giving up"),
        ("hang", "hung", "no answer within 1 s"),
        ("fail", "failed", "RuntimeError: bad luck"),
    ],
)
def test_a_peer_that_goes_wrong(monkeypatch: pytest.MonkeyPatch, bad: Peer, how: str, what: str, text: str) -> None:
    monkeypatch.setenv("LOOPDBG_TEST_PEER", how)
    if how == "hang":
        give_up_soon(bad, 3, monkeypatch)
    result = run_bad(bad)
    lockstep, free = result.comparisons
    (failure,) = lockstep.failures
    assert (failure.kind, failure.activity) == (what, "main ▸ sqrt, iteration 2")
    assert text in failure.text
    assert lockstep.loops[0].iterations == 2 and not lockstep.same
    # It was started again: two runs of two models are none too many.
    assert free.same and free.compared_outputs == 2


def test_crash_when_asked_again_does_not_replace_the_difference(monkeypatch: pytest.MonkeyPatch, bad: Peer) -> None:
    monkeypatch.setenv("LOOPDBG_TEST_PEER", "wrong, then crash")
    monkeypatch.setenv("LOOPDBG_TEST_PEER_AT", "0")
    lockstep, free = run_bad(bad).comparisons
    assert lockstep.verdict is Verdict.DIFFER and lockstep.first_difference is not None
    assert free.verdict is Verdict.DIFFER and free.outputs and not free.failures


def test_a_peer_that_refuses(monkeypatch: pytest.MonkeyPatch, bad: Peer) -> None:
    monkeypatch.setenv("LOOPDBG_TEST_PEER", "refuse")
    result = run_bad(bad)
    assert [(f.kind, f.activity) for c in result.comparisons for f in c.failures] == [
        ("refused", "the body of main ▸ sqrt"),
        ("refused", "the whole model"),
    ]


def test_a_peer_whose_optimisations_are_to_blame(monkeypatch: pytest.MonkeyPatch, bad: Peer) -> None:
    monkeypatch.setenv("LOOPDBG_TEST_PEER", "wrong")
    (lockstep,) = run_bad(bad, free=False).comparisons
    (result,) = lockstep.loops
    assert result.first is not None and result.first.iteration == 2
    assert (result.iterations, result.differing_iterations, result.node) == (5, 3, None)
    assert any("they make the difference" in note for note in lockstep.notes)


def test_the_lines_about_a_crash(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    saved(tmp_path, PREDICTED["B17", "onnxruntime"][0])
    words = ("--input", "m=3", "--input", "c=true", "--input", "v=1")
    ran = command(capsys, "diff", tmp_path / "model.onnx", "--against", "onnxruntime", "--free", *words)
    assert ran.status == 8 and ran.out.startswith("cannot compare: ")
    assert "onnxruntime crashed: the whole model\n      SIGSEGV\n      rule B17" in ran.out
    assert "Traceback" not in ran.out + ran.err


def test_a_peer_that_differs_from_itself(
    monkeypatch: pytest.MonkeyPatch, bad: Peer, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOOPDBG_TEST_PEER", "shaky")
    monkeypatch.setenv("LOOPDBG_TEST_PEER_AT", "1")
    result = run_bad(bad)
    lockstep, free = result.comparisons
    assert lockstep.verdict is result.verdict is Verdict.UNSTABLE and result.verdict.status == 8
    assert lockstep.self_difference is not None and lockstep.self_difference.iteration == 1
    # It goes wrong from its second run on, and what is the same is not asked for twice.
    assert free.verdict is Verdict.SAME and free.self_difference is None
    monkeypatch.setenv("LOOPDBG_TEST_PEER_AT", "0")
    bad.close()
    free = run_bad(bad, lockstep=False).comparisons[0]
    assert (
        free.self_difference is not None and free.self_difference.role == "output" and free.verdict is Verdict.UNSTABLE
    )
    assert any("gives something else each time it runs: output" in line for line in text_report.report_lines(free))


def test_a_peer_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = command(capsys, "diff", SAMPLES / "newton_sqrt.onnx", "--against", "openvino")
    assert ran.status == 2 and "openvino is not installed; install it: pip install openvino" in ran.error_line


def test_a_peer_that_does_not_start() -> None:
    with Peer("onnxruntime", module="no_such_module") as peer:
        with pytest.raises(
            UsageError, match="onnxruntime does not start: ModuleNotFoundError: No module named 'no_such"
        ):
            run_bad(peer)
        with pytest.raises(UsageError):
            Peer("tensorflow")


def test_loops_that_are_chosen(peers: dict[str, Peer]) -> None:
    model = loopdbg.load(SAMPLES / "two_layer_lstm.onnx")
    result = compare_with_peer(
        model, inputs_of("two_layer_lstm.onnx"), peers["onnxruntime"], ComparisonOptions(loops=["layer2"]), free=True
    )

    def seen(comparison: Comparison) -> list[str]:
        return [loop.left for loop in comparison.loops]

    assert [seen(comparison) for comparison in result.comparisons] == [["main ▸ layer2"], ["main ▸ layer2"]]
