"""CPU time of a process, where the system reports it (Linux)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

#: Fields of /proc/PID/stat after the name: state, user ticks and system ticks.
_STATE, _USER, _SYSTEM = 0, 11, 12


@dataclass(frozen=True)
class CpuUsage:
    """``seconds``: CPU time of all threads; ``is_runnable``: a thread runs or waits for a processor."""

    seconds: float = 0.0
    is_runnable: bool = False


def cpu_usage(process: int) -> CpuUsage:
    """Return the CPU usage of a process so far; zero if the system does not report it."""
    try:
        threads = [_stat_fields(path / "stat") for path in Path(f"/proc/{process}/task").iterdir()]
        fields = _stat_fields(Path(f"/proc/{process}/stat"))
        ticks = os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, AttributeError, IndexError):
        return CpuUsage()
    seconds = (int(fields[_USER]) + int(fields[_SYSTEM])) / ticks
    return CpuUsage(seconds, any(fields[_STATE] == "R" for fields in threads))


def _stat_fields(path: Path) -> list[str]:
    return path.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
