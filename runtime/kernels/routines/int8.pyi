ROUTINES: dict[str, int]
PANEL: int
BEYOND: int
TAIL: int
HEAD: int
