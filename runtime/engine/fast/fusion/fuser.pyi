from ....plan.fusion.groups import Group
from ...plain.memory import Memory
from ..views.views import Views

class Fuser:
    @property
    def groups(self) -> list[Group]: ...
    def __init__(self, memory: Memory, views: Views) -> None: ...
