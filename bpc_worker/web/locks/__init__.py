"""Who asks, and what it may do: tokens, sessions of a browser, identities from a proxy."""
