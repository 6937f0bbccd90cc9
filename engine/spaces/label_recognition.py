"""Recognition of labels: whether the nearest training items of a space give an item the labels that it has."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from crossview.engine.catalog.catalog import Transaction
from crossview.engine.catalog.joined import joined_view
from crossview.engine.runtime.cancellation import checkpoint
from crossview.engine.spaces.indexed import IndexedSpace
from crossview.engine.spaces.suggestion import MOST_ITEMS, vote_shares
from crossview.engine.spaces.target import on_common_scale
from crossview.engine.values.errors import InvalidInputError
from crossview.engine.values.labels import (
    FEW_ITEMS,
    FEWEST_ITEMS,
    NOT_RECOGNIZED,
    LabelReport,
    fault_of_name,
    without_labels,
)

VOTERS = 10
"""Number of training items that vote in each view."""
MOST_REPORTED = 1_000
"""Maximum number of labels in the report, which every description of the space contains."""
_COMPARED = 2 * 10**8
"""Maximum number of distances, which bounds the time to a few seconds; more voters mean fewer tested items."""
_DEVIATIONS = 1.645
"""Distance of a bound that holds with a probability of .95, in standard deviations."""
_HARDLY, _CLEARLY = 0.55, 0.75
"""Areas under the ROC curve: hardly above chance, which is 1/2, and halfway between chance and perfection."""

Votes = NDArray[np.float64]
Labels = Mapping[int, Sequence[str]]


def reported(tx: Transaction, built: IndexedSpace) -> tuple[tuple[LabelReport, ...], str]:
    """Return reports on labels of the training items, the worst recognised first, and how they were tested.

    Labelled items outside the training test the space. Without any, training items do, if the learner embeds them by
    models without them; otherwise nothing is tested, and the sentence is "". An item gets as many labels as it has:
    those with the most votes of the nearest training items in all its views. A space of notions has no report, because
    each notion has labels of its own.
    """
    space, keys = built.space, tx.items.keys()
    labels = without_labels(tx.items.labels(), space.ignored_labels)
    having = {item for view in space.views for item in joined_view(tx, view).ids(tx).tolist()}
    trained = sorted(item for item in labels if item in having and keys[item] in space.training_keys)
    counts = Counter(label for item in trained for label in labels[item])
    if not counts or space.pipeline.metric_names_:
        return (), ""
    unseen = sorted(item for item in labels if item in having and keys[item] not in space.training_keys)
    test = unseen or (trained if space.pipeline.known_rows_ else [])
    test = _drawn(test, labels, min(MOST_ITEMS, _COMPARED // (len(trained) * len(space.targets)) + 1))
    votes = _votes(tx, built, labels, trained, test)
    which = "that the space was not trained on" if unseen else "of the training, each by a model without it"
    sentence = f"by a vote of the {VOTERS} nearest training items for {len(votes)} items {which}" if votes else ""
    found = sorted(
        _reports(counts, votes, labels), key=lambda one: (2 if one.recall is None else one.recall, one.label)
    )
    return tuple(found[:MOST_REPORTED]), sentence


def _drawn(items: Sequence[int], labels: Labels, most: int) -> list[int]:
    """Return at most ``most`` of the items, drawn at random: about as many of each label."""
    if len(items) <= most:
        return list(items)
    seen: Counter[str] = Counter()
    turns = {}
    for item in np.random.default_rng(0).permutation(items).tolist():
        turns[item] = min(seen[label] for label in labels[item])
        seen.update(labels[item])
    return sorted(sorted(turns, key=turns.__getitem__)[:most])


def _votes(
    tx: Transaction, built: IndexedSpace, labels: Labels, trained: Sequence[int], test: Sequence[int]
) -> dict[int, Counter[str]]:
    """Return the votes of the nearest training items for each tested item with neighbours, by id."""
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for view in built.space.views if test else ():
        checkpoint()
        rows, targets = joined_view(tx, view).rows(tx, test), built.space.targets_of(view)
        try:
            probes = built.space.probe(view, rows.rows, [str(target) for target in targets]) if len(rows.ids) else {}
        except InvalidInputError:  # a row far outside the training rows; this view cannot test the items
            continue
        voters = {target: built.searcher(target).selection(np.array(trained, np.int64)) for target in probes}
        lists = built.neighbours(probes, rows.ids.tolist(), VOTERS, voters.__getitem__)
        for row, item in enumerate(rows.ids.tolist()):
            near = [found[row] for found in lists.values()]
            votes[item].update(vote_shares(near, labels, VOTERS, on_common_scale(probes)))
    return {item: found for item, found in votes.items() if found}


def _reports(counts: Mapping[str, int], votes: Mapping[int, Counter[str]], labels: Labels) -> Iterator[LabelReport]:
    """Yield the report on each label, by its number of training items and the votes for the tested items."""
    given = {item: dict(found.most_common(len(labels[item]))) for item, found in votes.items()}
    tested = Counter(label for item in votes for label in labels[item])
    right = Counter(label for item, found in given.items() for label in found if label in labels[item])
    wrong = Counter(label for item, found in given.items() for label in found if label not in labels[item])
    for label, items in counts.items():
        others = len(votes) - tested[label]
        recognised = not tested[label] or not others or is_recognised(*_votes_for(label, votes, labels))
        faults = ([FEW_ITEMS] * (items < FEWEST_ITEMS), [NOT_RECOGNIZED] * (not recognised), [fault_of_name(label)])
        yield LabelReport(
            label=label,
            items=items,
            tested=tested[label],
            recall=right[label] / tested[label] if tested[label] else None,
            chance=wrong[label] / others if others else None,
            faults=tuple(filter(None, chain.from_iterable(faults))),
        )


def _votes_for(label: str, votes: Mapping[int, Counter[str]], labels: Labels) -> tuple[Votes, Votes]:
    """Return the votes for a label that items with it get, and those that other items get."""
    has = np.array([label in labels[item] for item in votes], bool)
    got = np.array([found[label] for found in votes.values()], float)
    return got[has], got[~has]


def is_recognised(own: Votes, others: Votes) -> bool:
    """Return whether a label may be recognised; False only if there is evidence that it is not.

    ``own`` and ``others`` are the votes for the label that items with and without it get. The area under the ROC curve
    is the probability that an item with the label gets more votes than one without it, 1/2 if votes are blind. A label
    is not recognised if the lower bound of the area is hardly above chance and its upper bound is below ``_CLEARLY``
    (Hanley and McNeil, Radiology 1982). The area does not depend on how common the label is, as a majority does, and
    the bounds from few items are far apart, so that bad luck alone does not condemn a small label.
    """
    n, m = len(own), len(others)
    area = (rankdata(np.concatenate([own, others]))[:n].sum() - n * (n + 1) / 2) / (n * m)
    two_own, two_others = area / (2 - area) - area**2, 2 * area**2 / (1 + area) - area**2
    error = math.sqrt((area * (1 - area) + (n - 1) * two_own + (m - 1) * two_others) / (n * m))
    return bool(area - _DEVIATIONS * error > _HARDLY or area + _DEVIATIONS * error >= _CLEARLY)
