"""The doors: pages and interfaces over HTTP, each on a listener of its own and behind its own lock."""
