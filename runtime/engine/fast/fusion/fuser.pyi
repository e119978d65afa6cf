from ...plain.memory import Memory
from .fuse import Group

class Fuser:
    @property
    def groups(self) -> list[Group]: ...
    def __init__(self, memory: Memory) -> None: ...
