ROUTINES: dict[str, int]
PANEL: int

def use(kind: int) -> bool: ...
