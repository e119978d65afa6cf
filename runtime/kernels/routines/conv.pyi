ROUTINES: dict[str, int]
PART: int
GROUP: int

def choose(kind: int) -> bool: ...
