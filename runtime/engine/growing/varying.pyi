from ..memory.memory import Memory

class Growing:
    def __init__(self, memory: Memory) -> None: ...
