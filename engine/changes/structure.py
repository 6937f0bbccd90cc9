"""The distance of two versions of a page by its source: the links and images of the HTML beside a picture."""

from collections.abc import Collection

from crossview.features.page import Page


def distances(one: Page, other: Page) -> tuple[float, float]:
    """Return the Jaccard distances of the links and of the images (section 5.2 of the paper)."""
    return jaccard(one.links, other.links), jaccard(one.images, other.images)


def jaccard(one: Collection[object], other: Collection[object]) -> float:
    """Return 1 minus the common share of two sets; 0 for two empty sets."""
    union = len({*one, *other})
    return 1 - (len(one) + len(other) - union) / union if union else 0.0
