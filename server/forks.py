"""The context that starts worker processes: forks of a process with their imports, whose memory they share."""

import multiprocessing

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["crossview.server.jobs.worker", "crossview.server.writing.worker", "crossview.server.forked"]
)
