"""Values in files of the forms that other programs read."""
