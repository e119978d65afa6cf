"""OpenVINO's ONNX front end in a separate process, which it may crash: converts models, saves and runs them.

``python openvino_converter.py JOBS FOLDER FIRST``: JOBS is a pickle with a list of (ONNX model, inputs by name or
None). For job k the folder gets ``k.xml``, ``k.bin`` and ``k.pickle``: the outputs, or the text of the error. Without
inputs nothing is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from job_runner import run_jobs

CORE = ov.Core()


def tensor(x: Any) -> Any:
    """An array as an OpenVINO tensor."""
    if x.dtype.name == "bfloat16":
        result = ov.Tensor(ov.Type.bf16, ov.Shape(x.shape))
        result.data[...] = x.view(result.data.dtype)
        return result
    if x.dtype.kind in "OU":
        return ov.Tensor(np.array([str(v) for v in x.ravel()]).reshape(x.shape))
    return ov.Tensor(np.array(x, order="C"))


def array_of(result: Any) -> Any:
    """A copy of a tensor as an array, with strings as objects."""
    if result.element_type == ov.Type.string:
        return np.array(result.str_data, object)
    if result.element_type == ov.Type.bf16:
        import ml_dtypes

        return np.array(result.data).view(ml_dtypes.bfloat16)
    return np.array(result.data)


def outputs_of(model: Any, inputs: Any) -> list[Any]:
    """The outputs of the CPU plugin."""
    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1"}
    request = CORE.compile_model(model, "CPU", config).create_infer_request()
    request.infer({port.any_name: tensor(inputs[port.any_name]) for port in model.inputs})
    return [array_of(request.get_output_tensor(i)) for i in range(len(model.outputs))]


def convert(stem: Path, onnx_model: Any, inputs: Any) -> list[Any]:
    """Read a model, save it, and run it."""
    model = CORE.read_model(onnx_model)
    ov.save_model(model, stem.with_suffix(".xml"), compress_to_fp16=False)
    return [] if inputs is None else outputs_of(model, inputs)


if __name__ == "__main__":
    run_jobs(convert)
