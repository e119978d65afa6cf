"""Where nodes were written, as exporters tell it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.frontends.onnx.node_origin import LazyNodeOrigin
from loopdbg.runtime.frontends.onnx.proto import ModelProto
from loopdbg.runtime.graph import UNKNOWN_ORIGIN, Graph, Origin, loops
from loopdbg.runtime.model import Model

from .onnx_texts import proto, read_text

TORCH = "pkg.torch.onnx."
STACK = """\
  File "/venv/lib/python3.11/site-packages/torch/_dynamo/functional_export.py", line 232, in forward
    res = self._export_root(*args, **kwargs)
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/home/me/model.py", line 21, in forward
    i, h = while_loop(cond, body, (torch.tensor(0), h))
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/home/me/model.py", line 8, in body
    a = self.lin(h)
        ^^^^^^^^^^^
  File "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)
"""
ADD = "g (float[2] x) => (float[2] y) { [n] y = Add (x, x) }"


def model_with_metadata(text: str = ADD, imports: str = "", doc: str = "", **entries: str) -> Graph:
    """A model of which the first node has metadata."""
    model = proto(text, imports=imports)
    note(model.graph.node[0], doc, **entries)
    return frontend.from_proto(model, "dir/m.onnx")


def note(node: onnx.NodeProto, doc: str = "", **entries: str) -> None:
    node.doc_string = doc
    for key, value in entries.items():
        known = f"{TORCH}{key}" if key in ("stack_trace", "fx_node", "name_scopes") else key.replace("__", ".")
        node.metadata_props.add(key=known, value=value)


def test_what_torch_writes() -> None:
    graph = model_with_metadata(
        stack_trace=STACK,
        fx_node="%linear_1 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x,))",
        name_scopes="['', '_export_root', 'cell', 'cell.layers.0', 'linear_1']",
    )
    assert graph.nodes[0].origin == Origin(
        "/home/me/model.py",
        8,
        "a = self.lin(h)",
        "body",
        ("cell", "layers.0"),
        "linear_1",
        callers=(("/home/me/model.py", 21),),
    )
    assert graph.nodes[0].describe() == "Add 'n' (opset 16, model.py:8)"


def test_node_without_metadata() -> None:
    assert read_text(ADD).nodes[0].origin is UNKNOWN_ORIGIN
    assert read_text(ADD).nodes[0].describe() == "Add 'n' (opset 16)"


def test_what_onnxscript_writes() -> None:
    graph = model_with_metadata(
        namespace="decoder: Decoder/layers.0: Layer", pkg__onnxscript__name_scopes="['decoder', 'layers.0']"
    )
    assert graph.nodes[0].origin == Origin(scopes=("decoder", "layers.0"))


def test_the_older_exporter_writes_the_stack_as_text() -> None:
    doc = (
        "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py(134): forward\n"
        "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py(1768): _slow_forward\n"
        "/home/me/model.py(8): forward\n"
        "/home/me/export.py(3): <module>\n"
    )
    origin = model_with_metadata(doc=doc).nodes[0].origin
    assert (origin.file, origin.line, origin.function) == ("/home/me/model.py", 8, "forward")


def test_a_name_is_a_path_of_scopes() -> None:
    model = proto(ADD)
    model.graph.node[0].name = "model/lstm/while/body/add"
    origin = frontend.from_proto(model, "dir/m.onnx").nodes[0].origin
    assert origin == Origin(scopes=("model", "lstm", "while", "body"))


def test_nodes_of_a_function_say_where_they_are_from_or_the_call_does() -> None:
    text = """g (float[2] x) => (float[2] y) { [call] y = f.f (x) }
    <domain: "f", opset_import: ["" : 16]> f (a) => (b) { c = Add (a, a) b = Neg (c) }
    """
    model = proto(text, imports=', "f" : 1')
    note(model.graph.node[0], stack_trace=STACK)
    note(model.functions[0].node[0], stack_trace=STACK.replace("model.py", "inner.py"))
    graph = frontend.from_proto(model, "dir/m.onnx")
    assert [str(node.origin) for node in graph.nodes] == ["inner.py:8", "model.py:8"]


def test_what_a_recurrent_operator_is_opened_into_is_from_its_line() -> None:
    graph = model_with_metadata(
        "g (float[5,1,3] x, float[1,8,3] w, float[1,8,2] r) => (y) { y = LSTM <hidden_size = 2> (x, w, r) }",
        stack_trace=STACK,
    )
    (loop,) = loops(graph)
    assert {str(node.origin) for node in (*graph.nodes, *loop.body.nodes)} == {"model.py:8"}


def test_metadata_that_makes_no_sense_is_left_out(tmp_path: Path) -> None:
    for entries in (
        {"stack_trace": 'File "', "fx_node": "?", "name_scopes": "[[["},
        {"stack_trace": "x" * 10_000_000},
        {"stack_trace": f'File "a.py", line {"9" * 40}, in f'},
    ):
        assert model_with_metadata(**entries).nodes[0].origin == Origin()
        model = proto(ADD)
        note(model.graph.node[0], **entries)
        path = tmp_path / "m.onnx"
        path.write_bytes(model.SerializeToString())
        assert frontend.read(path).nodes[0].origin == Origin()


def test_an_entry_that_is_no_message_is_passed_over() -> None:
    model = proto(ADD)
    note(model.graph.node[0], stack_trace=STACK)
    data = bytearray(model.SerializeToString())
    data[data.index(TORCH.encode()) - 2] = 0x0B  # the start of a group, which has no end
    assert frontend.from_proto(ModelProto.FromString(bytes(data)), "dir/m.onnx").nodes[0].origin == Origin()


def test_a_file_is_closed_before_anybody_asks(tmp_path: Path) -> None:
    model = proto(ADD)
    note(model.graph.node[0], stack_trace=STACK)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    graph = frontend.read(path)
    path.unlink()
    assert graph.nodes[0].origin.line == 8


def test_metadata_is_parsed_lazily() -> None:
    model = proto("g (float[2] x) => (float[2] y) { t = Add (x, x) y = Neg (t) }")
    for node in model.graph.node:
        note(node, stack_trace=STACK)
    loaded = Model(frontend.from_proto(model, "dir/m.onnx"))
    loaded.run({"x": np.ones(2, np.float32)})
    assert all(isinstance(node.source, LazyNodeOrigin) for node in loaded.graph.nodes)
    assert [str(node.origin) for node in loaded.graph.nodes] == ["model.py:8", "model.py:8"]
    assert all(isinstance(node.source, Origin) for node in loaded.graph.nodes)


LACKING = "g (int64 m, float[2] x) => (float[2] y) { [l] y = Loop (m, , x) }"
INNER = """g (int64 m, float[2] x) => (float[2] y) {
    [l] y = Loop (m, , x) <body = b (int64 i, bool c, float[2] h) => (bool d, float[2] z) {
        d = Identity(c) [n] z = Add(h, other)
    }>
}"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LACKING, "Loop 'l' (opset 16, model.py:8) lacks its attribute 'body', a graph"),
        ("g (float[2] x) => (float[2] y) { [n] y = Add (x, z) }", "Add 'n' (opset 16, model.py:8)"),
        ("g (float[2] x) => (float[2] y) { [n] y = far.Op (x) }", "Op 'n' (model.py:8): the model imports no operator"),
        ("g (float[2] x) => (float[2] y) { [n] y = Softmax <axis = 1.5> (x) }", "Softmax 'n' (opset 16, model.py:8)"),
        (INNER, "Add 'n' (opset 16, model.py:8) in the body of Loop 'l'"),
    ],
)
def test_an_error_of_a_file_names_the_line(text: str, message: str) -> None:
    model = proto(text)
    nodes = model.graph.node[0].attribute[0].g.node if text is INNER else model.graph.node
    note(nodes[-1], stack_trace=STACK)
    with pytest.raises(LoopdbgError) as caught:
        frontend.from_proto(model, "dir/m.onnx")
    assert message in str(caught.value)
    assert str(caught.value).count("model.py:8") == 1
