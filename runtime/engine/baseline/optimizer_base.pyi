class OptimizerBase:
    """Interface through which the baseline tier drives an optimizer."""
