ROUTINES: dict[str, int]
MOST_AXES: int
