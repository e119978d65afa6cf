"""The Newton sample, and a copy of it with a wrong constant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from text_models import SAMPLES

F32 = np.float32
NEWTON = {"a": F32(2), "tol": F32(1e-6)}


def write_wrong_newton(path: Path) -> Path:
    """newton_sqrt with a wrong constant: 0.5 became 0.49."""
    proto = onnx.load(SAMPLES / "newton_sqrt.onnx")
    graphs = [proto.graph, *(a.g for node in proto.graph.node for a in node.attribute if a.name == "body")]
    (half,) = [t for g in graphs for t in g.initializer if onnx.numpy_helper.to_array(t).tolist() == 0.5]
    half.CopyFrom(onnx.numpy_helper.from_array(np.array(0.49, np.float32), half.name))
    onnx.save(proto, path)
    return path
