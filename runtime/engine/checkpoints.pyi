from .binder import Binder
from .groups.fuser import Fuser
from .history.history import Histories
from .loops import Loops
from .memory.memory import Memory
from .scans import Scans

class Checkpoint:
    @property
    def position(self) -> tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...

class Checkpoints:
    def __init__(
        self, memory: Memory, binder: Binder, loops: Loops, scans: Scans, fuser: Fuser, histories: Histories
    ) -> None: ...
    def take(self) -> Checkpoint: ...
    def restore(self, checkpoint: Checkpoint) -> None: ...
