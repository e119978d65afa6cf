"""onnxruntime as a peer: single-threaded and without log output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

FATAL_LOG_SEVERITY = 4


def run(
    model: onnx.ModelProto | bytes | Path, feeds: Mapping[str, Any], *, optimise: bool = True, threads: int = 1
) -> dict[str, Any]:
    """Its outputs by name, in the model's order. Without ``optimise`` each node is run as it is written."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(FATAL_LOG_SEVERITY)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = FATAL_LOG_SEVERITY
    options.intra_op_num_threads = threads
    # Sums of products of bytes that do not saturate at 16 bits on x86 processors without VNNI: a graph optimisation.
    options.add_session_config_entry("session.x64quantprecision", "1")
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else model
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    inputs = {name: value if isinstance(value, list) else np.asarray(value) for name, value in feeds.items()}
    return dict(zip((output.name for output in session.get_outputs()), session.run(None, inputs), strict=True))
