"""What a person sees in a terminal: the Textual app and the command line."""
