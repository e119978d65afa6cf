"""Runs the command line in tests, in this process or in a separate one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import onnx
import pytest

import loopdbg
from loopdbg.tui.cli import main
from text_models import proto

#: The folder that the package is imported from: of a checkout or of an environment.
PACKAGE_PATH = Path(loopdbg.__file__).parents[1]


class CliResult(NamedTuple):
    """How a command line ended."""

    status: int
    out: str
    err: str

    @property
    def error_line(self) -> str:
        """The error, which must be the only line on stderr."""
        assert "Traceback" not in self.err
        assert self.out == ""
        assert self.err.startswith("loopdbg: ")
        assert self.err.count("\n") == 1 and self.err.endswith("\n")
        return self.err.removeprefix("loopdbg: ").strip()


def run_cli(capsys: pytest.CaptureFixture[str], *arguments: object) -> CliResult:
    """Run a command line in this process; what ``--json`` prints must conform to its schema."""
    capsys.readouterr()
    words = [str(argument) for argument in arguments]
    status = main(words)
    result = CliResult(status, *capsys.readouterr())
    if "--json" in words and result.out:
        validate_json_output(words[0], result.out)
    return result


@cache
def _schema_validator(command: str) -> jsonschema.Draft202012Validator:
    text = resources.files("loopdbg.tui.cli").joinpath("schemas", f"{command}.json").read_text("utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def validate_json_output(command: str, text: str) -> None:
    """Check what a command printed with ``--json``."""
    error = jsonschema.exceptions.best_match(_schema_validator(command).iter_errors(json.loads(text)))
    assert error is None, f"{error.json_path}: {error.message}"


#: A command line whose first line on stderr reports that a loop runs.
LOOP_ANNOUNCING_SCRIPT = """
import sys
from loopdbg.runtime.model import Model
import loopdbg
from loopdbg.tui.cli import main

printed = []

def execute(self, *arguments, execute=Model.execute, on_tick, **keywords):
    def tick(run):
        on_tick(run)
        if not printed and any(loop.iterations for loop in run.loops):
            printed.append(print("running", file=sys.stderr, flush=True))
    return execute(self, *arguments, on_tick=tick, **keywords)

Model.execute = execute
sys.exit(main())
"""


def start_python(
    *arguments: object, environment: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[str]:
    """Start Python as a separate process that finds the package; ``options`` as for ``Popen``."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PATH), **(environment or {})},
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


def start_cli(*arguments: object, telling: bool = False, **options: Any) -> subprocess.Popen[str]:
    """Start a command line as a separate process, optionally one that reports when a loop runs."""
    return start_python(*(["-c", LOOP_ANNOUNCING_SCRIPT] if telling else ["-m", "loopdbg"]), *arguments, **options)


def wait_for_exit(process: subprocess.Popen[str], seconds: float = 300) -> CliResult:
    """Wait for a process to end; kill it if it does not."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return CliResult(process.returncode, out or "", err or "")


def run_python_code(code: str, *arguments: object, seconds: float = 300, **options: Any) -> CliResult:
    """Run Python code in a separate process."""
    return wait_for_exit(start_python("-c", code, *arguments, **options), seconds)


def save_text_model(folder: Path, text: str, name: str = "model.onnx", opset: int = 21) -> Path:
    """Write a model in ONNX text form to a model file."""
    path = folder / name
    onnx.save(proto(text, opset), path)
    return path
