"""Where a layer of an IR was made: its name and the names of the nodes that were fused into it (``rt_info``).

OpenVINO's PyTorch front end calls layers ``__module.decoder.layers.0/aten::add/Add_3``, its ONNX front end as the ONNX
node is called; ``fused_names`` of a serialized model lists what the layer was before OpenVINO changed it.
"""

from __future__ import annotations

from collections.abc import Callable

from ...graph import UNKNOWN_ORIGIN, Origin
from ...record import record
from .ir_document import IrLayer

#: Of the names, and of how many of them, anything is kept.
_MAX_NAME_CHARS, _MAX_SCOPES = 200, 64
_MODULE_PREFIX = "__module."


@record(frozen=True)
class LazyLayerOrigin:
    """What an IR says of a layer's origin, not yet looked at; called, the origin."""

    layer_name: str
    fused_names: str

    def __call__(self) -> Origin:
        """The origin: an IR knows no lines."""
        return Origin(
            scopes=_scopes(self.layer_name), framework_node=", ".join(_split_names(self.fused_names))[:_MAX_NAME_CHARS]
        )


def layer_origin_source(layer: IrLayer) -> Origin | Callable[[], Origin]:
    """What tells the origin of a layer; ``NOWHERE`` where nothing does."""
    info = layer.element.find("rt_info")
    told = [] if info is None else [one.get("value", "") for one in info if one.get("name") == "fused_names"]
    return LazyLayerOrigin(layer.name, told[0] if told else "") if told or "/" in layer.name else UNKNOWN_ORIGIN


def _scopes(name: str) -> tuple[str, ...]:
    parts = [part.removeprefix(_MODULE_PREFIX) for part in name.split("/")[:-1]]
    return tuple(part[:_MAX_NAME_CHARS] for part in parts if part and "::" not in part)[:_MAX_SCOPES]


def _split_names(fused: str) -> list[str]:
    return [name.strip() for name in fused.split(",") if name.strip()]
