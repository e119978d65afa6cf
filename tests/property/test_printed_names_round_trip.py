"""Every printed name can be typed back and then denotes the same value, in the console, in expressions, in listings and
on the screen, whatever names a model uses."""

from __future__ import annotations

import io
import re
import tempfile
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopdbg
from console_recorder import ConsoleRecorder
from hypothesis_settings import example_settings
from loopdbg.debugger.describe.explain import explain
from loopdbg.debugger.describe.pseudo_code import LineKind
from loopdbg.debugger.describe.value_names import display_name, mask_quoted, quote, unquote
from loopdbg.debugger.expression.functions import FUNCTIONS
from loopdbg.debugger.expression.tokens import CONSTANTS, LOCATION_WORDS, STATE_WORDS, TIME_SHIFT_FUNCTIONS, WATCH_WORDS
from loopdbg.debugger.session.session import Session
from loopdbg.runtime.frame import frame_reader
from loopdbg.runtime.frontends.onnx import reader as frontend
from text_models import proto, rename_values

MODEL = """g (int64 n, float x0, float k) => (float last, float[N] all) {
  last, all = Loop (n, , x0) <body = b (int64 i, bool c, float a) => (bool c2, float b, float e) {
    c2 = Identity (c)
    b = Add (a, k)
    e = Mul (b, b)
  }>
}"""
#: Names of the body, with the capture that they must not hide, and names of the enclosing graph.
INNER, OUTER = ("i", "c", "a", "c2", "b", "e", "k"), ("n", "x0", "last", "all")
#: Before iteration 2: the sum of `k` that is carried, the square of it that is collected, and so on.
NOW = {"i": 2, "a": 6.0, "b": 6.0, "e": 36.0, "k": 2.5, "n": 5, "x0": 1.0}

WORDS = (
    *STATE_WORDS, *CONSTANTS, *FUNCTIONS, *TIME_SHIFT_FUNCTIONS, *LOCATION_WORDS, *WATCH_WORDS,
    *("and", "or", "not", "in", "print", "continue", "break", "history", "frame", "set", "c", "x", "_", "é", "²"),
    *("/rnn/h:0", "a.b", "a b", " a", "a ", "x if y", "x in y", "x nan", "x crosses 5", "x = 1", "9"),
    *("`", "``", "a`b", "'", '"', "it's", 'say "x"', "\\", "a\\nb", "\\x41", "}", "{x}", "a: b", "a, b", "x[0]", "#"),
    *("/model/layers.0/attn/MatMul_output_0", "/model/layers.1/attn/MatMul_output_0", "/model/layers.0/Add_output_0"),
    *("encoder.layer.0.attention.weight", "onnx::MatMul_12345", "MatMul", "/model/layers.1/end_output_0"),
    *("\n", "a\nb", "\x1b[31m", "\x85", "\u202ex", "\u2028", "\xa0", "x@1", "-x", "(x)", "x" * 300, "x y" * 900),
)  # fmt: skip
ANY = st.text(min_size=1, max_size=8)
NAMES = st.sampled_from(WORDS) | ANY
#: The characters that an XML attribute may contain.
IN_XML = st.sampled_from([w for w in WORDS if not re.search("[\x00-\x1f]", w)]) | st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), max_size=8
)


def printed_value(lines: list[str]) -> str:
    """The value that `print` printed, without the note on its iteration."""
    assert lines
    return lines[0].partition("  #")[0]


def left_side(text: str) -> list[str]:
    """The names that a line of pseudo-code assigns, as they are written there."""
    masked = mask_quoted(text)
    end = masked.index(" = ")
    cuts = [-2, *(item.start() for item in re.finditer(", ", masked[:end])), end]
    return [text[a + 2 : b] for a, b in pairwise(cuts)]


def check_listings(session: Session, talk: ConsoleRecorder) -> None:
    """The names that pseudo-code and screens give to node results parse to those names."""
    frame = session.frame
    loop = frame.loop
    assert loop is not None
    for line in session.controller.symbols.pseudo_code.lines_of_loop(loop).lines:
        if line.kind is LineKind.NODE:
            assert left_side(line.text) == [display_name(value) for value in line.values]
            assert all(unquote(n) in v.names for n, v in zip(left_side(line.text), line.values, strict=True))
    message = "\n".join(talk("list all"))
    explained = "\n".join(line for item in explain(session.model) for line in item.lines())
    for node in loop.body.nodes:
        written = ", ".join(display_name(value) for value in node.outputs)
        assert f"{written} = " in message and f"{written} = " in explained
    framed = talk("frame")
    for edge in loop.back_edges:
        assert any(line.startswith(f"  {display_name(edge.param)} ") for line in framed)


def check_values(session: Session, talk: ConsoleRecorder) -> None:
    """Every value can be read by the name that is printed for it."""
    values = session.frame.values
    listed = talk("info values")
    for name, value in frame_reader(session.frame).scope().items():
        is_present, content = values.read(value)
        if not is_present:
            continue
        if name != value.name or not value.short_name:
            assert any(line.startswith(f"{quote(name)} = ") for line in listed)
        if name not in session.frame.scan_outputs:
            assert np.array_equal(session.frame[quote(name)], content)
            assert talk(f"print {quote(name)}") == talk(f"print ({quote(name)})")


@st.composite
def distinct(draw: st.DrawFn, count: int, names: st.SearchStrategy[str]) -> list[str]:
    return draw(st.lists(names, min_size=count, max_size=count, unique=True))


