"""The lessons themselves, a file each."""
