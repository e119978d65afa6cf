"""Parts of a model on their own: the smallest that still shows a finding, as a folder for others to run."""
