"""``.ci/script_imports.py`` finds what tests and benchmarks import and does not exist."""

from __future__ import annotations

import importlib.util

import pytest

import source_checks

_spec = importlib.util.spec_from_file_location("script_imports", source_checks.ROOT / ".ci" / "script_imports.py")
assert _spec is not None and _spec.loader is not None
script_imports = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(script_imports)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import gone_helper", "no module 'gone_helper'"),
        ("def test() -> None:\n    from gone_helper import part", "no module 'gone_helper'"),
        ("from cli_runner import run_cli, gone", "no 'gone' in 'cli_runner'"),
        ("from strategies import gone", "no 'gone' in 'strategies'"),
        ("from loopdbg.runtime.engine.engine import Gone", "no 'Gone' in 'loopdbg.runtime.engine.engine'"),
        ("from loopdbg.runtime import gone", "no 'gone' in 'loopdbg.runtime'"),
        ("from . import test_gone", "no 'test_gone' in '__init__'"),
    ],
)
def test_import_of_what_is_gone(text: str, line: str) -> None:
    (fault,) = script_imports.missing("tests/unit/test_it.py", text)
    assert fault.endswith(f": {line}")


def test_imports_of_what_is_there() -> None:
    text = """
import os.path
import numpy as np
from cli_runner import run_cli
from loopdbg import load
from loopdbg.runtime.engine.engine import Engine
from strategies import draws
from . import test_api
"""
    assert list(script_imports.missing("tests/unit/test_it.py", text)) == []
