"""The fixture that all tests of this folder use."""

from __future__ import annotations

from pathlib import Path

import pytest

from .ir import Net, Save


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Write a net (or any text) as ``model.xml`` with its ``.bin``."""

    def write(net: Net | str, version: int = 11, blob: bytes | None = None) -> Path:
        path = tmp_path / "model.xml"
        text = net
        if isinstance(net, Net):
            text = f'<?xml version="1.0"?>\n<net name="model" version="{version}">\n{net.text()}\n</net>\n'
            blob = bytes(net.blob) if blob is None else blob
        path.write_text(str(text))
        if blob is not None:
            path.with_suffix(".bin").write_bytes(blob)
        return path

    return write
