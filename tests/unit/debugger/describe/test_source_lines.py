"""The text of lines of code: from the model, else from a file, and from no file that is not one of Python."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from loopdbg.debugger.describe.code_lines import CodeLines
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


def test_the_model_has_the_text(script: Path) -> None:
    # It is of the moment of the export; the file may have changed since.
    assert origin_lines(Origin(str(script), 2, "return x + 2")) == "model.py:2  return x + 2"


def test_the_file_has_the_text(script: Path) -> None:
    assert origin_lines(Origin(str(script), 2)) == "model.py:2  return x + 1"
    assert origin_lines(Origin("nets/model.py", 2), script.parents[1]) == "model.py:2  return x + 1"
    # Written on another machine, and next to the model here.
    assert origin_lines(Origin("C:\\their\\model.py", 2), script.parent) == "model.py:2  return x + 1"


def test_a_line_or_a_file_that_is_not_there(script: Path) -> None:
    assert origin_lines(Origin(str(script), 3)) == "model.py:3"
    assert origin_lines(Origin("other.py", 1), script.parent) == "other.py:1"
    assert origin_lines(Origin(str(script))) == "model.py"
    assert origin_lines(Origin(framework_node="mul_2")) == ""


def test_what_an_exporter_made_of_a_line() -> None:
    origin = Origin("model.py", 142, "return scan(step, h, x)", traced="gates = a + b")
    assert origin_lines(origin) == "model.py:142 ▸ gates = a + b"
    assert CodeLines(Graph("g")).line_of_node(node(origin)) == "model.py:142  return scan(step, h, x)"


def test_what_is_no_python_file_is_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret\n")
    width = tmp_path / "wide.py"
    width.write_bytes(b"x = 1\n" * (1 << 20))
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\xff\xfe\0\n")
    for path in (secret, width, binary, tmp_path, f"{secret}\0.py"):
        assert "  " not in origin_lines(Origin(str(path), 1)), path


@pytest.mark.skipif(os.name != "posix", reason="pipes with names are of Unix")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.py")
    assert origin_lines(Origin("model.py", 1), tmp_path) == "model.py:1"


def test_another_machine_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, most: int) -> bytes:
        raise AssertionError(path)

    monkeypatch.setattr("loopdbg.debugger.describe.code_lines.read_bytes", refuse)
    monkeypatch.setattr("os.path.isabs", lambda path: True)
    assert origin_lines(Origin("\\\\host\\share\\model.py", 1)) == "model.py:1"
    assert origin_lines(Origin("//host/share/model.py", 1)) == "model.py:1"


def test_what_would_move_a_cursor_is_shown_as_an_escape() -> None:
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


def test_nodes_without_a_line_do_not_seem_to_be_of_the_one_before() -> None:
    with_origin, plain = node(Origin("a.py", 1, "y = f(x)")), node(Origin())
    whole = build_pseudo_code(Graph("g", nodes=[plain, with_origin, plain, node(Origin())]))
    assert whole.code_above(range(len(whole.lines))) == {1: "# a.py:1  y = f(x)", 2: "# no line is known"}
    # A part of them begins with what it comes from.
    assert whole.code_above(range(1, 2)) == {1: "# a.py:1  y = f(x)"}
