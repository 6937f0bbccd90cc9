"""The limit of a process's address space, which grows by what models need."""

import resource
from collections.abc import Mapping
from pathlib import Path

from crossview.features.models.device import on_graphics_card

_SIZES = Path("/proc/self/statm")
_SHARE, _MARGIN_BYTES = 1.5, 1 << 27
"""Memory for a model: a multiple of what its first run took, and more, because allocators round up."""


class MemoryLimit:
    """Limits this process to ``more`` bytes in addition to its present memory, which only Linux reports."""

    def __init__(self, more: int) -> None:
        self._known = set[str]()
        if _SIZES.exists():
            has = int(_SIZES.read_text().split()[0]) * resource.getpagesize()
            _limit(has + more)

    def make_room(self, needs: Mapping[str, int]) -> None:
        """Raise the limit by the memory of extractors (``Extractor.memory``), once for each name.

        On a graphics card the limit ends: CUDA maps hundreds of gigabytes of addresses.
        """
        for name in needs.keys() - self._known:
            self._known.add(name)
            present, _ = resource.getrlimit(resource.RLIMIT_AS)
            if present != resource.RLIM_INFINITY:
                wanted = present + int(_SHARE * needs[name]) + _MARGIN_BYTES
                _limit(resource.RLIM_INFINITY if on_graphics_card() else wanted)


def _limit(wanted: int) -> None:
    """Set the limit, or the most that this process may set."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY and (wanted == resource.RLIM_INFINITY or wanted > most):
        wanted = most
    resource.setrlimit(resource.RLIMIT_AS, (wanted, most))
