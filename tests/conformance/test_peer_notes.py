"""Every note on a peer, held against that peer: where the note is it does what the note says, and in the nearest
models without the note it does what loopdbg does.

If one of these fails after an update, a runtime has changed: look at the note, and at docs/peers.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
import text_models
from ir_builder import (
    TRUE,
    IrNetBuilder,
    back_edges,
    carried_net,
    input_map_entry,
    joined_parts,
    loop_sections,
    output_map_entry,
    running_sum,
    three_body_inputs,
)
from loopdbg.debugger.compare.running.value_comparison import Tolerance, compare
from loopdbg.debugger.peers.jobs import IrJob, OnnxJob
from loopdbg.debugger.peers.process import Peer, PeerError
from text_models import loop_text

from .test_diff_against import MODEL_INPUTS, SCAN, STOPS, SWAP

RUNTIME = Path(loopdbg.__file__).parent / "runtime"
#: Where sentences about peers are made.
MAKERS = (
    "frontends/onnx/deviation_notes.py",
    "frontends/openvino/deviation_notes.py",
    "runtime_deviation_notes.py",
    "openvino_trip_count_deviations.py",
)
ORT, OV = "onnxruntime", "openvino"


@dataclass
class NoteCase:
    """A model, and what a peer makes of it.

    ``says``: words of the note; empty: the note must not be there, and the peer does what loopdbg does. ``gives``: the
    peer's outputs, or how it fails; None: any other result. ``file``: passed as a file, else from memory.
    """

    model: str | Callable[[], IrNetBuilder]
    says: str = ""
    gives: Any = None
    inputs: dict[str, Any] = field(default_factory=dict)
    peers: tuple[str, ...] = (OV,)
    file: bool = True


def strings(*words: str) -> Any:
    return np.array(words if len(words) > 1 else words[0], object)


NO_COND = {"call": "a = Loop (m, , v)", "graph_inputs": "int64 m, float v"}
ALWAYS_FALSE = "f = Constant <value = bool {0}> () co = Identity (f) xo = Add (x, x)"
STRINGS = {
    "graph_inputs": "int64 m, string v, string w",
    "result": "string a, string[N] s",
    "call": "a, s = Loop (m, , v)",
}
STRINGS |= {"inputs": "int64 i, bool ci, string x", "outputs": "bool co, string xo, string e"}
WORDS = {"v": strings("q"), "w": strings("ab"), "m": np.int64(3)}
SCANNED = {"outputs": "bool co, float xo, float e", "call": "a, s = Loop (m, c, v)", "result": "float a, float[N] s"}
IN_PLACE = {"outputs": "bool co, float xo, int64 i", "call": "a, s = Loop (m, c, v)", "result": "float a, int64[N] s"}
INT64 = {"inputs": "int64 i, bool ci, int64 x", "result": "int64 a", "graph_inputs": "int64 m, bool c, int64 v"}
NEVER = {"graph_inputs": "int64 m, float v", "call": "a, s = Loop (m, n, w)", "result": "float a, float[N] s"}
NEVER |= {"outputs": "bool co, float xo, float xo", "before": "n = Constant <value = bool {0}> () w = Neg (v)"}
OUTER_STRINGS = """g (int64 n, string[2] words) => (string rows) {{
  yes = Constant <value = bool {{1}}> ()
  rows = Loop <body = b (int64 i, bool c) => (bool c2, string{shape} row) {{ c2 = Identity (c) row = {node} }}> (n, yes)
}}"""
OVER_NOTHING = {"k0": np.float32(10), "x": np.float32([1, 2, 3])}
ROWS = np.float32([[1, 1], [2, 2], [3, 3], [4, 4]])
ZERO = np.float32([[0, 0]])


def trips(number: int) -> dict[str, str]:
    """A constant trip count."""
    return {"before": f"n = Constant <value = int64 {{{number}}}> ()", "graph_inputs": "bool c, float v"}


def loop_feeds(**more: Any) -> dict[str, Any]:
    return {**MODEL_INPUTS, **more}


def shared_port() -> IrNetBuilder:
    return three_body_inputs("xy")


def two_ports() -> IrNetBuilder:
    return three_body_inputs("xyz")


def sliced_and_carried() -> IrNetBuilder:
    net = IrNetBuilder()
    x, y = net.parameter("4,2", name="x"), net.parameter("4,2", name="y")
    body = net.body_builder()
    p, q = body.parameter("1,2", name="p"), body.parameter("1,2", name="q")
    r = body.result(body.layer("Add", [p, q], shape="1,2"))
    entries = [input_map_entry(0, p, 'axis="0"'), input_map_entry(1, q, 'axis="0"'), output_map_entry(2, r, 'axis="0"')]
    net.result(
        (net.layer("TensorIterator", [x, y], shape="4,2", extra=loop_sections(body, entries, back_edges((r, p)))), 2)
    )
    return net


def shared_scan(
    nodes: str, first: str, second: str, names: str = "k, s, t", graph_inputs: str = "float k, float[M] s, float[M] t"
) -> str:
    """A Scan whose body computes 'ko' and these nodes, with a state and two scan outputs."""
    return f"""g (float k0, float[N] x) => ({graph_inputs}) {{ {names} = Scan <num_scan_inputs = 1,
      body: graph = b (float ki, float xi) => (float ko, float {first}, float {second}) {{
        ko = Add (ki, xi) {nodes} }}> (k0, x) }}"""


def parts_of_a_run(part_size: int) -> Callable[[], IrNetBuilder]:
    """x [4,2] is sliced by one row, and each iteration gives that row and those of w, of which only a run tells."""

    def build() -> IrNetBuilder:
        net = IrNetBuilder()
        x, w = net.parameter("4,2", name="x"), net.parameter("?,2", name="w")
        body = net.body_builder()
        part, more = body.parameter("1,2", name="part"), body.parameter("?,2", name="more")
        new = body.layer("Concat", [part, more], shape="?,2", data='axis="0"')
        joined = f'axis="0" part_size="{part_size}" stride="{part_size}"'
        entries = [
            input_map_entry(0, part, 'axis="0"'),
            input_map_entry(1, more),
            output_map_entry(2, body.result(new), joined),
        ]
        net.result((net.layer("TensorIterator", [x, w], shape="?,2", extra=loop_sections(body, entries)), 2))
        return net

    return build


def nested_iterators(outer_is_loop: bool) -> IrNetBuilder:
    """A TensorIterator in a TensorIterator, or in a Loop."""
    net = IrNetBuilder()
    head = [net.constant(np.int64(3)), net.constant(TRUE)] if outer_is_loop else []
    x = net.parameter("4", name="x")
    body = net.body_builder()
    size = "4" if outer_is_loop else "1"
    p = body.parameter(size, name="p")
    inner = body.body_builder()
    q = inner.parameter("1", name="q")
    more = inner.result(inner.layer("Add", [q, inner.constant(np.float32([1]))], shape="1"))
    result = body.layer(
        "TensorIterator",
        [p],
        shape=size,
        extra=loop_sections(inner, [input_map_entry(0, q, 'axis="0"'), output_map_entry(1, more, 'axis="0"')]),
    )
    r = body.result(result)
    if outer_is_loop:
        keep = output_map_entry(-1, body.result(body.constant(np.array([True]))), 'purpose="execution_condition"')
        parts = loop_sections(body, [input_map_entry(2, p), output_map_entry(3, r), keep], back_edges((r, p)))
        net.result((net.layer("Loop", [*head, x], version="opset5", shape="4", extra=parts), 3))
    else:
        parts = loop_sections(body, [input_map_entry(0, p, 'axis="0"'), output_map_entry(1, r)])
        net.result((net.layer("TensorIterator", [x], shape="1", extra=parts), 1))
    return net


def counting(trips_given: str = "") -> IrNetBuilder:
    """A Loop of the trip count that it is given, which ends where x is 3; its rows are joined if asked for."""
    net = IrNetBuilder()
    count, x0 = net.parameter("", "i64", name="trips"), net.parameter("1", name="x0")
    body = net.body_builder()
    x = body.parameter("1", name="x")
    more = body.layer("Add", [x, body.constant(np.float32([1]))], shape="1")
    keep = body.result(body.layer("Less", [more, body.constant(np.float32([3]))], element="boolean", shape="1"))
    r = body.result(more)
    entries = [
        input_map_entry(2, x),
        output_map_entry(3, r),
        output_map_entry(-1, keep, 'purpose="execution_condition"'),
    ]
    parts = loop_sections(
        body, [*entries, *([output_map_entry(4, r, 'axis="0"')] if trips_given else [])], back_edges((r, x))
    )
    loop_ = net.layer("Loop", [count, net.constant(TRUE), x0], 1 + bool(trips_given), version="opset5", extra=parts)
    for k in range(1 + bool(trips_given)):
        net.result((loop_, 3 + k))
    return net


def counted(number: int) -> dict[str, Any]:
    return {"trips": np.int64(number), "x0": np.float32([0])}


def rows(start: str, joined: str = "") -> Callable[[], IrNetBuilder]:
    return lambda: running_sum(f'axis="0" {start}', joined=joined, shape="4,2")


def noteless(
    model: str | Callable[[], IrNetBuilder],
    inputs: dict[str, Any] = MODEL_INPUTS,
    peers: tuple[str, ...] = (OV,),
    file: bool = True,
) -> NoteCase:
    """A model without the note: the peers do what loopdbg does."""
    return NoteCase(model, inputs=inputs, peers=peers, file=file)


STOPS_EARLY = "onnxruntime and OpenVINO would stop once the body's condition 'co' is false"
FIRST_ALONE = "onnxruntime and OpenVINO would stop after the first iteration"
FIRST_ROW = "onnxruntime would fill only the first row of 's'"
EARLY = "from memory would carry the next iteration's"
NO_LIMIT = "would take the trip count {} for no limit"
GARBAGE = "would return uninitialised memory for the trip count {}"
BOTH: tuple[str, ...] = (ORT, OV)
TOTAL = {"x": ROWS, "start": ZERO}

CASES: dict[str, list[NoteCase]] = {
    "B1: computed": [
        NoteCase(loop_text(STOPS, **NO_COND), STOPS_EARLY, [8], loop_feeds(), BOTH),
        noteless(loop_text(STOPS), peers=BOTH),
        noteless(loop_text("co = Identity (ci) xo = Add (x, x)", **NO_COND), peers=BOTH),
        noteless(
            loop_text("t = Constant <value = bool {1}> () co = Identity (t) xo = Add (x, x)", **NO_COND), peers=BOTH
        ),
        # There is one iteration at most.
        noteless(
            loop_text(STOPS, **{**NO_COND, **trips(1), "graph_inputs": "float v", "call": "a = Loop (n, , v)"}),
            peers=BOTH,
        ),
    ],
    "B1: always false": [
        NoteCase(loop_text(ALWAYS_FALSE, **NO_COND), FIRST_ALONE, [2], loop_feeds(), BOTH),
        *(
            noteless(
                loop_text(
                    ALWAYS_FALSE, **{**NO_COND, **trips(n), "graph_inputs": "float v", "call": "a = Loop (n, , v)"}
                ),
                peers=BOTH,
            )
            for n in (0, 1)
        ),
    ],
    "B7": [
        NoteCase(
            loop_text(**IN_PLACE), "onnxruntime would give wrong numbers as 's'", [32, [5] * 5], loop_feeds(), (ORT,)
        ),
        NoteCase(
            loop_text("co = Identity (ci)", **{**INT64, "outputs": "bool co, int64 i"}),
            "onnxruntime would give wrong numbers as 'a'",
            None,
            loop_feeds(v=np.int64(3)),
            (ORT,),
        ),
        noteless(
            loop_text(
                "co = Identity (ci) xo = Add (x, x) j = Identity (i)",
                **{**IN_PLACE, "outputs": "bool co, float xo, int64 j"},
            ),
            peers=BOTH,
        ),
    ],
    "B8: an ONNX file": [
        NoteCase(loop_text(**SWAP), "OpenVINO refuses a file with this body", "failed", loop_feeds()),
        NoteCase(loop_text(**SWAP), EARLY, [2, 2], loop_feeds(), file=False),
        NoteCase(
            loop_text(
                **{**SWAP, "nodes": "co = Identity (ci) xo = Add (x, y)", "outputs": "bool co, float xo, float x"}
            ),
            EARLY,
            [48, 24],
            loop_feeds(),
            file=False,
        ),
        NoteCase(
            loop_text("co = Identity (ci) e = Neg (x)", **{**INT64, "outputs": "bool co, int64 i, int64 e"})
            .replace("(int64 a)", "(int64 a, int64[N] s)")
            .replace("a = Loop", "a, s = Loop"),
            EARLY,
            [4, [-3, -1, -2, -3, -4]],
            loop_feeds(v=np.int64(3)),
            file=False,
        ),
        noteless(
            loop_text(
                **{**SWAP, "nodes": "co = Identity (ci) yo = Add (x, y)", "outputs": "bool co, float y, float yo"}
            ),
            file=False,
        ),
        NoteCase(
            """g (float p, float q, float[3] z) => (float a, float d, float[N] e) { a, d, e = Scan <num_scan_inputs = 1,
              body: graph = b (float x, float y, float zi) => (float xo, float x, float eo) {
                xo = Add (x, zi) eo = Add (y, zi) }> (p, q, z) }""",
            EARLY,
            None,
            {"p": np.float32(1), "q": np.float32(2), "z": np.float32([1, 2, 3])},
            file=False,
        ),
        noteless(
            loop_text(
                **{**SWAP, "nodes": "co = Identity (ci) yo = Add (x, y)", "outputs": "bool co, float x, float yo"}
            ),
            file=False,
        ),
        # Nothing reads the value that is written too early.
        noteless(
            loop_text(
                **{**SWAP, "nodes": "co = Identity (ci) xo = Add (x, x)", "outputs": "bool co, float xo, float x"}
            ),
            file=False,
        ),
        noteless(
            loop_text(
                **{
                    **SWAP,
                    "nodes": "co = Identity (ci) p = Identity (x) q = Identity (y)",
                    "outputs": "bool co, float q, float p",
                }
            ),
            peers=BOTH,
        ),
    ],
    "B9": [
        NoteCase(
            SCAN.format(before="", state="ki", term="xi"),
            "onnxruntime would compute wrong values: the body returns its input 'ki' directly",
            [0, [10, 0, 0]],
            OVER_NOTHING,
            (ORT,),
        ),
        NoteCase(
            SCAN.format(before="", state="ko", term="xi").replace("float yi)", "float xi)"),
            "onnxruntime would compute wrong values: the body returns its input 'xi' directly",
            None,
            OVER_NOTHING,
            (ORT,),
        ),
        noteless(SCAN.format(before="", state="ko", term="xi"), OVER_NOTHING, BOTH),
    ],
    "B10": [
        NoteCase(
            loop_text("co = Identity (ci) xo = StringConcat (x, x) e = Identity (w)", **STRINGS),
            FIRST_ROW,
            ["q" * 8, ["ab", "", ""]],
            WORDS,
            (ORT,),
        ),
        NoteCase(
            loop_text("co = Identity (ci) xo = Identity (x) e = Identity (x)", **STRINGS),
            FIRST_ROW,
            ["q", ["q", "", ""]],
            WORDS,
            (ORT,),
        ),
        *(
            noteless(loop_text(f"co = Identity (ci) {nodes}", **STRINGS), WORDS, (ORT,))
            for nodes in (
                "xo = StringConcat (x, x) e = StringConcat (x, w)",
                "xo = StringConcat (x, x) e = Identity (x)",
                "xo = StringConcat (x, x) e = Identity (xo)",
                'k = Constant <value_string = "k"> () xo = StringConcat (x, x) e = Identity (k)',
            )
        ),
        noteless(
            loop_text(
                "co = Identity (ci) xo = StringConcat (x, x) e = Identity (w)",
                **{**STRINGS, **trips(1), "graph_inputs": "string v, string w", "call": "a, s = Loop (n, , v)"},
            ),
            WORDS,
            (ORT,),
        ),
        noteless(
            """g (string k0, float[N] x) => (string k, string[M] y) { k, y = Scan <num_scan_inputs = 1,
              body: graph = b (string ki, float xi) => (string ko, string yi) {
                ko = Identity (ki) yi = Identity (ki) }> (k0, x) }""",
            {"k0": strings("a"), "x": np.float32([1, 2])},
            (ORT,),
        ),
        NoteCase(
            """g (int64 n, string v) => (string a, string[N] s, string[M] r) { a, s, r = Loop <body: graph = b (int64 i,
              bool ci, string x) => (bool co, string xo, string e, string e) {
                co = Identity (ci) xo = StringConcat (x, x) e = StringConcat (x, v) }> (n, , v) }""",
            "onnxruntime would not fill 'r'",
            ["q" * 8, ["qq", "qqq", "qqqqq"], ["", "", ""]],
            {"n": np.int64(3), "v": strings("q")},
            (ORT,),
        ),
        NoteCase(
            OUTER_STRINGS.format(shape="[2]", node="Identity (words)"),
            "onnxruntime would fill only the first row of 'rows'",
            None,
            {"n": np.int64(2), "words": strings("a", "b")},
            (ORT,),
        ),
        NoteCase(  # this note stood here, too
            OUTER_STRINGS.format(shape="", node="Gather (words, i)"),
            "",
            None,
            {"n": np.int64(2), "words": strings("a", "b")},
            (ORT,),
        ),
    ],
    "B14: no limit": [
        NoteCase(loop_text(STOPS), NO_LIMIT.format(-1), [8], loop_feeds(m=np.int64(-1))),
        NoteCase(loop_text(STOPS), NO_LIMIT.format(-5), [8], loop_feeds(m=np.int64(-5))),
        NoteCase(loop_text(STOPS, call="a = Loop (n, c, v)", **trips(-1)), NO_LIMIT.format(-1), [8], loop_feeds()),
        NoteCase(loop_text(STOPS, call="a = Loop (n, c, v)", **trips(-5)), NO_LIMIT.format(-5), [8], loop_feeds()),
        NoteCase(
            loop_text(STOPS, call="a = Loop (n, c, v)", graph_inputs="bool c, float v").replace(
                "float a) {", "float a) <int64 n = {-5}> {", 1
            ),
            NO_LIMIT.format(-5),
            [8],
            loop_feeds(),
        ),
        noteless(loop_text(STOPS, call="a = Loop (n, c, v)", **trips(2**63 - 1))),
        noteless(loop_text(STOPS), loop_feeds(m=np.int64(0))),
        noteless(loop_text(STOPS), loop_feeds(m=np.int64(-1), c=np.False_)),
        noteless(loop_text(STOPS), loop_feeds(m=np.int64(2**63 - 1))),
        noteless(loop_text(STOPS, call="a = Loop (n, c, v)", **trips(0))),
        noteless(counting, counted(-1)),
        noteless(lambda: counting("joined"), counted(-1)),
    ],
    "B14: uninitialised memory": [
        NoteCase(loop_text(STOPS, **SCANNED), GARBAGE.format(-5), None, loop_feeds(m=np.int64(-5))),
        NoteCase(loop_text(STOPS, **SCANNED), GARBAGE.format(2**31), None, loop_feeds(m=np.int64(2**31))),
        NoteCase(
            loop_text(STOPS, **{**SCANNED, **trips(-5), "call": "a, s = Loop (n, c, v)"}),
            GARBAGE.format(-5),
            None,
            loop_feeds(),
        ),
        noteless(loop_text(STOPS), loop_feeds(m=np.int64(2**31))),
        noteless(loop_text(STOPS, **SCANNED), loop_feeds(m=np.int64(-5), c=np.False_)),
        noteless(loop_text(STOPS, **SCANNED), loop_feeds(m=np.int64(2**31 - 1))),
        noteless(counting, counted(2**31)),
        NoteCase(lambda: counting("joined"), GARBAGE.format(2**31), None, counted(2**31)),
    ],
    "B15": [
        NoteCase(loop_text(STOPS), "would run 2 trips at most: it truncates", [4], loop_feeds(m=np.int64(2**32 + 2))),
        NoteCase(loop_text(STOPS), "would run 1 trip at most: it truncates", [2], loop_feeds(m=np.int64(2**32 + 1))),
        NoteCase(loop_text(STOPS), "would run 2 trips at most: it truncates", [4], loop_feeds(m=np.int64(2 - 2**32))),
        NoteCase(counting, "would run 2 trips at most: it truncates", [[2]], counted(2**32 + 2)),
        # The condition ends it before that.
        noteless(loop_text(STOPS), loop_feeds(m=np.int64(2**32 + 5))),
        noteless(loop_text(STOPS), loop_feeds(m=np.int64(-(2**32)))),
        noteless(loop_text(STOPS, call="a = Loop (n, c, v)", **trips(2**32 + 1))),
    ],
    "B16": [
        NoteCase(loop_text(**NEVER), "initial values or uninitialised memory as scan outputs", [-1, -1], loop_feeds()),
        NoteCase(
            loop_text(**{**NEVER, "call": "a, s = Loop (m, n, v)"}),
            "initial values or uninitialised memory as scan outputs",
            None,
            loop_feeds(),
        ),
        noteless(loop_text(**{**NEVER, "call": "a, s = Loop (m, c, v)", "graph_inputs": "int64 m, bool c, float v"})),
        noteless(
            loop_text(
                **{**NEVER, **{"call": "a = Loop (m, n, w)", "outputs": "bool co, float xo", "result": "float a"}}
            )
        ),
    ],
    "B16: refused": [
        NoteCase(
            loop_text(
                **{
                    **NEVER,
                    "outputs": "bool co, float xo, float xo, float xo",
                    "call": "a, s, t = Loop (m, n, w)",
                    "result": "float a, float[N] s, float[N] t",
                }
            ),
            "OpenVINO refuses this loop: its cond is always false",
            "failed",
            loop_feeds(),
        )
    ],
    "B17": [
        NoteCase(
            loop_text(outputs="bool co, float xo, float xo", call=", s = Loop (m, c, v)", result="float[N] s"),
            "onnxruntime would crash on the omitted output",
            "crashed",
            loop_feeds(),
            (ORT,),
        ),
        NoteCase(
            loop_text(
                outputs="bool co, float xo, float xo, float xo", call="a, , s = Loop (m, c, v)", result="float[N] s"
            ),
            "onnxruntime refuses the omitted output",
            "failed",
            loop_feeds(),
            (ORT,),
        ),
        noteless(
            loop_text(outputs="bool co, float xo, float xo", call="a, s = Loop (m, c, v)", result="float[N] s"),
            peers=BOTH,
        ),
        *(
            NoteCase(
                shared_scan("e = Neg (ko) f = Abs (e)", "e", "f", names=names, graph_inputs=given_outputs),
                "onnxruntime refuses the omitted output",
                "failed",
                OVER_NOTHING,
                (ORT,),
            )
            for names, given_outputs in ((", s, t", "float[M] s, float[M] t"), ("k, , t", "float k, float[M] t"))
        ),
        noteless(shared_scan("e = Exp (ko) f = Abs (e)", "e", "f"), OVER_NOTHING, BOTH),
    ],
    "B47": [
        *(
            NoteCase(shared_scan(nodes, *results), says, None, OVER_NOTHING, (ORT,))
            for nodes, results, says in (
                ("e = Neg (ko)", ("e", "e"), "uninitialised memory as 's': the body lists 'e'"),
                ("", ("ko", "ko"), "uninitialised memory as 'k', 's': the body lists 'ko'"),
            )
        ),
        # Other numbers, so that no memory holds the right ones by chance.
        noteless(shared_scan("e = Exp (ko) f = Identity (e)", "e", "f"), OVER_NOTHING, BOTH),
        # A Loop copies each of them.
        noteless(
            loop_text(
                outputs="bool co, float xo, float xo, float xo",
                call="a, s, t = Loop (m, c, v)",
                result="float a, float[N] s, float[N] t",
            ),
            peers=BOTH,
        ),
    ],
    "B22: from the front": [
        NoteCase(rows('start="1"'), "from the front: it counts with start=1", [[[6, 6]], [[6, 6]]], TOTAL),
        NoteCase(rows('start="-3"', 'axis="0"'), "from the front: it counts with start=-3", "failed", TOTAL),
        NoteCase(
            rows('start="3" end="0" stride="-1"'), "from the back: it counts with start=3", [[[9, 9]], [[9, 9]]], TOTAL
        ),
        noteless(rows(""), TOTAL),
        noteless(rows('start="-5"'), TOTAL),
        noteless(rows('start="-1" end="0" stride="-1"'), TOTAL),
        noteless(rows('start="4" end="0" stride="-1"'), TOTAL),
        noteless(rows('end="3"'), TOTAL),
    ],
    "B23: a sliced input": [
        NoteCase(lambda: running_sum('axis="-2"'), "OpenVINO refuses the negative axis", "failed", TOTAL),
        noteless(lambda: running_sum('axis="0"'), TOTAL),
    ],
    "B23: a scan output": [
        NoteCase(lambda: running_sum(joined='axis="-2"'), "does not concatenate along the negative axis", None, TOTAL),
        noteless(lambda: running_sum(joined='axis="0"'), TOTAL),
    ],
    "sliced and carried": [
        NoteCase(
            sliced_and_carried,
            "would ignore the back edge into 'p'",
            [(ROWS * 11).tolist()],
            {"x": ROWS, "y": ROWS * 10},
        ),
        noteless(running_sum, TOTAL),
    ],
    "B24": [
        NoteCase(shared_port, "would give input port 1 to body Parameter 'q' alone", None, {"x": ROWS, "y": ZERO + 10}),
        noteless(two_ports, {"x": ROWS, "y": ZERO + 10, "z": ZERO + 10}),
    ],
    "B8: an IR": [
        NoteCase(lambda: carried_net([1, 0]), "would carry the next iteration's 'p0' into 'p1'", [[2], [2]]),
        NoteCase(
            lambda: carried_net(["+", 0, 1]), "would carry the next iteration's 'p0' into 'p1'", [[31], [21], [21]]
        ),
        NoteCase(lambda: carried_net([1, 0], (1, 0)), "would carry the next iteration's 'p1' into 'p0'"),
        NoteCase(lambda: carried_net(["+", 0, 1], (2, 1, 0))),
        NoteCase(lambda: carried_net([1, 2, "+"])),
        NoteCase(lambda: carried_net([0, 0])),
        NoteCase(lambda: carried_net(["+", 0])),
    ],
    "B29: float64": [
        NoteCase(
            lambda: carried_net(["+", 1], element="f64"),
            "computes 'p0' (float64) as float32",
            [[30.100000381469727], [0.2]],
            {"x0": np.float64([0.1]), "x1": np.float64([0.2])},
        ),
        noteless(lambda: carried_net([0, 1], element="f64"), {"x0": np.float64([0.1]), "x1": np.float64([0.2])}),
        NoteCase(lambda: carried_net(["+", 1])),
        noteless(lambda: carried_net(["+", 1], element="i64"), {"x0": np.int64([1]), "x1": np.int64([2])}),
    ],
    "B29: int64": [
        NoteCase(
            loop_text(**{**INT64, "outputs": "bool co, int64 xo"}),
            "computes 'x' in 32 bits, and here it does not fit",
            [0],
            loop_feeds(v=np.int64(2**30), m=np.int64(3)),
        ),
        noteless(loop_text(**{**INT64, "outputs": "bool co, int64 xo"}), loop_feeds(v=np.int64(2**20), m=np.int64(3))),
        # Handed through, it stays whole.
        noteless(
            loop_text("co = Identity (ci)", **{**INT64, "outputs": "bool co, int64 x"}),
            loop_feeds(v=np.int64(2**40)),
            file=False,
        ),
    ],
    "an outer value": [
        NoteCase(
            loop_text(outputs="bool co, float v"),
            "onnxruntime refuses this loop: its body returns the outer value 'v' directly",
            "failed",
            loop_feeds(),
            (ORT,),
        ),
        NoteCase(
            """g (float k0, float[N] x, float w) => (float k, float[M] y) { k, y = Scan <num_scan_inputs = 1,
              body: graph = b (float ki, float xi) => (float ko, float w) { ko = Add (ki, xi) }> (k0, x) }""",
            "onnxruntime refuses this loop: its body returns the outer value 'w' directly",
            "failed",
            {**OVER_NOTHING, "w": np.float32(7)},
            (ORT,),
        ),
        noteless(loop_text("co = Identity (ci) e = Identity (v)", outputs="bool co, float e"), peers=BOTH),
    ],
    "B46: in a run": [
        *(
            NoteCase(parts_of_a_run(size), "the last part 'Concat_2' had 2 rows", None, {"x": ROWS, "w": ROWS[:1]})
            for size in (1, 3)
        ),
        noteless(parts_of_a_run(2), {"x": ROWS, "w": ROWS[:1]}),
    ],
    "B46": [
        *(
            NoteCase(
                joined_parts(rows, part_size, step, is_loop),
                f"declares part_size {part_size} for the scan output",
                "failed",
                {"x": ROWS},
            )
            for rows, part_size, step, is_loop in (
                (2, 1, 1, True),
                (2, 1, 1, False),
                (1, 2, 1, False),
                (2, 1, -1, False),
            )
        ),
        *(
            noteless(joined_parts(rows, rows, step, is_loop), {"x": ROWS})
            for rows, step, is_loop in ((1, 1, True), (1, 1, False), (2, 1, False), (2, -1, False))
        ),
    ],
    "inside each other": [
        NoteCase(
            lambda: nested_iterators(False),
            "refuses a TensorIterator inside a TensorIterator",
            "failed",
            {"x": np.float32([1, 2, 3, 4])},
        ),
        noteless(lambda: nested_iterators(True), {"x": np.float32([1, 2, 3, 4])}),
    ],
}
ALL = [(name, k) for name, cases in CASES.items() for k in range(len(cases))]


@pytest.fixture(scope="module")
def peers() -> Iterator[dict[str, Peer]]:
    with Peer(ORT) as first, Peer(OV) as other:
        yield {ORT: first, OV: other}


def written(case: NoteCase, folder: Path) -> Path:
    if isinstance(case.model, str):
        path = folder / "model.onnx"
        onnx.save(text_models.proto(case.model, 20), path)
        return path
    net = case.model()
    path = folder / "model.xml"
    path.write_text(f'<?xml version="1.0"?>\n<net name="model" version="11">\n{net.text()}\n</net>\n')
    path.with_suffix(".bin").write_bytes(bytes(net.blob))
    return path


def noted(model: loopdbg.Model, inputs: dict[str, Any]) -> tuple[list[str], list[Any]]:
    """All notes of a run, those on the model alone included, and its outputs."""
    run = model.execute(inputs)
    return [note for loop in run.loops for note in loop.notes], list(run.outputs.values())


def inputs_of(case: NoteCase, model: loopdbg.Model) -> dict[str, Any]:
    if not case.inputs:
        return {port.name: np.float32([k + 1]) for k, port in enumerate(model.inputs)}
    return {port.name: np.asarray(case.inputs[port.name]) for port in model.inputs}


def run_peer(peer: Peer, path: Path, inputs: dict[str, Any], file: bool) -> list[Any] | str:
    """A peer's outputs, or how it failed."""
    try:
        if path.suffix == ".xml":
            return peer.open(IrJob(str(path))).run({str(k): value for k, value in enumerate(inputs.values())})
        job = OnnxJob(path=str(path)) if file else OnnxJob(data=path.read_bytes())
        return peer.open(job).run(inputs)
    except PeerError as error:
        return error.kind


