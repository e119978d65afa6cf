"""SIGTERM between two bytecodes of opening a file was reported as "Bad file descriptor": the file was closed twice."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from loopdbg.runtime import safe_file_reading

PATH = Path(__file__)


def interrupted(opcodes: int) -> bool:
    """Open a file with KeyboardInterrupt before one of the bytecodes; False where there are fewer."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        if frame.f_code is not safe_file_reading.open_regular_file.__code__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count == opcodes:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        safe_file_reading.open_regular_file(PATH).close()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


# An interrupt before the file object has a name leaves closing it to its destructor, which warns.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files by /proc")
def test_opened_interrupted_at_any_bytecode_closes_the_file_once() -> None:
    before = len(os.listdir("/proc/self/fd"))
    opcodes = 1
    while interrupted(opcodes):
        assert len(os.listdir("/proc/self/fd")) == before, opcodes
        opcodes += 1
    assert opcodes > 20
