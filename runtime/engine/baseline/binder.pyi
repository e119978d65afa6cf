from .memory import Memory

strict_binding: bool

class NodeBinder:
    native_enabled: bool
    seed: int
    def __init__(self, memory: Memory) -> None: ...
    def is_native(self, pc: int) -> bool: ...
