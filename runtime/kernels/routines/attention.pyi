ROUTINES: dict[str, int]
MOST_HEAD: int
