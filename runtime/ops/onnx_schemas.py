"""ONNX operator schemas without importing the onnx package, which takes 150 ms."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from ..signal_deferral import defer_signals

if TYPE_CHECKING:
    from onnx.defs import OpSchema

_EXTENSION_MODULE = "onnx.onnx_cpp2py_export"


@cache
def _load_extension() -> Any:
    """The extension module of the package; a later ``import onnx`` finds the same one."""
    with defer_signals():  # an interrupted import of an extension module can crash the process later
        return _import_extension()


def _import_extension() -> Any:
    from importlib.machinery import PathFinder
    from importlib.util import find_spec, module_from_spec

    package = find_spec("onnx") if _EXTENSION_MODULE not in sys.modules and "onnx" not in sys.modules else None
    spec = PathFinder.find_spec(_EXTENSION_MODULE, package.submodule_search_locations) if package is not None else None
    if spec is not None and spec.loader is not None:
        sys.modules[_EXTENSION_MODULE] = module = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[_EXTENSION_MODULE]
            raise
        return module
    import onnx.onnx_cpp2py_export

    return onnx.onnx_cpp2py_export


def schema_for(op_type: str, version: int, domain: str) -> OpSchema | None:
    """The schema of an operator in a version of its operator set, or None."""
    defs = _load_extension().defs
    schema: OpSchema | None = None
    if defs.has_schema(op_type, version, domain):
        schema = defs.get_schema(op_type, version, domain)
    return schema
