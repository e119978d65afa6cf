"""How each runtime is called: the fastest way that its Python API offers, results left where it puts them."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import twins
from case import Case, Inputs, Outputs


@dataclass(frozen=True)
class Job:
    """One case as every runtime gets it. ``threads`` is 1, or None for what a runtime does by default."""

    case: Case
    model: bytes
    inputs: Inputs
    threads: int | None


@dataclass(frozen=True)
class Prepared:
    """A loaded model. ``run`` is what is timed; ``outputs`` turns what it returned into arrays of its own."""

    run: Callable[[], Any]
    outputs: Callable[[Any], Outputs]


def _copied(outputs: Outputs) -> Outputs:
    return {name: np.array(value) for name, value in outputs.items()}


def loopdbg_headless(job: Job) -> Prepared:
    """``model.run``: what ``loopdbg run`` does."""
    model = _loopdbg_model(job)
    return Prepared(lambda: model.run(job.inputs), _copied)


def loopdbg_stepped(job: Job) -> Prepared:
    """The same, with a Python function called at every boundary."""
    model = _loopdbg_model(job)
    return Prepared(lambda: model.run(job.inputs, on_iteration=lambda frame: None), _copied)


def _loopdbg_model(job: Job) -> Any:
    import loopdbg

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{job.case.name}.onnx"
        path.write_bytes(job.model)
        return loopdbg.load(path)


def onnxruntime(job: Job) -> Prepared:
    """``InferenceSession.run`` on the CPU, everything else as it comes."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 3
    if job.threads:
        options.intra_op_num_threads = options.inter_op_num_threads = job.threads
    session = ort.InferenceSession(job.model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return Prepared(
        lambda: session.run(None, job.inputs), lambda values: _copied(dict(zip(names, values, strict=True)))
    )


def openvino(job: Job) -> Prepared:
    """One infer request on the CPU, in float32, without copies on the way in or out."""
    import openvino as ov

    core = ov.Core()
    options: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    if job.threads:
        options["INFERENCE_NUM_THREADS"] = job.threads
    compiled = core.compile_model(core.read_model(io.BytesIO(job.model)), "CPU", options)
    request = compiled.create_infer_request()

    def outputs(values: Any) -> Outputs:
        return {name: np.array(values[port]) for port in compiled.outputs for name in port.get_names()}

    return Prepared(lambda: request.infer(job.inputs, share_inputs=True, share_outputs=True), outputs)


def c_twin(job: Job) -> Prepared:
    """The loop in C."""
    return Prepared(twins.prepare(job.case, job.inputs), _copied)


@dataclass(frozen=True)
class Runner:
    """One column of the table."""

    title: str
    prepare: Callable[[Job], Prepared]


RUNNERS: dict[str, Runner] = {
    "loopdbg": Runner("loopdbg", loopdbg_headless),
    "stepped": Runner("stepped", loopdbg_stepped),
    "onnxruntime": Runner("ONNX Runtime", onnxruntime),
    "openvino": Runner("OpenVINO", openvino),
    "c": Runner("gcc -O3", c_twin),
}

#: What loopdbg is measured against, and whose results are right: the first that has one.
PEERS = ("onnxruntime", "openvino")
REFERENCES = (*PEERS, "c")
