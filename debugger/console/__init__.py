"""The command language, for scripts, the command line and the screen."""
