from ...plain.memory import Memory

least_capacity: int

class Growing:
    def __init__(self, memory: Memory) -> None: ...
