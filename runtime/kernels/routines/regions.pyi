MEAN: int
PARTS: int
POINTS: int
ROUTINES: dict[str, int]
