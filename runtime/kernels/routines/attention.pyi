ROUTINES: dict[str, int]
MOST_HEAD: int

def use_lanes(kind: int) -> bool: ...
