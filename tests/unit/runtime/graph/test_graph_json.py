"""Loop graphs as JSON and back."""

from __future__ import annotations

import json
import re

import ml_dtypes
import numpy as np
import pytest

import loopdbg
from comparable_values import all_exact_bits
from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import Graph, Operation, OptionalType, Origin, SequenceType, System, TensorType, Value, loops
from loopdbg.runtime.graph.graph_json import (
    OmittedArray,
    graph_digest,
    graph_from_json,
    graph_to_json,
    identical_value_pairs,
)
from text_models import BRANCHES, NESTED, SAMPLES, model

MODELS = sorted(path.name for pattern in ("*.onnx", "*.xml") for path in SAMPLES.glob(pattern))


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_is_the_same_after_the_round_trip(name: str) -> None:
    graph = loopdbg.load(SAMPLES / name).graph
    text = graph_to_json(graph, small=1 << 30)
    again = graph_from_json(text)
    assert graph_to_json(again, small=1 << 30) == text
    assert [loop.describe() for loop in loops(again)] == [loop.describe() for loop in loops(graph)]


@pytest.mark.parametrize("name", ["newton_sqrt.onnx", "mandelbrot.onnx", "reverse_sum.xml", "loop_nested.xml"])
def test_a_graph_with_all_its_constants_runs_as_before(name: str) -> None:
    model = loopdbg.load(SAMPLES / name)
    with np.load(SAMPLES / name.replace(model.path.suffix, ".inputs.npz")) as file:  # type: ignore[union-attr]
        inputs = dict(file)
    again = loopdbg.Model(graph_from_json(graph_to_json(model.graph)))
    assert all_exact_bits(again.run(inputs)) == all_exact_bits(model.run(inputs))


@pytest.mark.parametrize(("text", "inputs"), [(NESTED, {"M": 3, "K": 2}), (BRANCHES, {"M": 5, "v0": 1.5})])
def test_nesting_and_branches(text: str, inputs: dict[str, int | float]) -> None:
    before = model(text)
    again = loopdbg.Model(graph_from_json(graph_to_json(before.graph)))
    assert all_exact_bits(again.run(inputs)) == all_exact_bits(before.run(inputs))


@pytest.mark.parametrize("name", MODELS)
def test_values_of_identical_graphs_correspond_by_position(name: str) -> None:
    left, right = (loopdbg.load(SAMPLES / name).graph for _ in range(2))
    values = identical_value_pairs(left, right)
    assert values is not None
    assert all(a.name == b.name and a is not b for a, b in values.items())
    assert [values[value] for value in left.outputs] == right.outputs


