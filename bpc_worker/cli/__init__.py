"""The command line, one module or package per group of commands."""

from bpc_worker.cli.root import main

__all__ = ["main"]
