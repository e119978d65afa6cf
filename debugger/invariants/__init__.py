"""What held at every boundary of good runs, as assertions for the runs of the next export."""
