from ...baseline.memory import Memory

min_growing_extent: int

class RangeBindings:
    def __init__(self, memory: Memory) -> None: ...
