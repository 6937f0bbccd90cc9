"""Sizes of messages."""

MESSAGE_BYTES = 64 * 2**20
"""Size of the largest message that is received or sent; a camera's photograph fits."""
BATCH_BYTES = 8 * 2**20
"""Size up to which a client fills a message; a larger picture is sent alone."""
BATCH_ITEMS = 64
"""Largest number of items in a message: each message is one change on disk and one step of the progress."""
