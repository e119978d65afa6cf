"""Real models and their files: exported, converted to float16, quantised, converted to IR."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

Array = NDArray[Any]

# OpenVINO's converter sends telemetry for each model: its threads fork while NumPy multiplies, which deadlocks
# (threads/blas_fork_guard.h). On such build machines telemetry is disabled.
os.environ["TF_BUILD"] = "1"

#: Folder of built models; a changed source rebuilds its models.
CACHE = Path(__file__).resolve().parents[2] / "build" / "real"

#: Runs a model in a separate process.
CHILD = Path(__file__).with_name("measure_process.py")

#: Version of the cache; another number rebuilds all models.
CACHE_FORMAT_VERSION = 1

#: Tolerances relative to the largest number of the float32 model; the accuracy of peers is accepted as well.
TOLERANCES = {"fp32": 1e-3, "fp16": 3e-2, "int8": 0.1}


@dataclass(frozen=True)
class ExportedModule:
    """A module, and its exporter: ``script``: ``torch.jit.script``, ``dynamo``: ``torch.export``."""

    module: torch.nn.Module
    inputs: Mapping[str, torch.Tensor]
    outputs: tuple[str, ...]
    exporter: str
    #: Axes of inputs with a variable extent.
    dynamic_axes: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    opset: int | None = None


@dataclass(frozen=True)
class HandWrittenModel:
    """A model that was written with onnxscript or by hand, and NumPy's results for its inputs."""

    model: onnx.ModelProto
    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]


@dataclass(frozen=True)
class RealModel:
    """One model. ``variants``: conversions of the float32 file."""

    name: str
    description: str
    make_model: Callable[[], ExportedModule | HandWrittenModel]
    variants: tuple[str, ...]
    source: Path


@dataclass(frozen=True)
class BuiltModel:
    """The files of a model, by system and variant; ``missing``: why one does not exist."""

    real: RealModel
    folder: Path
    missing_reasons: Mapping[str, str]

    @property
    def files(self) -> dict[tuple[str, str], Path]:
        paths = {}
        for system, suffix in (("onnx", ".onnx"), ("ir", ".xml")):
            for variant in ("fp32", *self.real.variants):
                path = self.folder / f"{variant}{suffix}"
                if path.exists():
                    paths[system, variant] = path
        return paths

    def inputs(self, variant: str) -> dict[str, Array]:
        half = variant == "fp16"
        return {
            name: value.astype(np.float16) if half and value.dtype == np.float32 else value
            for name, value in np.load(self.folder / "inputs.npz").items()
        }

    def expected(self) -> dict[str, Array]:
        return dict(np.load(self.folder / "expected.npz").items())


REAL_MODELS: dict[str, RealModel] = {}


def real_model(
    about: str, *variants: str
) -> Callable[[Callable[[], ExportedModule | HandWrittenModel]], Callable[[], ExportedModule | HandWrittenModel]]:
    """Register a function that makes a model. Its variants: float16 and int8, or ``variants``; ``none``: none."""

    def register(
        make: Callable[[], ExportedModule | HandWrittenModel],
    ) -> Callable[[], ExportedModule | HandWrittenModel]:
        source = Path(make.__code__.co_filename)
        name = make.__name__
        REAL_MODELS[name] = RealModel(
            name, about, make, tuple(v for v in variants or ("fp16", "int8") if v != "none"), source
        )
        return make

    return register


def build_model(real: RealModel) -> BuiltModel:
    """Return its files; build them if they are missing or older than their source.

    Raises:
        Exception: any error of the exporter for the float32 model.
    """
    folder = CACHE / real.name
    stamp = folder / "built.json"
    key = hashlib.sha256(f"{CACHE_FORMAT_VERSION} {torch.__version__} {_source_text(real)}".encode()).hexdigest()
    if stamp.exists():
        cached = json.loads(stamp.read_text(encoding="utf-8"))
        if cached["key"] == key:
            return BuiltModel(real, folder, cached["missing"])
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name, _silence_exporters():
        missing = _build_files(real, Path(name))
        (Path(name) / stamp.name).write_text(json.dumps({"key": key, "missing": missing}))
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(name, folder)
    return BuiltModel(real, folder, missing)


def _build_files(real: RealModel, folder: Path) -> dict[str, str]:
    """Write all files of a model; return the variants that could not be made, and why."""
    missing: dict[str, str] = {}
    torch.manual_seed(0)
    spec = real.make_model()
    _write_files(spec, folder)
    for variant in real.variants:
        _try_variant(
            missing, f"onnx {variant}", {"fp16": _export_float16, "int8": _quantize_int8}[variant], spec, folder
        )
    for variant in ("fp32", *real.variants):
        if (folder / f"{variant}.onnx").exists():
            _try_variant(missing, f"ir {variant}", _convert_to_ir, variant, folder)
    return missing


def _source_text(real: RealModel) -> str:
    """The source of a model: its function, and all definitions of the file that it uses."""
    source = real.source.read_text(encoding="utf-8")
    parts = {part.name: part for part in ast.parse(source).body if isinstance(part, ast.ClassDef | ast.FunctionDef)}
    sources: dict[str, str] = {}
    pending = [real.make_model.__name__]
    while pending:
        name = pending.pop()
        if name in parts and name not in sources:
            sources[name] = ast.get_source_segment(source, parts[name]) or ""
            pending += [node.id for node in ast.walk(parts[name]) if isinstance(node, ast.Name)]
    return "".join(sources[name] for name in sorted(sources))


