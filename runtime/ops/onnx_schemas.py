"""ONNX's definitions of its operators, without the rest of the onnx package, whose import takes 150 ms."""

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
    """The compiled half of the package; it is the one that ``import onnx`` finds later on."""
    with defer_signals():  # what is left of a compiled module whose import was broken off can crash the process later
        return _import_extension()


def _import_extension() -> Any:
    from importlib.machinery import PathFinder
    from importlib.util import find_spec, module_from_spec

    package = find_spec("onnx") if _EXTENSION_MODULE not in sys.modules and "onnx" not in sys.modules else None
    found = PathFinder.find_spec(_EXTENSION_MODULE, package.submodule_search_locations) if package is not None else None
    if found is not None and found.loader is not None:
        sys.modules[_EXTENSION_MODULE] = module = module_from_spec(found)
        try:
            found.loader.exec_module(module)
        except BaseException:
            del sys.modules[_EXTENSION_MODULE]
            raise
        return module
    import onnx.onnx_cpp2py_export

    return onnx.onnx_cpp2py_export


def schema_for(op_type: str, version: int, domain: str) -> OpSchema | None:
    """The schema that holds for an operator in that version of its operator set; None where there is none."""
    defs = _load_extension().defs
    schema: OpSchema | None = None
    if defs.has_schema(op_type, version, domain):
        schema = defs.get_schema(op_type, version, domain)
    return schema
