"""The ONNX project's own node tests: generated once, and kept in a file for other processes and later runs."""

from __future__ import annotations

import fcntl
import pickle
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx

_CACHE_KEY = f"onnx-{onnx.__version__}-numpy-{np.__version__}-{sys.implementation.cache_tag}"
_CACHE_PATH = Path(__file__).parents[2] / "build" / "node_tests" / f"{_CACHE_KEY}.pickle"


@cache
def load_node_tests() -> list[Any]:
    """All node tests. Generating them takes five seconds, reading them a tenth of one."""
    _CACHE_PATH.parent.mkdir(parents=True, exist_ok=True)
    with _CACHE_PATH.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # concurrent processes wait for the first one
        if not _CACHE_PATH.exists():
            part = _CACHE_PATH.with_suffix(".part")
            part.write_bytes(pickle.dumps(_generate_node_tests()))
            part.replace(_CACHE_PATH)
    tests: list[Any] = pickle.loads(_CACHE_PATH.read_bytes())
    return tests


def _generate_node_tests() -> list[Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(collect_testcases(None))
