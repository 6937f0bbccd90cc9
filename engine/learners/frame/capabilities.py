"""Capabilities of learners: pipelines, training and search decide by them, never by the name of a learner."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """The abilities and needs of a learner."""

    cross_view: bool = False
    """A query of one view is comparable with embeddings of another view."""
    needs_labels: bool = False
    """The learner needs class labels; an instance may not need any, see ``MultiViewLearner.needs_labels``."""
    multilabel: bool = False
    """Labels may be an indicator matrix, for items of several classes."""
    takes_neighbors: bool = False
    """It can learn from lists of similar items instead of labels."""
    takes_comparisons: bool = False
    """It can learn from comparisons of items instead of labels."""
    orders_items: bool = False
    """It can learn from pairs of items in the order of an attribute, in addition to labels."""
    takes_taxonomy: bool = False
    """It can also learn from a tree of its classes."""
    notions: bool = False
    """It learns a metric for each notion that comparisons or classes name."""
    adds_views: bool = False
    """One more view can be fitted while the others stay as they are."""
    least_views: int = 1
    """Minimum number of views."""
    most_views: int | None = None
    """Maximum number of views; None: any number."""
    keeps_cross_view: bool = False
    """It maps the rows of all views in the same way, so views that were comparable before it stay comparable."""
    auxiliary: bool = False
    """It only assists another learner: it prepares the learner's rows, or makes codes of its embeddings."""
    binary: bool = False
    """Embeddings are codes, columns of 0 and 1."""
    codes_of_vectors: bool = False
    """Embeddings are codes of float vectors. ``unhashed`` returns the vectors, by which a search can re-rank hits."""
    main_parameter: str | None = None
    """The parameter that a bare value in a spec sets, as in "pca:0.99"; None: a spec cannot set any."""

    def check_views(self, learner: str, names: Sequence[str]) -> None:
        """Raise ValueError unless the learner takes this number of views; the message contains the names of learner and
        views."""
        least, most = self.least_views, self.most_views
        if len(names) < least or (most is not None and len(names) > most):
            number = f"at least {least}" if most is None else f"exactly {least}" if least == most else f"{least}-{most}"
            raise ValueError(f"{learner} learns from {number} views; you named {len(names)} ({', '.join(names)})")


def main_position(steps: Sequence[Capabilities]) -> int:
    """Return the position of the main learner of a chain: the last that is not auxiliary, or the last if all are
    auxiliary.

    It is -1 for an empty chain.
    """
    learners = [position for position, step in enumerate(steps) if not step.auxiliary]
    return learners[-1] if learners else len(steps) - 1


def composed(steps: Sequence[Capabilities]) -> Capabilities:
    """Return the capabilities of learners one after another, each on the embeddings of the one before it."""
    most = [step.most_views for step in steps if step.most_views is not None]
    return Capabilities(
        # Steps that map all views in the same way change nothing; the last other step decides.
        cross_view=next((step.cross_view for step in reversed(steps) if not step.keeps_cross_view), False),
        needs_labels=any(step.needs_labels for step in steps),
        # Every learner of labels gets the same labels, so all of them must accept label sets.
        multilabel=all(step.multilabel for step in steps if step.needs_labels),
        takes_neighbors=bool(steps) and steps[main_position(steps)].takes_neighbors,
        takes_comparisons=any(step.takes_comparisons for step in steps),
        orders_items=any(step.orders_items for step in steps),
        takes_taxonomy=any(step.takes_taxonomy for step in steps),
        # The last learner of comparisons receives them, so it decides whether they may name notions.
        notions=next((step.notions for step in reversed(steps) if step.takes_comparisons or step.notions), False),
        adds_views=all(step.adds_views for step in steps),
        least_views=max((step.least_views for step in steps), default=1),
        most_views=min(most, default=None),
        keeps_cross_view=all(step.keeps_cross_view for step in steps),
        auxiliary=all(step.auxiliary for step in steps),
        binary=bool(steps) and steps[-1].binary,
        codes_of_vectors=bool(steps) and steps[-1].codes_of_vectors,
    )
