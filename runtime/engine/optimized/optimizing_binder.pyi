from ..baseline.binder import NodeBinder
from ..baseline.memory import Memory
from .shape_ranges.range_bindings import RangeBindings

class OptimizingBinder(NodeBinder):
    batched: set[int]
    def __init__(self, memory: Memory, range_bindings: RangeBindings) -> None: ...
