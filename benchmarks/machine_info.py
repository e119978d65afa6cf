"""A description of the machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

import c_twins

REPORTED_PACKAGES = {
    "NumPy": "numpy",
    "ONNX Runtime": "onnxruntime",
    "OpenVINO": "openvino",
    "onnx": "onnx",
}


def describe() -> dict[str, str]:
    """Return processor, memory, system and versions."""
    import loopdbg

    words = {
        "processor": _processor(),
        "cores": str(os.cpu_count() or 1),
        "memory": _memory(),
        "system": _system(),
        "Python": platform.python_version(),
        "loopdbg": loopdbg.__version__,
    }
    for title, package in REPORTED_PACKAGES.items():
        try:
            words[title] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            words[title] = "not installed"
    words["gcc"] = _gcc_version()
    return {key: value for key, value in words.items() if value}


def _processor() -> str:
    name = ""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    except OSError:
        name = _command_output("sysctl", "-n", "machdep.cpu.brand_string")
    return f"{name or platform.processor() or 'unknown processor'} ({platform.machine()})"


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return ""
    return f"{total / 2**30:.0f} GiB"


def _system() -> str:
    kernel = f"{platform.system()} {platform.release()}"
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    except (OSError, KeyError):
        return kernel


def _gcc_version() -> str:
    compiler = c_twins.compiler()
    return _command_output(compiler, "-dumpfullversion") if compiler else "not installed"


def _command_output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
