class OptimizerBase:
    """Interface through which the baseline tier drives an optimizer."""

class BoundaryObserver:
    """Interface through which the baseline tier reports boundaries."""
