"""What panes show, as text with roles: no widget in here."""
