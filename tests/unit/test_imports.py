"""What a command does not need it does not import: start-up is part of what people wait for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli_runner import run_python_code
from loopdbg.tui.cli import COMMANDS
from text_models import SAMPLES

HEAVY = ("onnx", "onnx_ir", "google", "lxml", "textual", "rich", "matplotlib", "scipy", "onnxruntime", "openvino")
HEAVY += ("ml_dtypes",)
SCREENS = ("textual", "rich", "matplotlib")

LIST = """
import json, os, sys
from loopdbg.tui.cli import main
sys.stdout = open(os.devnull, "w")
status = main(sys.argv[1:])
print(json.dumps([status, list(sys.modules)]), file=sys.__stdout__)
"""


def modules(*arguments: str) -> set[str]:
    """The modules that a command line leaves imported."""
    ran = run_python_code(LIST, *arguments)
    assert ran.status == 0, ran.err
    status, names = json.loads(ran.out)
    assert status == 0, ran.err
    return set(names)


def imported(*arguments: str) -> set[str]:
    """The same, the top-level packages alone."""
    return {name for name in modules(*arguments) if "." not in name}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_waits_for_no_engine(arguments: list[str]) -> None:
    result = modules(*arguments)
    assert "loopdbg.tui.cli" in result
    ours = {name for name in result if name.startswith(("loopdbg.runtime", "loopdbg.debugger"))}
    assert ours <= {f"loopdbg.runtime{name}" for name in ("", ".errors", ".safe_file_reading", ".text")}
    assert not {name.partition(".")[0] for name in result} & {"numpy", "sqlite3", *HEAVY}


def test_a_run_would_be_noticed() -> None:
    result = modules("run", str(SAMPLES / "lstm.xml"))
    assert {"numpy", "loopdbg.runtime.engine.engine"} <= result and "loopdbg.tui.cli.commands.diff" not in result


def test_a_list_of_lessons_imports_nothing_heavy() -> None:
    assert imported("learn", "--list").isdisjoint(HEAVY)


@pytest.mark.parametrize("command", ["run", "info", "explain"])
def test_an_ir_needs_neither_onnx_nor_a_screen(command: str) -> None:
    assert imported(command, str(SAMPLES / "lstm.xml")).isdisjoint(("onnx", "onnx_ir", "scipy", "ml_dtypes", *SCREENS))


@pytest.mark.parametrize("command", ["run", "explain"])
def test_an_onnx_model_needs_neither_the_onnx_package_nor_a_screen(command: str) -> None:
    """Nor protobuf. What ONNX knows of operators is in a compiled module of its own."""
    assert imported(command, str(SAMPLES / "newton_sqrt.onnx")).isdisjoint(HEAVY)


def test_what_onnx_infers_of_a_model_is_left_to_another_process() -> None:
    result = imported("info", str(SAMPLES / "newton_sqrt.onnx"))
    assert result.isdisjoint(("onnx", "lxml", "scipy", *SCREENS))


EDITED_COPY = """
import sys
from pathlib import Path
import loopdbg
from loopdbg.runtime.modelfile.edited_copy import write_edited_copy
from loopdbg.runtime.modelfile.model_file import ModelEdits
source, target = map(Path, sys.argv[1:])
write_edited_copy(source, None, loopdbg.load(source).graph, ModelEdits(), target)
print(*sys.modules)
"""


def test_an_edited_ir_needs_no_onnx(tmp_path: Path) -> None:
    ran = run_python_code(EDITED_COPY, SAMPLES / "lstm.xml", tmp_path / "copy.xml")
    assert ran.status == 0, ran.err
    modules_found = set(ran.out.split())
    assert "loopdbg.runtime.modelfile.openvino_ir" in modules_found and modules_found.isdisjoint(
        ("onnx", "onnx_ir", "google")
    )


DEBUGGER = """
import os, sys
from loopdbg.tui.cli import main
sys.stdout = open(os.devnull, "w")
main(sys.argv[1:])
print(*[name for name in sys.modules if name.startswith("loopdbg.debugger.")], file=sys.__stdout__)
"""


@pytest.mark.parametrize("command", ["run", "info"])
@pytest.mark.parametrize("model", ["newton_sqrt.onnx", "lstm.xml"])
def test_what_only_runs_needs_no_debugger(command: str, model: str) -> None:
    """But for how values and ends of loops are worded, and arrays read; ``info`` says how a loop ends and how often it
    runs, and writes names, as all do."""
    ran = run_python_code(DEBUGGER, command, SAMPLES / model)
    assert ran.status == 0, ran.err
    results = set(ran.out.split())
    if command == "info":
        assert {name.split(".")[2] for name in results} == {
            "value_json",
            "value_text",
            "describe",
            "expression",
            "statistics",
        }
        assert "loopdbg.debugger.expression.evaluate" not in results
    else:
        words = {"loopdbg.debugger.describe", "loopdbg.debugger.describe.termination"}
        statistics = {f"loopdbg.debugger.statistics{module}" for module in ("", ".tensor_statistics")}
        arrays = {"loopdbg.debugger.reference", "loopdbg.debugger.reference.array_files"}
        texts = {"loopdbg.debugger.value_json", "loopdbg.debugger.value_text"}
        assert results <= {*texts, *words, *statistics, *arrays}


def test_this_test_would_notice() -> None:
    assert "lxml" in imported("run", str(SAMPLES / "lstm.xml"))


LATER = """
import sys
from loopdbg.runtime.ops.onnx_schemas import schema_for
print(schema_for("Add", 14, "").since_version, schema_for("Missing", 14, ""), "onnx.defs" in sys.modules)
import onnx.checker, onnx.shape_inference
from onnx import defs, onnx_cpp2py_export
print(type(defs.get_schema("Add", 14)) is type(schema_for("Add", 14, "")), onnx_cpp2py_export.defs.__name__)
"""


def test_the_onnx_package_can_be_imported_later_on() -> None:
    ran = run_python_code(LATER)
    assert ran.status == 0, ran.err
    assert ran.out.split() == ["14", "None", "False", "True", "onnx.onnx_cpp2py_export.defs"]
