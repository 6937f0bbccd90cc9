"""The signs of centred embeddings."""

from collections.abc import Sequence
from dataclasses import replace

from crossview.engine.learners.hashing.hasher import Hasher
from crossview.engine.learners.hashing.stage_hasher import StageHasher


class Sign(StageHasher, Hasher):
    """Takes as many bits as rows have columns: whether each value is above its column's mean.

    Args:
        view_slices: widths of the views in a 2-D ``X``; None: one view.
    """

    name = "sign"
    capabilities = replace(StageHasher.capabilities, main_parameter=None)

    def __init__(self, view_slices: Sequence[int] | None = None) -> None:
        self.view_slices = view_slices
