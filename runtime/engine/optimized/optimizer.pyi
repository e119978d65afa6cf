from ...plan.fusion.groups import GroupPlan
from ..baseline.memory import Memory
from ..baseline.optimizer_base import OptimizerBase
from .copy_elision.copy_elision import CopyElision
from .optimizing_binder import OptimizingBinder

class Optimizer(OptimizerBase):
    hot_after: int
    fuse: bool
    def __init__(self, memory: Memory) -> None: ...
    @property
    def binder(self) -> OptimizingBinder: ...
    @property
    def copy_elision(self) -> CopyElision: ...
    @property
    def groups(self) -> list[tuple[GroupPlan, int]]: ...
    @property
    def program_runs(self) -> int: ...
