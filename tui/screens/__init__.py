"""The screens, and the base classes of the apps."""
