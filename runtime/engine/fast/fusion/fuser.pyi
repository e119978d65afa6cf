from ...plain.memory import Memory
from ..views.views import Views
from .fuse import Group

class Fuser:
    @property
    def groups(self) -> list[Group]: ...
    def __init__(self, memory: Memory, views: Views) -> None: ...
