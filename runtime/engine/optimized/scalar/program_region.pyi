"""No Python names: see program_region.pxd."""
