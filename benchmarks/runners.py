"""Runners: the fastest call of each runtime's Python API, without copies of results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # a cold-start process imports only its own runtime
    from case import BenchmarkCase, Inputs, Outputs


@dataclass(frozen=True)
class RunnerJob:
    """One model for all runtimes. ``threads`` is 1, or None for a runtime's default."""

    model: Path
    inputs: Inputs
    threads: int | None
    #: The case of the model, for its twins.
    case: BenchmarkCase | None = None


@dataclass(frozen=True)
class PreparedRun:
    """A loaded model. ``run`` is timed; ``outputs`` converts its result to independent arrays."""

    run: Callable[[], Any]
    outputs: Callable[[Any], Outputs]
    #: Compilation time in seconds, if it is compiled before timing and reported.
    compile_seconds: float = 0.0


def _copy_outputs(outputs: Outputs) -> Outputs:
    return {name: np.array(value) for name, value in outputs.items()}


def loopdbg_headless(job: RunnerJob) -> PreparedRun:
    """``model.run``: what ``loopdbg run`` does."""
    model = _loopdbg_model(job)
    return PreparedRun(lambda: model.run(job.inputs), _copy_outputs)


def loopdbg_stepped(job: RunnerJob) -> PreparedRun:
    """The same, with a Python function called at every boundary."""
    model = _loopdbg_model(job)
    return PreparedRun(lambda: model.run(job.inputs, on_iteration=lambda frame: None), _copy_outputs)


def _loopdbg_model(job: RunnerJob) -> Any:
    import loopdbg

    return loopdbg.load(job.model)


def onnxruntime(job: RunnerJob) -> PreparedRun:
    """``InferenceSession.run`` on the CPU, with default settings."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 3
    if job.threads:
        options.intra_op_num_threads = options.inter_op_num_threads = job.threads
    session = ort.InferenceSession(str(job.model), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return PreparedRun(
        lambda: session.run(None, job.inputs), lambda values: _copy_outputs(dict(zip(names, values, strict=True)))
    )


def openvino(job: RunnerJob) -> PreparedRun:
    """One infer request on the CPU, in float32, without copies of inputs or outputs."""
    import openvino as ov

    core = ov.Core()
    options: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    if job.threads:
        options["INFERENCE_NUM_THREADS"] = job.threads
    compiled = core.compile_model(core.read_model(job.model), "CPU", options)
    request = compiled.create_infer_request()

    def outputs(values: Any) -> Outputs:
        # An output may have several names, or none.
        return {name: np.array(values[port]) for port in compiled.outputs for name in port.get_names() or {str(port)}}

    return PreparedRun(lambda: request.infer(job.inputs, share_inputs=True, share_outputs=True), outputs)


def onnx_reference(job: RunnerJob) -> PreparedRun:
    """NumPy, node by node: the semantics of an ONNX file, without regard to speed."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(str(job.model))
    names = evaluator.output_names
    return PreparedRun(
        lambda: evaluator.run(None, dict(job.inputs)),
        lambda values: _copy_outputs(dict(zip(names, values, strict=True))),
    )


def c_twin(job: RunnerJob) -> PreparedRun:
    """The loop in C."""
    import c_twins

    if job.case is None:
        raise c_twins.NoTwinError("")
    return PreparedRun(c_twins.prepare(job.case, job.inputs), _copy_outputs)


def xla(job: RunnerJob) -> PreparedRun:
    """The loop in JAX, compiled before timing."""
    import c_twins
    import xla_twins as written

    if job.case is None:
        raise c_twins.NoTwinError("")
    return PreparedRun(*written.prepare(job.case, job.inputs, job.threads))


def torch_compile(job: RunnerJob) -> PreparedRun:
    """The loop in PyTorch, compiled before timing."""
    import c_twins
    import torch_twins

    if job.case is None:
        raise c_twins.NoTwinError("")
    return PreparedRun(*torch_twins.prepare(job.case, job.inputs, job.threads))


@dataclass(frozen=True)
class Runner:
    """One column of the table."""

    title: str
    prepare: Callable[[RunnerJob], PreparedRun]


RUNNERS: dict[str, Runner] = {
    "loopdbg": Runner("loopdbg", loopdbg_headless),
    "stepped": Runner("stepped", loopdbg_stepped),
    "onnxruntime": Runner("ONNX Runtime", onnxruntime),
    "openvino": Runner("OpenVINO", openvino),
    "onnx.reference": Runner("onnx.reference", onnx_reference),
    "c": Runner("gcc -O3", c_twin),
    "xla": Runner("XLA (JAX)", xla),
    "torch": Runner("torch.compile", torch_compile),
}

#: The peers of loopdbg; the first one with a result is the reference.
PEERS = ("onnxruntime", "openvino")
REFERENCES = (*PEERS, "c")
