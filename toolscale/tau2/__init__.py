"""tau2-bench (sierra-research/tau2-bench, MIT), read and run: its checkout, its files, and a process of its own.

`checkout` says where it is and which Python has it; `files` reads its tasks and what `tau2 run` wrote; `process` runs a
program of it; `driving` has its own loaders, environments and evaluators say what they know of a domain (`driver` runs
under its Python).
"""
