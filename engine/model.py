"""A model that computes rows of views, registered in a home."""

from dataclasses import dataclass

from crossview.features.base import Input
from crossview.features.models.device import chosen_device as chosen_device
from crossview.features.models.manifest import Manifest
from crossview.features.models.session import use_device as use_device
from crossview.features.models.trial import Trial as Trial


@dataclass(frozen=True)
class Model:
    """A model that is registered in a home."""

    name: str
    digest: str
    """SHA-256 of the manifest with the hashes of all files, hexadecimal: equal models have equal digests."""
    manifest: Manifest
    size: int
    """Bytes of its files."""
    added: str
    """The time of its registration, in ISO format, in UTC."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs that it has a tower for, sorted."""
        return tuple(sorted(self.manifest.towers))
