ROUTINES: dict[str, int]
PANEL: int
BEYOND: int
TAIL: int

def use(kind: int) -> bool: ...
