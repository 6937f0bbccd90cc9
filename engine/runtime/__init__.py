"""How long work runs: whether it is still wanted, how far it is, what it waits for, on how many processors.

``cancellation`` carries the check and the report of a fit in context variables. ``progress`` is the callback that shows
a user how far work is. ``locks`` wait only as long as the work is wanted. ``threads`` share out the processors. This is
the ground floor: it imports nothing of ours, and every room may import it except ``features`` and ``index``.
"""
