"""bpc-worker: supplier documents in, signed battery passports out, as jobs that are never lost."""

__version__ = "0.1.0"
