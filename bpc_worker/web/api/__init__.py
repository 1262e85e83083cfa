"""For a manufacturer's systems: documents in, passports out, over HTTP."""
