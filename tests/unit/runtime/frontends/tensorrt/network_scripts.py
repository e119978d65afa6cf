"""Scripts that build networks, written for a test."""

from __future__ import annotations

import textwrap
from pathlib import Path

from loopdbg.runtime.model import Model, load

#: A network with one layer.
HEAD = """\
import numpy as np
import tensorrt as trt
"""
FILL = """\
def fill(network, by=2):
    x = network.add_input("x", trt.float32, (2,))
    k = network.add_constant((1,), np.array([by], dtype=np.float32))
    y = network.add_elementwise(x, k.get_output(0), trt.ElementWiseOperation.PROD).get_output(0)
    y.name = "y"
    network.mark_output(y)
"""
#: A script with a function that fills a network.
SCRIPT = HEAD + FILL


def write_script(folder: Path, text: str, name: str = "model.py") -> Path:
    """A script; its text may be indented."""
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def load_script(folder: Path, text: str, function: str = "", name: str = "model.py") -> Model:
    """The model that a script builds."""
    path = write_script(folder, text, name)
    return load(f"{path}:{function}" if function else path)
