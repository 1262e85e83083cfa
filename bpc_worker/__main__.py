"""`python -m bpc_worker` is the same as `bpc-worker`."""

from bpc_worker.cli import main

main()