WRITTEN = """g (float[2] x) => (float[2] y) <float[2] w = {0, 1}> {
  y = Loop (n, , x) <body = step (int64 i, bool c, float[2] h) => (bool c2, float[2] h2) {
    c2 = Identity (c)  a = Add (h, w)  h2 = LeakyRelu <alpha = 0.0> (a)
  }>
  n = Constant <value = int64 {3}> ()
}"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("w = {0, 1}", "w = {-0.0, 1}"),
        ("w = {0, 1}", "w = {0, nan}"),
        ("alpha = 0.0", "alpha = -0.0"),
        ("Add (h, w)", "Add (w, h)"),
        ("Add (h, w)", "Sub (h, w)"),
        ("bool c2, float[2] h2", "bool c2, float[2] a"),
        ("=> (float[2] y)", "=> (float[n] y)"),
        ("int64 {3}", "int64 {4}"),
        ("a", "b"),
    ],
)
def test_graphs_that_differ_are_not_identical(old: str, new: str) -> None:
    left, right = model(WRITTEN), model(WRITTEN.replace(old, new) if old != "a" else re.sub(r"\ba\b", new, WRITTEN))
    assert identical_value_pairs(left.graph, model(WRITTEN).graph) is not None
    assert identical_value_pairs(left.graph, right.graph) is None


def operation(**attributes: object) -> Graph:
    out = Value("y", OptionalType(SequenceType(TensorType(np.dtype(ml_dtypes.bfloat16), (2, "N", None)))))
    node = Operation("n", "Made", "my.domain", 3, [None], [out, None], attributes=attributes)
    return Graph("g", [], [out], [node], [], ["other name"], System.ONNX, {"": 21, "my.domain": 3})


def test_types_and_attributes() -> None:
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    graph = graph_from_json(
        graph_to_json(
            operation(
                i=3, f=0.1, nan=float("nan"), inf=float("-inf"), s="é", b=b"\xff\x00", none=None, flag=True,
                list=[1, 2.5, "x"], array=array, type=TensorType(None, (1,)), scalar=np.float32(0.5),
                strings=np.array(["a", b"\xfe"], object), map={"a": [1]},
            )
        )
    )  # fmt: skip
    (node,) = graph.nodes
    assert isinstance(node, Operation)
    results = dict(node.attributes)
    assert np.isnan(results.pop("nan"))
    got = results.pop("array")
    assert got.dtype == array.dtype and (got == array).all()
    assert results.pop("strings").tolist() == ["a", b"\xfe"]
    assert results == {
        "i": 3, "f": 0.1, "inf": float("-inf"), "s": "é", "b": b"\xff\x00", "none": None, "flag": True,
        "list": [1, 2.5, "x"], "type": TensorType(None, (1,)), "scalar": 0.5, "map": {"a": [1]},
    }  # fmt: skip
    assert str(graph.outputs[0].type) == "optional(seq(bfloat16[2,N,?]))"
    assert (node.domain, node.version, node.inputs, node.outputs[1]) == ("my.domain", 3, [None], None)
    assert graph.output_names == ["other name"] and graph.opsets == {"": 21, "my.domain": 3}


def test_large_constants_are_left_out() -> None:
    graph = operation(table=np.zeros(1000, np.float32))
    graph.constants = [Value("large", constant=np.zeros(1000, np.float32)), Value("small", constant=np.ones(2))]
    again = graph_from_json(graph_to_json(graph, small=100))
    assert again.constants[0].constant is None
    assert again.constants[1].constant is not None and again.constants[1].constant.tolist() == [1, 1]
    (node,) = again.nodes
    assert isinstance(node, Operation)
    assert node.attributes["table"] == OmittedArray("float32", (1000,))
    assert str(node.attributes["table"]) == "float32 [1000] (not kept)"


def test_other_forms_and_damage_are_one_clear_error() -> None:
    good = json.loads(graph_to_json(model(NESTED).graph))
    with raises_error(loopdbg.ModelError, name="version", expected="1", got="99"):
        graph_from_json(json.dumps({**good, "version": 99}))
    with raises_error(loopdbg.ModelError, expected="a loop graph"):
        graph_from_json("[]")
    for damaged in (
        "{",
        json.dumps({"version": 1}),
        json.dumps({**good, "values": good["values"][:2]}),
        json.dumps({**good, "graph": {**good["graph"], "nodes": [{}]}}),
        json.dumps({**good, "graph": {**good["graph"], "system": "none"}}),
        json.dumps({**good, "graph": {**good["graph"], "inputs": [-1]}}),
    ):
        with raises_error(loopdbg.ModelError, name="graph"):
            graph_from_json(damaged)


def test_where_nodes_were_written() -> None:
    graph = operation()
    graph.nodes[0].source = Origin(
        "/me/model.py", 87, "x = f(x)", "forward", ("a", "b"), "f_1", "f = f(x)", (("/me/a.py", 3),)
    )
    assert graph_from_json(graph_to_json(graph)).nodes[0].origin == graph.nodes[0].origin
    # Where the code is changes nothing of what a graph computes.
    assert graph_digest(graph) == graph_digest(operation())


def test_older_traces_have_the_line_of_a_script_alone() -> None:
    report = json.loads(graph_to_json(operation()))
    report["graph"]["nodes"][0]["origin"] = "model.py:12"
    node = graph_from_json(json.dumps(report)).nodes[0]
    assert (str(node.origin), node.describe()) == ("model.py:12", "Made 'n' (model.py:12)")


@pytest.mark.parametrize(
    "source", [{"line": "3"}, {"file": 3}, {"scopes": [1]}, {"script": 1}, {"callers": [1]}, ["model.py"]]
)
def test_a_damaged_origin(source: object) -> None:
    report = json.loads(graph_to_json(operation()))
    report["graph"]["nodes"][0]["source"] = source
    with raises_error(ModelError, name="graph"):
        graph_from_json(json.dumps(report))
