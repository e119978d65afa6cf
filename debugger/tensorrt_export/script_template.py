"""The template around the function that builds the network."""

from __future__ import annotations

from pathlib import Path

from .script_code import ScriptCode, docstring_text


def _template_lines(name: str) -> list[str]:
    """The lines of a fixed part of a script."""
    return Path(__file__).with_name(f"script_{name}.txt").read_text(encoding="utf-8").splitlines()


def script_text(name: str, code: ScriptCode) -> str:
    """Return a script that builds the network of the model called ``name``."""
    lines = [
        f'"""{docstring_text(name)} as a TensorRT network (TensorRT 10 and later): `build(network)` fills one."""',
        "",
        *(["from pathlib import Path", ""] if code.weights else []),
        "import numpy as np",
        "import tensorrt as trt",
        *(
            ["", 'with np.load(Path(__file__).with_suffix(".npz")) as file:', "    WEIGHTS = dict(file)"]
            if code.weights
            else []
        ),
        "",
        "",
        *_template_lines("helpers"),
        "",
        "",
        "def build(network):",
        *code.lines,
        "",
        "",
        *_template_lines("main"),
    ]
    return "\n".join(lines) + "\n"
