"""What scripts say of plugins: classes of them can be written, and fields filled, but no layer of one can be added."""

from __future__ import annotations

from typing import Any

from .builder_enums import PluginFieldType
from .callbacks import CallbackBase


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
    """Makes a plugin in an older form."""

    def create_plugin(self, name: str, field_collection: Any) -> None:
        """What a script's own creator makes of these."""


class IPluginCreatorV3One(CallbackBase):
    """Makes a plugin."""

    def create_plugin(self, name: str, field_collection: Any, phase: Any) -> None:
        """What a script's own creator makes of these."""


class IPluginCapability(CallbackBase):
    """Part of a plugin."""


class IPluginV2(CallbackBase):
    """A plugin in its oldest form."""


class IPluginV2DynamicExt(IPluginV2):
    """A plugin in an older form."""


class IPluginV3(CallbackBase):
    """A plugin."""


class IPluginV3OneCore(IPluginCapability):
    """Part of a plugin."""


class IPluginV3OneBuild(IPluginCapability):
    """Part of a plugin."""


class IPluginV3OneRuntime(IPluginCapability):
    """Part of a plugin."""


class IPluginResourceContext(CallbackBase):
    """What a plugin is given of an engine."""


class IExprBuilder(CallbackBase):
    """Builds sizes of a plugin's outputs."""


class DimsExprs(CallbackBase):
    """Such sizes."""


class PluginTensorDesc(CallbackBase):
    """What a plugin is told of a tensor."""


class DynamicPluginTensorDesc(CallbackBase):
    """The same, with bounds."""
