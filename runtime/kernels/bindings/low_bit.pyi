ROUTINES: dict[str, int]
PANEL_COLUMNS: int
