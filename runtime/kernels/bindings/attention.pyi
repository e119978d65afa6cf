ROUTINES: dict[str, int]
MAX_HEAD_WIDTH: int
