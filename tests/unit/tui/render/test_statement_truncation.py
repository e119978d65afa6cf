"""A truncated line keeps its assignment target and its operator."""

from __future__ import annotations

from pathlib import Path

import pytest

import loopdbg
from loopdbg.debugger.describe.pseudo_code import build_pseudo_code
from loopdbg.debugger.expression.tokens import mask_quoted
from loopdbg.tui.render.statement_shortening import color_statement, min_statement_cells, shorten_statement
from loopdbg.tui.render.styled_text import Role, spans_width

SAMPLES = sorted(
    path for path in (Path(__file__).parents[4] / "sample_models").iterdir() if path.suffix in (".onnx", ".xml")
)


def cut(result: str, expression: str, width: int) -> str:
    spans = shorten_statement([(result, Role.NAME), (" = ", Role.DIM), (expression, Role.PLAIN)], width)
    assert spans_width(spans) <= width
    return "".join(text for text, _ in spans)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (60, "h_next, c_next = LSTMCell(x_row, h, c, W, hidden_size=256)"),
        (50, "h_next, c_next = LSTMCell(x_row, h, c, W, …)"),
        (42, "h_next, c_next = LSTMCell(x_row, h, c, …)"),
        (36, "h_next, c_next = LSTMCell(x_row, …)"),
        (28, "h_next, c_next = LSTMCell(…)"),
        (23, "h_next, … = LSTMCell(…)"),
    ],
)
def test_attributes_are_dropped_first_then_operands(width: int, shown: str) -> None:
    assert cut("h_next, c_next", "LSTMCell(x_row, h, c, W, hidden_size=256)", width) == shown


@pytest.mark.parametrize(
    ("expression", "width", "shown"),
    [
        ("update_in + recalled_before", 26, "y = update_in + reca…efore"),
        ("Tanh(a_long_candidate)", 20, "y = Tanh(a_lo…idate)"),
        ("Concat(`a/b,c`, q, axis=-1)", 26, "y = Concat(`a/b,c`, q, …)"),
        ("Slice(x, [0, 1], [2, 3])", 26, "y = Slice(x, [0, 1], …)"),
        ("float32[1,4,0,8]", 18, "y = f32[1,4,0,8]"),
        ("uint8[2]", 11, "y = u8[2]"),
    ],
)
def test_long_names_are_shortened_in_the_middle(expression: str, width: int, shown: str) -> None:
    assert cut("y", expression, width) == shown


@pytest.mark.parametrize(
    ("result", "expression", "shown"),
    [
        ("tripled_plus_one", "tripled + 1", "tripled_plus_one = … + 1"),
        ("y", "-a_long_name", "y = -…"),
        ("sums[5-i:6-i, :]", "add_row", "sums[…] = …"),
        ("`a[0], b`, rest", "Split(x, axis=0)", "`a[0], b`, … = Split(…)"),
        ("total", "[0.0, 0.0]", "total = […]"),
    ],
)
def test_minimal_statement(result: str, expression: str, shown: str) -> None:
    spans = [(result, Role.NAME), (" = ", Role.DIM), (expression, Role.PLAIN)]
    assert min_statement_cells(spans) == len(shown)
    assert cut(result, expression, len(shown)) == shown


@pytest.mark.parametrize(
    ("expression", "width", "shown"),
    [
        ("ReduceMean(layers_0_norm_Pow, [-1])", 30, "layers…Reduced = ReduceMean(…)"),
        ("Gather * Gather", 24, "layers_…_Reduced = … * …"),
        ("Sqrt(x)", 20, "laye…duced = Sqrt(x)"),
    ],
)
def test_long_result_leaves_space_for_operator(expression: str, width: int, shown: str) -> None:
    assert cut("layers_0_input_layernorm_Reduced", expression, width) == shown


@pytest.mark.parametrize(
    ("expression", "operators", "attributes"),
    [
        ("half + half_q", ["+"], ""),
        ("-x", ["-"], ""),
        ("abs(a - b) > tol", ["abs", "-", ">"], ""),
        ("LSTMCell(x, h, c, W, hidden_size=256, clip=1.0)", ["LSTMCell"], "hidden_size=256, clip=1.0"),
        ("Reshape(`a=b, c`, [1, 2], …)", ["Reshape"], ""),
        ("not go", ["not"], ""),
        ("x_new", [], ""),
    ],
)
def test_expression_is_distinguished(expression: str, operators: list[str], attributes: str) -> None:
    spans = color_statement(
        [("y", Role.NAME), (" = ", Role.DIM), (expression, Role.PLAIN), ("  # comment", Role.COMMENT)]
    )
    assert "".join(text for text, _ in spans) == f"y = {expression}  # comment"
    assert [text for text, role in spans if role is Role.OPERATOR] == operators
    assert "".join(text for text, role in spans if role is Role.ATTRIBUTE) == attributes


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_no_sample_loses_an_operator(sample: Path) -> None:
    """The width is that of a line at 120 columns, less its value and indentation."""
    for line in build_pseudo_code(loopdbg.load(sample).graph).lines:
        assigned = mask_quoted(line.text).find(" = ")
        if assigned < 0 or line.kind.name != "NODE":
            continue
        result, expression = line.text[:assigned], line.text[assigned + 3 :]
        shown = cut(result, expression, 34)
        head, called, _ = expression.partition("(")
        assert shown.startswith(result.partition(",")[0]) and " = " in shown, shown
        assert not called or not head.isidentifier() or f"{head}(" in shown, shown
