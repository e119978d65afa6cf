"""Operators are looked up without importing the families of others."""

from __future__ import annotations

import textwrap
from pathlib import Path

from cli_runner import run_python_code
from loopdbg.runtime.ops import operator_index

WRITER = Path(__file__).parents[3] / "support" / "operator_index.py"


def test_the_index_is_complete() -> None:
    written = run_python_code(
        f"import runpy, sys; sys.argv = ['x', '--print']; runpy.run_path({str(WRITER)!r}, None, '__main__')"
    )
    assert written.out == Path(operator_index.__file__).read_text(encoding="utf-8"), (
        "run: python tests/support/operator_index.py"
    )


def test_only_what_a_model_needs_is_imported() -> None:
    code = """
        import sys
        from loopdbg.runtime.graph import System
        from loopdbg.runtime.ops.registry import find_definition

        assert find_definition(System.ONNX, "", "Gather", 13) and find_definition(System.OPENVINO, "", "ADD", 1)
        assert find_definition(System.ONNX, "com.microsoft", "Gelu", 1)
        assert not find_definition(System.ONNX, "", "Gelu", 1)
        assert "loopdbg.runtime.ops.microsoft_attention" not in sys.modules
        assert not find_definition(System.ONNX, "own", "Unheard", 1)
        assert "loopdbg.runtime.ops.microsoft_attention" in sys.modules
        print("done")
    """
    assert run_python_code(textwrap.dedent(code)).out == "done\n"
