"""Sizes that client and server agree on."""

MESSAGE_BYTES = 64 * 2**20
"""Largest message taken or sent: a camera's photograph fits as it is."""
BATCH_BYTES = 8 * 2**20
"""What a client gathers into one message; a single larger picture goes alone."""
BATCH_ITEMS = 64
"""And at most so many at once: each batch is one change on disk and one step of the progress."""
