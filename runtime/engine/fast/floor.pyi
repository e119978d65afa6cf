from ...plan.fusion.groups import Group
from ..plain.accelerator import Accelerator
from ..plain.memory import Memory
from .binding import FastBinder
from .views.views import Views

class Fast(Accelerator):
    hot_after: int
    fuse: bool
    def __init__(self, memory: Memory) -> None: ...
    @property
    def binder(self) -> FastBinder: ...
    @property
    def views(self) -> Views: ...
    @property
    def groups(self) -> list[tuple[Group, int]]: ...
    @property
    def program_runs(self) -> int: ...
