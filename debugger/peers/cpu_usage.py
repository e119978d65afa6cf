"""How much of a processor a process had, where the system tells (Linux)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

#: Of a line of /proc/PID/stat behind the name: the state, and the ticks spent in the program and in the system.
_STATE, _USER, _SYSTEM = 0, 11, 12


@dataclass(frozen=True)
class CpuUsage:
    """``seconds`` that all threads of a process ran; ``runs``: one of them runs, or would if it had a processor."""

    seconds: float = 0.0
    is_runnable: bool = False


def cpu_usage(process: int) -> CpuUsage:
    """What a process had until now; nothing where the system does not tell."""
    try:
        threads = [_stat_fields(path / "stat") for path in Path(f"/proc/{process}/task").iterdir()]
        whole = _stat_fields(Path(f"/proc/{process}/stat"))
        ticks = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError, IndexError):
        return CpuUsage()
    seconds = (int(whole[_USER]) + int(whole[_SYSTEM])) / ticks
    return CpuUsage(seconds, any(fields[_STATE] == "R" for fields in threads))


def _stat_fields(path: Path) -> list[str]:
    return path.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
