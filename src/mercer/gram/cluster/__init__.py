"""Tiles on workers in other processes: a Dask cluster, or a pool of processes.

Work is packed once (`shipped_work`): its large arrays go to every worker once, and a task carries slices. Tasks are
sent in batches of about a second (`batches`), and answers come back in the order of the tasks, so that sums
are those of one machine, bit by bit. What a kind of worker needs is in `dask_workers` and `process_workers`.
"""

from mercer.gram.cluster.batches import Workers, in_batches, worth_sending
from mercer.gram.cluster.find_workers import current_client, workers_of

__all__ = ["Workers", "current_client", "in_batches", "workers_of", "worth_sending"]
