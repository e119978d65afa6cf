"""An attribute of another type than its operator's was an internal error, or silently something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import AttributeProto

from cli_runner import run_cli
from text_models import proto

RESIZE = """g (int64 n, float[1,1,2,2] x0) => (float[1,1,4,4] last) {
  scales = Constant <value = float[4] {1, 1, 2, 2}> ()
  last = Loop <body = b (int64 i, bool c, float[1,1,a,d] x) => (bool c, float[1,1,e,f] y) {
    y = Resize <mode = "nearest"> (x, , scales)
  }> (n, , x0)
}"""
GATHER = """g (int64 n, float[4] t, float x0) => (float last) {
  last = Loop <body = b (int64 i, bool c, float x) => (bool c, float y) {
    row = Gather <axis = 0> (t, i)
    y = Add (x, row)
  }> (n, , x0)
}"""


def typed(kind: int) -> Callable[[AttributeProto], None]:
    return lambda attribute: setattr(attribute, "type", kind)


def not_text(attribute: AttributeProto) -> None:
    attribute.s = b"n\xff\x8c"


CASES = {
    "Resize, integers": (RESIZE, typed(AttributeProto.INTS), "'mode' is of the kind INTS, and Resize takes STRING"),
    "Resize, no UTF-8": (RESIZE, not_text, "'mode' is not UTF-8"),
    "Gather, strings": (GATHER, typed(AttributeProto.STRINGS), "'axis' is of the kind STRINGS, and Gather takes INT"),
    "Gather, a string": (GATHER, typed(AttributeProto.STRING), "'axis' is of the kind STRING, "),
    "Gather, types": (GATHER, typed(AttributeProto.TYPE_PROTOS), "'axis' is of the kind TYPE_PROTOS, "),
    "Gather, a graph": (GATHER, typed(AttributeProto.GRAPH), "'axis' is of the kind GRAPH, "),
    "Gather, a float": (GATHER, typed(AttributeProto.FLOAT), "'axis' is of the kind FLOAT, "),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_one_error(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, change, message = CASES[case]
    model = proto(text)
    for node in model.graph.node[-1].attribute[0].g.node:
        for attribute in node.attribute:
            change(attribute)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    for command in (["info"], ["explain"], ["run", "--input", "n=1"]):
        complaint = run_cli(capsys, *command[:1], path, *command[1:]).error_line
        assert message in complaint
        assert "in the body of Loop 'Loop_" in complaint
