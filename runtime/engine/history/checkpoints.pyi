from ..baseline.binder import NodeBinder
from ..baseline.loops import Loops
from ..baseline.memory import Memory
from ..baseline.optimizer_base import OptimizerBase
from ..baseline.scan_outputs import ScanOutputs
from .value_history import ValueHistories

class Checkpoint:
    @property
    def position(self) -> tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...

class Checkpoints:
    def __init__(
        self,
        memory: Memory,
        binder: NodeBinder,
        loops: Loops,
        scans: ScanOutputs,
        optimizer_base: OptimizerBase,
        histories: ValueHistories,
    ) -> None: ...
    @property
    def unavailable_slots(self) -> set[int]: ...
    def save(self) -> Checkpoint: ...
    def restore(self, checkpoint: Checkpoint) -> None: ...
