"""Where the processes of a server come from: forks of one that has imported what they need, whose memory they share."""

import multiprocessing

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["crossview.server.jobs.worker", "crossview.server.writing.worker", "crossview.server.forked"]
)
