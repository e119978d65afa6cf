ROUTINES: dict[str, int]
MAX_AXES: int