def outputs_equal(items: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(items) == len(other) and not any(
        compare(a, b, Tolerance()).kind for a, b in zip(items, other, strict=True)
    )


@pytest.mark.parametrize(("name", "k"), ALL)
def test_peers_do_what_notes_say(peers: dict[str, Peer], tmp_path: Path, name: str, k: int) -> None:
    case = CASES[name][k]
    path = written(case, tmp_path)
    model = loopdbg.load(path)
    inputs = inputs_of(case, model)
    notes, ours = noted(model, inputs)
    for who in case.peers:
        theirs = run_peer(peers[who], path, inputs, case.file)
        if not case.says:
            words = [other.says for other in CASES[name] if other.says]
            assert not [note for note in notes if any(word in note for word in words)]
            assert not isinstance(theirs, str) and outputs_equal(ours, theirs), theirs
            continue
        assert [case.says in note for note in notes].count(True) == 1, notes
        if isinstance(case.gives, str):
            assert theirs == case.gives
        elif case.gives is None:
            assert isinstance(theirs, str) or not outputs_equal(ours, theirs)
        else:
            assert not isinstance(theirs, str), theirs
            assert [np.asarray(value).tolist() for value in theirs] == case.gives
            assert not outputs_equal(ours, theirs) or "float64" in case.says


#: Rules that test_peer_rules.py, test_portability_rules.py and files of tests/regression hold against the runtimes.
ELSEWHERE = {"B34", "B35", "B37", "B40", "B45", "B60", "B76"}


def templates() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every sentence that the sources can make, each as a pattern: where it is, and what it matches."""
    for name in MAKERS:
        for node in ast.walk(ast.parse((RUNTIME / name).read_text(encoding="utf-8"))):
            message = node.value if isinstance(node, ast.Yield | ast.Return) else None
            if isinstance(message, ast.Call) and isinstance(message.func, ast.Name) and message.func.id == "Note":
                label, message = message.args
                if ast.literal_eval(label) in ("", *ELSEWHERE):  # without a label it is not about a peer
                    continue
            if isinstance(message, ast.Constant) and isinstance(message.value, str) and message.value:
                yield f"{name}:{message.lineno}", re.compile(re.escape(message.value))
            elif isinstance(message, ast.JoinedStr):
                parts = [re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".*" for p in message.values]
                yield f"{name}:{message.lineno}", re.compile("".join(parts))


def test_every_note_is_held_against_its_peer(tmp_path: Path) -> None:
    outcomes = list(templates())
    assert len(outcomes) > 15
    notes: list[str] = []
    for case in (case for cases in CASES.values() for case in cases if case.says):
        model = loopdbg.load(written(case, tmp_path))
        notes += noted(model, inputs_of(case, model))[0]
    # One sentence each.
    assert all(note.endswith(".") and note.isprintable() for note in notes)
    assert not [where for where, pattern in outcomes if not any(pattern.fullmatch(note) for note in notes)]
    assert not [name for name, cases in CASES.items() if not any(case.says for case in cases)]
