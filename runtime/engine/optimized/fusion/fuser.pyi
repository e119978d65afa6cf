from ....plan.fusion.groups import GroupPlan
from ...baseline.memory import Memory
from ..copy_elision.copy_elision import CopyElision

class Fuser:
    @property
    def groups(self) -> list[GroupPlan]: ...
    def __init__(self, memory: Memory, copy_elision: CopyElision) -> None: ...
