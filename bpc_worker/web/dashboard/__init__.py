"""For operators: what waits, what is dead, and what to do."""
