"""The door by which the zygote, and by it every child, is started: `python -I -m bpc_worker.child`."""

from bpc_worker.processes.zygote_process import main

main()
