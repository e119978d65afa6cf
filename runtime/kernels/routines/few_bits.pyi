ROUTINES: dict[str, int]
PANEL: int
