"""Models as network-building code of another system, to run there and to be opened here again."""
