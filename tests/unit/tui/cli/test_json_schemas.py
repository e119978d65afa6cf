"""Every ``--json`` has a schema, which names every field: ``run_cli`` validates what tests print against it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cli_runner import PACKAGE_PATH, run_cli, validate_json_output
from loopdbg.tui.cli import COMMANDS
from text_models import SAMPLES

SCHEMAS = PACKAGE_PATH / "loopdbg" / "tui" / "cli" / "schemas"
NAMES = sorted(path.stem for path in SCHEMAS.glob("*.json"))
MODELS = sorted(path.name for path in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml")))
LIMIT = ("--max-iterations", 100)


def schema(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
    return content


def subschemas(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from subschemas(child)


def test_schemas_are_of_the_commands_with_json() -> None:
    with_json = [name for name, command in COMMANDS.items() if "--json-schema" in command.parser().format_help()]
    assert sorted(with_json) == NAMES
    assert [name for name, command in COMMANDS.items() if "--json " in command.parser().format_help()] == with_json


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_valid_and_closed(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    for part in subschemas(schema(name)):
        if part.get("type") == "object":
            assert "additionalProperties" in part
            assert "properties" not in part or part["additionalProperties"] is False


@pytest.mark.parametrize("name", NAMES)
def test_json_schema_is_printed_without_other_arguments(capsys: pytest.CaptureFixture[str], name: str) -> None:
    ran = run_cli(capsys, name, "--json-schema")
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out) == schema(name)


def outputs(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Command lines of each command, without ``--json``."""
    newton, nested = SAMPLES / "newton_sqrt.onnx", SAMPLES / "loop_nested.xml"
    return {
        "check": [(newton, "--no-run"), (newton, nested), (newton, "--no-run", "--fix", "-o", folder / "fixed.onnx")],
        "config": [()],
        "diff": [(newton, newton), (newton, "--against", "onnxruntime")],
        "explain": [(newton,), (nested, "--as", "tensorrt")],
        "extract": [(newton, "-o", folder / "loop"), (newton, "--iteration", 2, "-o", folder / "body")],
        "fuzz": [(newton, "--time", 0.5, "-j", 1, "-o", folder / "fuzz")],
        "info": [(newton,), (nested,)],
        "invariants": [(newton, "--random", 3)],
        "optimize": [(newton, "--count", 60, "--seconds", 1), (nested, "--count", 5, "--seconds", 1)],
        "precision": [(newton, "--tolerance", "1e-3"), (nested, "--as", "bfloat16")],
        "profile": [(newton, "--seconds", 0.1, "--against", "onnxruntime"), (nested, "--seconds", 0.1, "--roofline")],
        "run": [
            (newton,),
            (nested, *LIMIT),
            (newton, "--coverage"),
            (newton, "--record", folder / "run.loopdb"),
            (newton, "--break", "x < 1.45"),
            (newton, "--assert", "x > 1.45"),
            (newton, "--max-iterations", 2),
            (SAMPLES / "collatz.onnx", "--input", f"start={2**62 + 3}", "--diagnose", "--max-iterations", 9),
        ],
        "test": [(newton, "-j", 1, "--coverage")],
        "sweep": [(newton, "--random", 5, *LIMIT, "--measure", "err", "-j", 1)],
    }


@pytest.mark.parametrize("name", NAMES)
def test_output_conforms_to_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    for arguments in outputs(tmp_path)[name]:
        ran = run_cli(capsys, name, *arguments, "--json")
        assert json.loads(ran.out), ran.err


@pytest.mark.parametrize("model", MODELS)
def test_output_of_every_sample_conforms(capsys: pytest.CaptureFixture[str], model: str) -> None:
    for name, options in (("info", ()), ("explain", ()), ("run", LIMIT)):
        assert run_cli(capsys, name, SAMPLES / model, *options, "--json").out


def test_undocumented_field_does_not_conform(capsys: pytest.CaptureFixture[str]) -> None:
    result = json.loads(run_cli(capsys, "run", SAMPLES / "newton_sqrt.onnx", "--json").out)
    validate_json_output("run", json.dumps(result))
    for changed in (result, result["loops"][0], result["outputs"]["root"]):
        changed["undocumented"] = 1
        with pytest.raises(AssertionError):
            validate_json_output("run", json.dumps(result))
        del changed["undocumented"]
    del result["seconds"]
    with pytest.raises(AssertionError):
        validate_json_output("run", json.dumps(result))
