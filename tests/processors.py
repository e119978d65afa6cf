"""What a test needs of the processor."""

from __future__ import annotations

import pytest

#: How kernels call what they are made for.
LANES = {1: "no more than all have", 2: "AVX2", 3: "AVX-512"}
HALVES = {**LANES, 2: "F16C"}
BYTES = {**LANES, 3: "AVX-VNNI", 4: "AVX-512", 5: "AMX"}


def needs(there: bool, instructions: str) -> None:
    """Skip the test where the kernels for these instructions are not to be had."""
    if not there:
        pytest.skip(f"runs on processors with {instructions}")
