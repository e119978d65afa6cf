"""What runs without Python: bound calls, the inner loops behind them, and how they walk over their arguments."""
