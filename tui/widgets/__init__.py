"""What a screen is made of, a widget a file."""
