"""The client that VS Code's adapters are tested with, on ours: node and the package from the npm registry."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from text_models import SAMPLES

ROOT = Path(__file__).parents[2]
#: Where ``make editors`` installs it.
MODULES = ROOT / "build" / "node_modules"


def test_a_session() -> None:
    node = shutil.which("node")
    if node is None or not (MODULES / "@vscode" / "debugadapter-testsupport").is_dir():
        pytest.skip("needs node, and @vscode/debugadapter-testsupport: make editors")
    program = Path(sys.executable).with_name("loopdbg")
    script = ROOT / "tests" / "peers" / "dap_client.cjs"
    ran = subprocess.run(
        [node, script, program, SAMPLES / "newton_sqrt.onnx"],
        env={**os.environ, "NODE_PATH": str(MODULES)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "stepBack": True,
        "entry": "before iteration 0 of loop 'sqrt'",
        "verified": True,
        "hit": "breakpoint",
        "line": 0,
        "back": "step",
        "set": "100.0",
        "end": "the model ran to its end",
    }
