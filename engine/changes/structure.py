"""How far two versions of a page differ by its source: the links and images of the HTML saved beside a picture."""

from collections.abc import Collection

from crossview.features.page import Page


def distances(one: Page, other: Page) -> tuple[float, float]:
    """Returns the Jaccard distances of the links and of the images (section 5.2 of the paper)."""
    return jaccard(one.links, other.links), jaccard(one.images, other.images)


def jaccard(one: Collection[object], other: Collection[object]) -> float:
    """Returns one less the share of all that both have, of what is in either once; 0 for two that are empty."""
    union = len({*one, *other})
    return 1 - (len(one) + len(other) - union) / union if union else 0.0
