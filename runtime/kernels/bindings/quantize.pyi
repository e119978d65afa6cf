ROUTINES: dict[str, int]
LOW_BIT_PANEL_COLUMNS: int
