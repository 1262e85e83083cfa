"""The standard read interface, after EN 18222."""
