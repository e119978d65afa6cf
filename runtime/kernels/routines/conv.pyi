ROUTINES: dict[str, int]
PART: int
GROUP: int
WIDEST: int

def choose(kind: int) -> bool: ...
