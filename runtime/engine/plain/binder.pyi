from ..fast.ranges.varying import Growing
from .memory import Memory

strict_binding: bool

class Binder:
    native: bool
    seed: int
    block: int | None
    def __init__(self, memory: Memory, growing: Growing) -> None: ...
    def is_native(self, pc: int) -> bool: ...
