"""The text of source lines comes from the model, or else from a file, but only from a Python file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loopdbg.debugger.describe.node_source_lines import CodeLines
from loopdbg.debugger.describe.pseudo_code import build_pseudo_code
from loopdbg.runtime.graph import Graph, Operation, Origin, Value
from text_models import sample


def node(origin: Origin) -> Operation:
    return Operation("n", "Add", "", 18, [], [Value("y")], source=origin)


def origin_lines(origin: Origin, folder: Path | str = "") -> str:
    return CodeLines(Graph("g", folder=str(folder))).describe_node(node(origin))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "nets" / "model.py"
    path.parent.mkdir()
    path.write_text("def f(x):\n    return x + 1\n")
    return path


def test_text_in_the_model_is_preferred(script: Path) -> None:
    # It is the text at export time; the file may have changed since.
    assert origin_lines(Origin(str(script), 2, "return x + 2")) == "model.py:2  return x + 2"


def test_text_is_read_from_the_file(script: Path) -> None:
    assert origin_lines(Origin(str(script), 2)) == "model.py:2  return x + 1"
    assert origin_lines(Origin("nets/model.py", 2), script.parents[1]) == "model.py:2  return x + 1"
    # Exported on another machine, with the file next to the model here.
    assert origin_lines(Origin("C:\\their\\model.py", 2), script.parent) == "model.py:2  return x + 1"


def test_missing_line_or_file(script: Path) -> None:
    assert origin_lines(Origin(str(script), 3)) == "model.py:3"
    assert origin_lines(Origin("other.py", 1), script.parent) == "other.py:1"
    assert origin_lines(Origin(str(script))) == "model.py"
    assert origin_lines(Origin(framework_node="mul_2")) == ""


def test_exporter_line_formats() -> None:
    origin = Origin("model.py", 142, "return scan(step, h, x)", traced="gates = a + b")
    assert origin_lines(origin) == "model.py:142 ▸ gates = a + b"
    assert CodeLines(Graph("g")).source_line_text(node(origin)) == "model.py:142  return scan(step, h, x)"


def test_non_python_file_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret\n")
    width = tmp_path / "wide.py"
    width.write_bytes(b"x = 1\n" * (1 << 20))
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\xff\xfe\0\n")
    for path in (secret, width, binary, tmp_path, f"{secret}\0.py"):
        assert "  " not in origin_lines(Origin(str(path), 1)), path


@pytest.mark.skipif(os.name != "posix", reason="pipes with names are of Unix")
def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.py")
    assert origin_lines(Origin("model.py", 1), tmp_path) == "model.py:1"


def test_network_path_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, most: int) -> bytes:
        raise AssertionError(path)

    monkeypatch.setattr("loopdbg.debugger.describe.node_source_lines.read_bytes", refuse)
    monkeypatch.setattr("os.path.isabs", lambda path: True)
    assert origin_lines(Origin("\\\\host\\share\\model.py", 1)) == "model.py:1"
    assert origin_lines(Origin("//host/share/model.py", 1)) == "model.py:1"


def test_control_characters_are_escaped() -> None:
    assert origin_lines(Origin("a\x1b[2J.py", 1, "x\x07 = 1")) == "a\\x1b[2J.py:1  x\\x07 = 1"
    assert len(origin_lines(Origin("a.py", 1, "x" * 1000))) < 250


def test_source_code_is_above_its_statements() -> None:
    loaded, _ = sample("power_iteration.onnx")
    whole = build_pseudo_code(loaded.graph)
    above = whole.code_above(range(len(whole.lines)))
    assert [(whole.lines[k].number, text) for k, text in above.items()] == [
        (4, "# power_iteration.py:18  for _ in range(max_iterations):"),
        (5, "    # power_iteration.py:9  product = matrix @ v"),
        (6, "    # power_iteration.py:10  longer = product / np.linalg.norm(product)"),
        (8, "    # power_iteration.py:11  new_estimate = v @ product"),
        (9, "    # power_iteration.py:12  change = abs(new_estimate - estimate)"),
        (11, "    # power_iteration.py:21  if not change > tol:"),
    ]


def test_nodes_without_a_line_are_separated_from_the_line_before() -> None:
    with_origin, plain = node(Origin("a.py", 1, "y = f(x)")), node(Origin())
    whole = build_pseudo_code(Graph("g", nodes=[plain, with_origin, plain, node(Origin())]))
    assert whole.code_above(range(len(whole.lines))) == {1: "# a.py:1  y = f(x)", 2: "# no line is known"}
    # An excerpt begins with the source line of its first statement.
    assert whole.code_above(range(1, 2)) == {1: "# a.py:1  y = f(x)"}
