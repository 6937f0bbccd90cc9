"""Progress of long work."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, such as "indexing", how much of it is done, of how much)."""
