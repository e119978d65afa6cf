"""Why a loop ended, or did not: the condition and its values over the iterations."""
