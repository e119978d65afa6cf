from ...plain.memory import Memory

least_room: int

class Growing:
    def __init__(self, memory: Memory) -> None: ...
