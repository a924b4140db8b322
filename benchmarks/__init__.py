"""Side-by-side runs of mercer, its peers and the measured limits of the machine.

``python -m benchmarks list`` names the suites, ``python -m benchmarks engine imports`` runs two of
them, ``python -m benchmarks`` all. A suite is one file in `benchmarks.suites` with a function
``run(options) -> Report``; the first line of its docstring is what ``list`` shows.
"""
