"""Removed and unsupported parts of TensorRT's API, and their errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ...errors import UnsupportedError
from .script_location import caller_location

_LOOP_ADVICE = "use add_loop"
_ENGINE_ADVICE = "no engine is built here; delete it, or move it into the part that runs the engine"
_PLUGIN_ADVICE = "a plugin's code is a library for the GPU; build what it computes of layers"


def _nd_replacement_hints(*names: str) -> dict[str, str]:
    return {name: f"use {name}_nd" for name in names}


#: API of TensorRT 8.6 that later versions removed -> advice. ``""`` is the module itself.
_REMOVED: dict[str, dict[str, str]] = {
    "": {
        "SliceMode": "use SampleMode",
        "ResizeMode": "use InterpolationMode",
        "UffParser": "use OnnxParser",
        "CaffeParser": "use OnnxParser",
        **dict.fromkeys(("IRNNv2Layer", "RNNOperation", "RNNDirection", "RNNInputMode", "RNNGateType"), _LOOP_ADVICE),
        "IFullyConnectedLayer": "use add_matrix_multiply",
    },
    "INetworkDefinition": {
        "add_fully_connected": "use add_matrix_multiply with a constant, or a 1x1 add_convolution_nd",
        "add_rnn_v2": _LOOP_ADVICE,
        **_nd_replacement_hints("add_convolution", "add_deconvolution", "add_pooling", "add_padding"),
        "has_explicit_precision": "use strong typing, or add_quantize and add_dequantize",
    },
    "IConvolutionLayer": _nd_replacement_hints("kernel_size", "stride", "padding", "dilation"),
    "IDeconvolutionLayer": _nd_replacement_hints("kernel_size", "stride", "padding"),
    "IPoolingLayer": _nd_replacement_hints("window_size", "stride", "padding"),
    "IPaddingLayer": _nd_replacement_hints("pre_padding", "post_padding"),
    "Builder": {
        "max_batch_size": "the batch is an explicit dimension, the only mode there is",
        "build_engine": "use build_serialized_network",
        "build_cuda_engine": "use build_serialized_network",
        "max_workspace_size": "use config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, n)",
    },
    "IBuilderConfig": {
        "max_workspace_size": "use set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, n)",
        "min_timing_iterations": "use avg_timing_iterations",
    },
    "SampleMode": {"DEFAULT": "use STRICT_BOUNDS"},
    "PaddingMode": {
        "CAFFE_ROUND_DOWN": "use EXPLICIT_ROUND_DOWN or a SAME mode",
        "CAFFE_ROUND_UP": "use EXPLICIT_ROUND_UP or a SAME mode",
    },
    "BuilderFlag": {"STRICT_TYPES": "leave it out", "ENABLE_TACTIC_HEURISTIC": "leave it out"},
    "NetworkDefinitionCreationFlag": {"EXPLICIT_PRECISION": "use strong typing, or add_quantize and add_dequantize"},
    "LayerType": {"FULLY_CONNECTED": "use MATRIX_MULTIPLY", "RNN_V2": _LOOP_ADVICE},
}

#: API of TensorRT that is not supported here -> advice.
_UNSUPPORTED: dict[str, dict[str, str]] = {
    "": {"Refitter": _ENGINE_ADVICE, "OnnxParserRefitter": _ENGINE_ADVICE},
    "INetworkDefinition": {
        **dict.fromkeys(("add_plugin", "add_plugin_v2", "add_plugin_v3"), _PLUGIN_ADVICE),
        **dict.fromkeys(
            ("add_dynamic_quantize", "add_dynamic_quantize_v2"),
            "its scales are of blocks; add_quantize and add_dequantize have one scale, or one a channel",
        ),
        "add_moe": "build it of add_topk, add_gather and add_matrix_multiply",
        "add_dist_collective": "it joins several GPUs; build the network of one of them",
    },
}


#: Commonly expected names -> names in the API.
_API_NAMES: dict[str, dict[str, str]] = {
    "ElementWiseOperation": {"ADD": "SUM", "PLUS": "SUM", "MUL": "PROD", "MULTIPLY": "PROD", "SUBTRACT": "SUB"}
}


class MissingApiError(UnsupportedError, AttributeError):
    """An unknown or removed name of the API; ``hasattr`` is False for it, as in TensorRT itself."""


def missing_api_error(owner: str, name: str, known: Iterable[str]) -> MissingApiError:
    """The error for a name that ``owner`` (a class of the API, or ``""``: the module) does not have."""
    label = f"{caller_location()}: {owner or 'tensorrt'}.{name}"
    if name in _REMOVED.get(owner, {}):
        return MissingApiError(f"{label} was removed from TensorRT; {_REMOVED[owner][name]}")
    if name in _UNSUPPORTED.get(owner, {}):
        return unsupported_api_error(owner, name)
    if name in _API_NAMES.get(owner, {}):
        return MissingApiError(f"{label} is not here; it is called {owner}.{_API_NAMES[owner][name]}")
    return MissingApiError(f"{label} is not here{nearest_name_hint(name, known) or '; docs/tensorrt.md lists what is'}")


def unsupported_api_error(owner: str, name: str) -> MissingApiError:
    """The error for an unsupported part of TensorRT."""
    return MissingApiError(
        f"{caller_location()}: {owner or 'tensorrt'}.{name} is not here: {_UNSUPPORTED[owner][name]}"
    )


def nearest_name_hint(name: str, known: Iterable[str]) -> str:
    """A suggestion, ``; the nearest that there is: add_loop``, or an empty string."""
    public = [candidate for candidate in known if not candidate.startswith("_")]
    folded = {candidate.replace("_", "").lower(): candidate for candidate in public}
    matches = difflib.get_close_matches(name.replace("_", "").lower(), folded, 1, 0.6)
    return f"; the nearest that there is: {folded[matches[0]]}" if matches else ""
