"""Short names: unique tails of long names, and nothing that the model calls something else."""

from __future__ import annotations

from loopdbg.debugger.describe.value_names import short_name_rows, short_names
from loopdbg.runtime.graph import Graph, Value
from loopdbg.runtime.graph.short_names import assign_short_names


def short(*names: str) -> list[str]:
    graph = Graph("g", inputs=[Value(name) for name in names])
    assign_short_names(graph)
    return [value.short_name for value in graph.inputs]


def test_the_shortest_tail_that_is_unique() -> None:
    assert short("/model/layers.0/attn/MatMul_output_0") == ["MatMul"]
    assert short("/model/layers.0/attn/MatMul_output_0", "/model/layers.0/mlp/MatMul_output_0") == [
        "attn_MatMul",
        "mlp_MatMul",
    ]
    # Neither is shorter: one would be the other's tail otherwise.
    assert short("/a/layers.0/MatMul_output_0", "/b/layers.0/MatMul_output_0") == [
        "a_layers_0_MatMul",
        "b_layers_0_MatMul",
    ]
    assert short("onnx::MatMul_12345", "encoder.layer.0.attention.weight") == ["MatMul_12345", "weight"]


def test_what_is_short_or_a_bare_word_stays() -> None:
    assert short("terms.1", "/rnn/h:0", "x" * 300, "a b", "a_long_name_without_any_sign") == [""] * 5


def test_no_name_of_the_model_is_taken() -> None:
    assert short("/model/layers.0/MatMul_output_0", "MatMul") == ["MatMul_output_0", ""]
    result = short("/model/x/MatMul_output_0", "MatMul", "MatMul_output_0")
    assert result[0] == "x_MatMul"


def test_common_prefix_is_dropped() -> None:
    graph = Graph("g", inputs=[Value("/model/layers.0/attn/Add_output_0"), Value("/model/layers.0/mlp/Add_output_0")])
    assign_short_names(graph)
    names = short_names(graph.inputs)
    assert names == {value.short_name: value.name for value in graph.inputs}
    assert short_name_rows(names) == [
        ("…", "/model/layers.0/"),
        ("attn_Add", "…attn/Add_output_0"),
        ("mlp_Add", "…mlp/Add_output_0"),
    ]


def test_what_does_not_read_as_a_word_is_left_out() -> None:
    assert short("/model/layers/0/1/2/3/4") == ["layers_0_1_2_3_4"]
    assert short("x y " * 100) == [""]
