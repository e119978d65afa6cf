from ..plain.accelerator import Accelerator
from ..plain.binder import Binder
from ..plain.loops import Loops
from ..plain.memory import Memory
from ..plain.scans import Scans
from .history import Histories

class Checkpoint:
    @property
    def position(self) -> tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...

class Checkpoints:
    def __init__(
        self,
        memory: Memory,
        binder: Binder,
        loops: Loops,
        scans: Scans,
        accelerator: Accelerator,
        histories: Histories,
    ) -> None: ...
    @property
    def gone(self) -> set[int]: ...
    def take(self) -> Checkpoint: ...
    def restore(self, checkpoint: Checkpoint) -> None: ...
