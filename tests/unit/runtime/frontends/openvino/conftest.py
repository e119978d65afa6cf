"""The fixture that all tests of this folder use."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from ir_builder import SaveNet, save_net


@pytest.fixture
def save(tmp_path: Path) -> SaveNet:
    """Write a net (or any text) as ``model.xml`` with its ``.bin``."""

    return partial(save_net, tmp_path)
