"""The door by which children are started: `python -I -m bpc_worker.child`."""

from bpc_worker.processes.child import main

main()
