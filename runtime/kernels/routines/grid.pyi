ROUTINES: dict[str, int]
