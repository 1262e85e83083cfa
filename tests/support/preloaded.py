"""What a worker and the commands import, for the server that forks them; nothing of it has read a setting."""

from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import walk_packages

import bpc_worker

_PROGRAMS = ("bpc_worker.__main__", "bpc_worker.child")  # to import them is to run them

for found in walk_packages(bpc_worker.__path__, "bpc_worker."):
    if found.name not in _PROGRAMS:
        import_module(found.name)
for handler in entry_points(group="bpc_worker.handlers"):
    handler.load()
import_module("bpc_worker.postgres.sql_files").read_all()
