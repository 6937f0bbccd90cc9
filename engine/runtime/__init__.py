"""Control of long work: cancellation, progress, waiting, values made ahead, processors.

``cancellation`` carries the check and the report of a fit in context variables. ``progress`` is the callback that
shows progress to a user. ``locks`` wait only until the work is cancelled. ``ahead`` makes the next value in a
thread, and ``threads`` divides the processors. This is the ground floor: it imports no room of ours, and every room may
import it except ``features`` and ``index``.
"""
