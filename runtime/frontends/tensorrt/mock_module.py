"""The mock module that scripts import as ``tensorrt`` while they run."""

from __future__ import annotations

import importlib
import math
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

from . import enums, layers
from .dims import Dims, Dims2, Dims3, Dims4, DimsHW, Permutation
from .enums import DataType, FlagEnum, PybindEnum, numpy_type
from .layer import ILayer, ITensor
from .network import INetworkDefinition
from .removed_api import missing_api_error
from .script_location import argument_error

#: The version that scripts see: names and behaviour of 10, with additions of 11.
TENSORRT_VERSION = "10.16.0"
_MODULE_NAME = "tensorrt"


def volume(iterable: Iterable[int]) -> int:
    """The product of sizes; 1 for a scalar's shape."""
    return math.prod(iterable)


def nptype(trt_type: Any) -> Any:
    """The NumPy dtype of a TensorRT type.

    Raises:
        ArgumentError: NumPy itself has no such dtype.
    """
    dtype = numpy_type(trt_type) if isinstance(trt_type, DataType) else None
    if dtype is None or dtype.type.__module__ != "numpy":
        raise argument_error(f"NumPy has no type for {trt_type}")
    return dtype.type


#: Modules whose classes and functions are exported, except for internal ones.
_EXPORTED_MODULES = (
    "builder",
    "callbacks",
    "builder_config",
    "control_flow",
    "onnx_parser",
    "optimization_profile",
    "weights",
)
_HIDDEN_NAMES = ("array_of", "flat_array_of", "validate", "apply_profiles", "CallbackBase")
_EXPORTED_OBJECTS = (
    Dims,
    Dims2,
    Dims3,
    Dims4,
    DimsHW,
    Permutation,
    ITensor,
    ILayer,
    INetworkDefinition,
    nptype,
    volume,
)


def _module_names() -> dict[str, Any]:
    """All names of the module."""
    names: dict[str, Any] = {"__version__": TENSORRT_VERSION}
    names |= {value.__name__: value for value in _EXPORTED_OBJECTS}
    for module_name in _EXPORTED_MODULES:
        own = _public_names(importlib.import_module(f".{module_name}", __package__))
        names |= {name: value for name, value in own.items() if name not in _HIDDEN_NAMES}
    for family in layers.layer_modules():
        names |= {name: value for name, value in _public_names(family).items() if name.startswith("I")}
    return {**names, **_enums(), **enums.TYPE_ALIASES}


def _public_names(module: types.ModuleType) -> dict[str, Any]:
    """The public names that a module defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
    }


def _enums() -> dict[str, type[PybindEnum]]:
    """All enums by their names in the module."""
    names = {
        name: kind
        for name, kind in [*vars(enums).items(), *enums.SCRIPT_ENUMS.items()]
        if isinstance(kind, type) and issubclass(kind, PybindEnum) and kind not in (PybindEnum, FlagEnum)
    }
    del names["Severity"]  # it is Logger.Severity
    return names


def _create_module() -> types.ModuleType:
    module = types.ModuleType(_MODULE_NAME)
    module.__dict__.update(_module_names())

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise missing_api_error("", name, module.__dict__)

    module.__dict__["__getattr__"] = __getattr__
    # The bindings are a module of the same name inside the package.
    module.__dict__[_MODULE_NAME] = module
    module.__path__ = []
    return module


class _MockModuleFinder(MetaPathFinder, Loader):
    """Finds the mock module before an installed one."""

    def __init__(self) -> None:
        self.module = _create_module()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        return (
            ModuleSpec(fullname, self, is_package=True)
            if fullname in (_MODULE_NAME, f"{_MODULE_NAME}.{_MODULE_NAME}")
            else None
        )

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return self.module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


@contextmanager
def mock_tensorrt() -> Iterator[None]:
    """Let ``import tensorrt`` find the mock; afterwards restore the modules and unload those that imported from the
    mock."""
    finder = _MockModuleFinder()
    saved = dict(sys.modules)
    for name in list(sys.modules):
        if _is_tensorrt_module(name):
            del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name, module in list(sys.modules.items()):
            if _is_tensorrt_module(name) or (name not in saved and _references_mock(module, finder.module)):
                del sys.modules[name]
        sys.modules.update({name: module for name, module in saved.items() if _is_tensorrt_module(name)})


def _is_tensorrt_module(name: str) -> bool:
    return name == _MODULE_NAME or name.startswith(f"{_MODULE_NAME}.")


def _references_mock(module: Any, mock: types.ModuleType) -> bool:
    return any(value is mock for value in list(getattr(module, "__dict__", {}).values()))
