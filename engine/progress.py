"""Progress of long work."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with (done, total), from the thread that does the work."""