def _try_variant(missing: dict[str, str], variant: str, make: Callable[..., None], *arguments: Any) -> None:
    """Make a variant; record the failure of a tool."""
    try:
        make(*arguments)
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        missing[variant] = f"{type(error).__name__}: {lines[-1] if lines else ''}"[:300]


def _write_files(spec: ExportedModule | HandWrittenModel, folder: Path) -> None:
    path = folder / "fp32.onnx"
    if isinstance(spec, HandWrittenModel):
        onnx.save(spec.model, path)
        np.savez(folder / "inputs.npz", **spec.inputs)
        np.savez(folder / "expected.npz", **spec.expected)
        return
    spec.module.eval()
    _export_onnx(spec, spec.module, dict(spec.inputs), path)
    with torch.no_grad():
        results = spec.module(*(value.clone() for value in spec.inputs.values()))
    results = (results,) if isinstance(results, torch.Tensor) else results
    np.savez(folder / "inputs.npz", **{name: value.numpy() for name, value in spec.inputs.items()})
    expected = dict(zip(spec.outputs, results, strict=True))
    np.savez(folder / "expected.npz", **{name: value.numpy() for name, value in expected.items()})


def _export_onnx(spec: ExportedModule, module: torch.nn.Module, inputs: Mapping[str, torch.Tensor], path: Path) -> None:
    """Export with the default settings, to one file."""
    names = list(inputs)
    if spec.exporter == "script":
        torch.onnx.export(
            torch.jit.script(module),
            tuple(inputs.values()),
            str(path),
            dynamo=False,
            input_names=names,
            output_names=list(spec.outputs),
            dynamic_axes={name: dict(axes) for name, axes in spec.dynamic_axes.items()},
            opset_version=spec.opset or 17,
        )
    else:
        shapes = None
        if spec.dynamic_axes:
            shapes = [dict.fromkeys(spec.dynamic_axes.get(name, ()), torch.export.Dim.AUTO) or None for name in names]
        torch.onnx.export(
            module,
            tuple(inputs.values()),
            str(path),
            dynamo=True,
            input_names=names,
            output_names=list(spec.outputs),
            dynamic_shapes=shapes,
            opset_version=spec.opset,
            external_data=False,
            verbose=False,
        )


def _export_float16(spec: ExportedModule | HandWrittenModel, folder: Path) -> None:
    """Export ``module.half()``; a model without a module is converted by ONNX Runtime's tool."""
    path = folder / "fp16.onnx"
    if isinstance(spec, HandWrittenModel):
        from onnxruntime.transformers.float16 import convert_float_to_float16

        onnx.save(convert_float_to_float16(spec.model), path)
        return
    torch.manual_seed(0)
    inputs = {k: v.half() if v.dtype == torch.float32 else v for k, v in spec.inputs.items()}
    _export_onnx(spec, spec.module.half(), inputs, path)


def _quantize_int8(spec: ExportedModule | HandWrittenModel, folder: Path) -> None:
    """ONNX Runtime's dynamic quantisation, including loop bodies; after shape inference, as its guide recommends."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared, path = folder / "prepared.onnx", folder / "int8.onnx"
    try:
        quant_pre_process(str(folder / "fp32.onnx"), str(prepared), skip_symbolic_shape=True)
    except Exception:
        shutil.copy(folder / "fp32.onnx", prepared)
    options = {"weight_type": QuantType.QInt8, "extra_options": {"EnableSubgraph": True}}
    try:
        quantize_dynamic(prepared, path, **options)
    except ValueError:  # convolutions whose weights are in the main graph
        quantize_dynamic(
            prepared, path, op_types_to_quantize=["MatMul", "Gemm", "LSTM", "Gather", "Attention"], **options
        )
    prepared.unlink()
    _check_runs(path, folder / "inputs.npz")
    if not set(_operator_types(onnx.load(path).graph)) & QUANTIZED_OPERATORS:
        path.unlink()
        raise ValueError("nothing to quantise")


def _check_runs(path: Path, inputs: Path) -> None:
    """Reject a file that ONNX Runtime wrote but cannot run to the end."""
    command = [sys.executable, str(CHILD), "cold", "onnxruntime", str(path), str(inputs)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except subprocess.SubprocessError as error:
        path.unlink()
        raise ValueError(f"ONNX Runtime does not run what it quantised: {type(error).__name__}") from None


QUANTIZED_OPERATORS = {
    "MatMulInteger",
    "DynamicQuantizeLinear",
    "DynamicQuantizeLSTM",
    "ConvInteger",
    "DynamicQuantizeMatMul",
}


def _operator_types(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _operator_types(body)


def _convert_to_ir(variant: str, folder: Path) -> None:
    """Convert the file with OpenVINO's converter; whether it runs is tested elsewhere."""
    import openvino as ov

    ov.save_model(ov.convert_model(folder / f"{variant}.onnx"), folder / f"{variant}.xml", compress_to_fp16=False)


@contextlib.contextmanager
def _silence_exporters() -> Iterator[None]:
    """Suppress the output and warnings of exporters."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
