"""Stubs of the plugin API: plugin classes and fields can be defined, but plugin layers cannot be added."""

from __future__ import annotations

from typing import Any

from .callbacks import CallbackBase
from .enums import PluginFieldType


class PluginField:
    """A named parameter of a plugin."""

    def __init__(self, name: str = "", data: Any = None, type: PluginFieldType = PluginFieldType.UNKNOWN) -> None:
        self.name, self.data, self.type = name, data, type

    @property
    def size(self) -> int:
        return 0 if self.data is None else len(self.data)


class PluginFieldCollection(list[PluginField]):
    """The parameters of a plugin."""


class IPluginCreator(CallbackBase):
    """Creates a plugin of an older API version."""

    def create_plugin(self, name: str, field_collection: Any) -> None:
        """Implemented by a script's creator."""


class IPluginCreatorV3One(CallbackBase):
    """Creates a plugin."""

    def create_plugin(self, name: str, field_collection: Any, phase: Any) -> None:
        """Implemented by a script's creator."""


class IPluginCapability(CallbackBase):
    """A capability of a plugin."""


class IPluginV2(CallbackBase):
    """A plugin of the oldest API version."""


class IPluginV2DynamicExt(IPluginV2):
    """A plugin of an older API version."""


class IPluginV3(CallbackBase):
    """A plugin."""


class IPluginV3OneCore(IPluginCapability):
    """The core capability of a plugin."""


class IPluginV3OneBuild(IPluginCapability):
    """The build capability of a plugin."""


class IPluginV3OneRuntime(IPluginCapability):
    """The runtime capability of a plugin."""


class IPluginResourceContext(CallbackBase):
    """The resources of an engine for a plugin."""


class IExprBuilder(CallbackBase):
    """Builds expressions for the sizes of a plugin's outputs."""


class DimsExprs(CallbackBase):
    """A shape of such expressions."""


class PluginTensorDesc(CallbackBase):
    """The description of a tensor for a plugin."""


class DynamicPluginTensorDesc(CallbackBase):
    """The description of a tensor, with bounds."""
