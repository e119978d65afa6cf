"""A loop over the rows that another one makes, run beside it on another core."""
