"""``--operators FILE.py``: custom operators loaded by the command line."""

from __future__ import annotations

import sys
import textwrap
import types
from pathlib import Path

import onnx
import onnx.parser
import pytest

from cli_runner import run_cli as command

MODEL = """<ir_version: 10, opset_import: ["": 18, "test.brought": 1]>
g (float[3] x) => (float[3] y) { y = test.brought.NAME <low = 0.5> (x) }"""
FUNCTION = """
    import numpy as np
    import loopdbg

    print("registering")

    @loopdbg.operator("test.brought", "Floor")
    def floor(x, *, low):
        return np.maximum(x, np.float32(low))
"""
CLASS = """
    import numpy as np
    from onnx.reference.op_run import OpRun
    from sibling import at_least

    class AtLeast(OpRun):
        op_domain = "test.brought"

        def _run(self, x, low=None):
            return (at_least(x, low),)
"""


def written(folder: Path, text: str) -> Path:
    result = "import numpy as np\n\ndef at_least(x, low):\n    return np.maximum(x, np.float32(low))\n"
    (folder / "sibling.py").write_text(result)
    path = folder / "operators.py"
    path.write_text(textwrap.dedent(text))
    return path


def model(folder: Path, name: str) -> Path:
    path = folder / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL.replace("NAME", name)), path)
    return path


@pytest.mark.parametrize(("name", "text"), [("Floor", FUNCTION), ("AtLeast", CLASS)], ids=["function", "class"])
def test_operators_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str) -> None:
    inputs = ["--input", "x=[0, 1, 2]"]
    path, file = model(tmp_path, name), written(tmp_path, text)
    ran = command(capsys, "run", path, *inputs)
    assert ran.status == 1 and "--operators FILE.py takes a Python function for it" in ran.error_line
    ran = command(capsys, "run", path, *inputs, "--operators", file)
    assert ran.status == 0 and "[0.5, 1.0, 2.0]" in ran.out and "registering" not in ran.out


def test_each_operator_file_has_its_own_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two files import sibling modules of one name, and a third module of that name is already imported."""
    text = "import numpy as np, loopdbg\nfrom level import low\n"
    text += "@loopdbg.operator('test.brought', '{}')\ndef floor(x, **_):\n    return np.maximum(x, np.float32(low))\n"
    files = []
    for folder, low in (("Floor", 1), ("Level", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "level.py").write_text(f"low = {low}\n")
        files.append(tmp_path / folder / "operators.py")
        files[-1].write_text(text.format(folder))
    path = tmp_path / "model.onnx"
    both = "(float[3] y, float[3] z) { y = test.brought.Floor (x) z = test.brought.Level (x) }"
    onnx.save(onnx.parser.parse_model(MODEL.partition("(float[3] y)")[0] + both), path)
    elsewhere = types.ModuleType("level")
    elsewhere.__file__ = str(tmp_path / "elsewhere" / "level.py")
    sys.modules["level"] = elsewhere
    try:
        options = [part for file in files for part in ("--operators", file)]
        ran = command(capsys, "run", path, "--input", "x=[0, 1, 5]", *options)
        assert sys.modules["level"] is elsewhere
    finally:
        del sys.modules["level"]
    assert ran.status == 0 and "[1.0, 1.0, 5.0]" in ran.out and "[2.0, 2.0, 5.0]" in ran.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "operators.py has no operator: register functions with @loopdbg.operator"),
        ("x = (\n", "operators.py:1: is no Python"),
        ("\nimport nothing_of_that_name\n", "operators.py:2: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "operators.py:1: SystemExit: 3"),
        ('import loopdbg\nloopdbg.operator("a", "B")(3)\n', "operators.py:2: the operator 'B' is registered as int"),
    ],
)
def test_files_without_operators_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    ran = command(capsys, "run", model(tmp_path, "Floor"), "--operators", written(tmp_path, text))
    assert ran.status in (1, 2) and message in ran.error_line


def test_operator_files_are_executed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    path, file = model(tmp_path, "Floor"), written(tmp_path, FUNCTION)
    ran = command(capsys, "run", path, "--input", "x=[0, 1, 2]", "--operators", file)
    assert ran.status == 2 and "operators.py is a Python file, which can do what you can" in ran.error_line
    ran = command(capsys, "run", path, "--input", "x=[0, 1, 2]", "--operators", file, "--trust-script")
    assert ran.status == 0
    ran = command(capsys, "run", path, "--operators", tmp_path / "no.py", "--trust-script")
    assert "no.py: cannot be read: No such file" in ran.error_line
