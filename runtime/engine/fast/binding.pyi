from ..plain.binder import Binder
from ..plain.memory import Memory
from .ranges.varying import Growing

class FastBinder(Binder):
    block: int | None
    def __init__(self, memory: Memory, growing: Growing) -> None: ...
