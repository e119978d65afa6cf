class Accelerator:
    """What the plain floor tells whatever makes an execution fast."""
