class OptimizerBase:
    """What the plain floor tells whatever makes an execution fast."""
