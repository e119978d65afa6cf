"""What a run is held against: files of values, and values recorded in the user's own code."""
