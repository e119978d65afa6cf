"""A few rounds of ``crash_consistency.py``, which tries hundreds when run by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_python_code, start_python, wait_for_exit

SCRIPT = Path(__file__).with_name("crash_consistency.py")
#: One command for each way of writing files: one file, a folder, several files, a database.
COMMANDS = [word for name in ("run npz", "extract IR", "convert", "run record nodes") for word in ("--only", name)]


@pytest.mark.slow
@pytest.mark.parametrize("words", [("signals", "--count", "8"), ("limit",)])
def test_failed_write_leaves_the_old_file(words: tuple[str, ...]) -> None:
    ran = wait_for_exit(start_python(SCRIPT, *words, *COMMANDS), 1000)
    assert ran.status == 0, ran.out + ran.err
    assert "in 4 commands" in ran.out or "4 commands with a limit" in ran.out
    assert ran.out.endswith("0 faults\n")


@pytest.mark.slow
def test_in_place_write_is_detected() -> None:
    """Checks the harness with an intentional fault."""
    code = f"""
import sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
import crash_consistency
patch = '''
import contextlib
from loopdbg.debugger.export_formats import npz
npz.atomic_binary = lambda path: open(path, "wb")
'''
crash_consistency.CHILD_SCRIPT = patch + crash_consistency.CHILD_SCRIPT
sys.exit(crash_consistency.main(["limit", "--only", "run npz"]))
"""
    ran = run_python_code(code, seconds=1000)
    assert ran.status == 1 and "FAULT run npz, limit 1024: partial: o.npz" in ran.out, ran.out + ran.err
