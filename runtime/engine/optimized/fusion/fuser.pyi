from ....plan.fusion.groups import GroupPlan
from ...baseline.memory import Memory

class Fuser:
    @property
    def groups(self) -> list[GroupPlan]: ...
    def __init__(self, memory: Memory) -> None: ...
