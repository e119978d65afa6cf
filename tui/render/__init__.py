"""Contents of the panes as text with roles, without widgets."""