@example_settings(60)
@given(st.data())
def test_names_of_an_onnx_model(data: st.DataObject) -> None:
    inner = dict(zip(INNER, data.draw(distinct(len(INNER), NAMES)), strict=True))
    # Enclosing names may repeat names of the body, within ONNX's rules.
    taken = {inner[key] for key in ("k", "c2", "b", "e")}
    outer = dict(zip(OUTER, data.draw(distinct(len(OUTER), NAMES.filter(lambda name: name not in taken))), strict=True))
    source = proto(MODEL)
    rename_values(source.graph, inner | outer)
    new = inner | outer
    inputs = {new["n"]: 5, new["x0"]: 1.0, new["k"]: 2.5}
    session = Session(loopdbg.Model(frontend.from_proto(source, "test")), inputs)
    session.step(2)
    talk = ConsoleRecorder(session)
    check_listings(session, talk)
    check_values(session, talk)

    def value(key: str) -> str:
        full = printed_value(talk(f"print {quote(new[key])}"))
        # The name shown for it denotes the same value.
        shown = display_name(frame_reader(session.frame).scope()[new[key]])
        assert printed_value(talk(f"print {shown}")) == full
        return full

    hidden = set(inner.values())
    for key, expected in NOW.items():
        if key in inner or new[key] not in hidden:
            assert value(key) == str(expected), (key, new[key])
    [scan] = [line for line in talk("frame") if "so far" in line]
    collected = unquote(scan[2 : mask_quoted(scan).index(":")])
    assert printed_value(talk(f"print {quote(collected)}[-1]")) == "36.0"
    assert session.frame[f"len({quote(collected)})"] == 2

    check_commands(session, talk, new, collected)
    talk("restart")
    talk("step 2")
    scope = frame_reader(session.frame).scope()
    check_commands(session, talk, {key: unquote(display_name(scope[new[key]])) for key in "abk"}, collected)


def check_commands(session: Session, talk: ConsoleRecorder, new: dict[str, str], collected: str) -> None:
    """`break`, `watch`, `log` and `set` accept the printed names, at the boundary before iteration 2."""
    a, b, k = (quote(new[key]) for key in "abk")
    for test, expected in ((f"{a} > 8", 3), (f"{b} > 8", 3), (f"{k} > 2 and {a} > 10", 4)):
        talk(f"break if {test}")
        talk("continue")
        assert session.frame.iteration == expected and session.stop.breakpoints, test
        talk("delete")
        talk("goto 2")
    talk(f"break if len({quote(collected)}) > 3")
    talk("continue")
    assert session.frame.iteration == 4
    talk("delete")
    talk("goto 2")
    for how, expected in ((a, 3), (f"{a} crosses 10", 4), (f"{b} changes", 3)):
        talk(f"watch {how}")
        talk("continue")
        assert session.frame.iteration == expected and session.stop.breakpoints, how
        talk("delete")
        talk("goto 2")
    talk(f"break {b} if {a} > 8")
    talk("continue")
    assert (session.frame.iteration, session.stop.reason) == (3, "breakpoint")
    assert not session.frame.at_boundary
    talk("delete")
    talk("goto 2")
    output = talk(f"log if {a} > 10: now {{{a}}}") and talk("continue")
    assert "now 11.0" in output
    talk("delete")
    talk("goto 2")
    talk(f"set {a} = {a} + 100")
    assert session.frame.carried[frame_reader(session.frame).scope()[new["a"]].name] == 106
    talk(f"set {k} = 1")
    assert printed_value(talk(f"print {k}")) == "1.0"
    completed = talk.console.complete(f"print {a[:1]}")
    assert a in completed or len(completed) > 20


def layers(root: ElementTree.Element, path: str) -> list[ElementTree.Element]:
    return [layer for layer in root.findall(path) if layer.get("type") != "Result"]


@example_settings(25)
@given(st.data())
@pytest.mark.parametrize("sample", ["loop_for_condition", "reverse_sum", "loop_slice_concat"])
def test_names_of_an_ir(sample: str, data: st.DataObject) -> None:
    path = Path(__file__).parents[2] / "sample_models" / f"{sample}.xml"
    tree = ElementTree.parse(path)
    graphs = [layers(tree.getroot(), "layers/layer")]
    graphs += [layers(body, "layers/layer") for body in tree.getroot().iter("body")]
    inputs = np.load(path.with_suffix(".inputs.npz"))
    main = graphs[0]
    fed = [layer for layer in main if layer.get("type") == "Parameter"]
    before = [layer.get("name", "") for layer in fed]
    for graph in graphs:
        # Layers of one graph may share a name, except for the model's inputs.
        for layer in graph:
            layer.set("name", data.draw(IN_XML))
    for layer, name in zip(fed, data.draw(distinct(len(fed), IN_XML)), strict=True):
        layer.set("name", name)
    for element in tree.getroot().iter():
        # Tensor names that OpenVINO stores in a file are not tested here.
        for word in ("names", "output_names"):
            element.attrib.pop(word, None)
    text = io.BytesIO()
    tree.write(text, encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "model.xml"
        copy.write_bytes(text.getvalue())
        copy.with_suffix(".bin").write_bytes(path.with_suffix(".bin").read_bytes())
        model = loopdbg.load(copy)
        given_inputs = {port.name: inputs[old] for port, old in zip(model.inputs, before, strict=True)}
        session = Session(model, given_inputs)
        session.step(2)
        talk = ConsoleRecorder(session)
        check_listings(session, talk)
        check_values(session, talk)
        for edge in session.frame.back_edges:
            name = quote(edge.param)
            assert np.array_equal(session.frame[name], edge.value)
            talk(f"watch {name}")
            talk(f"break if any({name} != {name}) or shape({name}) == shape({name})")
            talk("continue")
            assert session.frame.iteration == 3
            talk("delete")
            talk("goto 2")
            talk(f"set {name} = {name} * 2")
            assert np.array_equal(session.frame.carried[edge.param], edge.value * 2)
