"""The measures of retrieval are those of scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score, precision_score, recall_score

from crossview.engine.training import measures


@pytest.mark.parametrize("seed", range(50))
def test_measures_are_those_of_scikit_learn(seed):
    """They are NaN for a query without a relevant item, which scikit-learn counts as 0."""
    draw = np.random.default_rng(seed)
    queries, items = draw.integers(1, 12), draw.integers(2, 60)
    distances = draw.uniform(size=(queries, items))
    relevant = draw.random((queries, items)) < draw.uniform(0.02, 0.6)
    ranked = measures.ranked(relevant, measures.ranking(distances))
    k = int(draw.integers(1, items))
    found = {
        "average_precision": measures.average_precision(ranked),
        "precision": measures.precision_at_k(ranked, k),
        "recall": measures.recall_at_k(ranked, k),
        "r_precision": measures.r_precision(ranked),
        "ndcg": measures.ndcg_at_k(ranked, k),
    }
    for query in range(queries):
        own, scores = relevant[query], -distances[query]
        first, counted = (np.argsort(np.argsort(-scores)) < length for length in (k, own.sum()))
        expected = {
            "average_precision": average_precision_score(own, scores) if own.any() else np.nan,
            "precision": precision_score(own, first),
            "recall": recall_score(own, first) if own.any() else np.nan,
            "r_precision": precision_score(own, counted) if own.any() else np.nan,
            "ndcg": ndcg_score([own], [scores], k=k) if own.any() else np.nan,
        }
        assert {name: values[query] for name, values in found.items()} == pytest.approx(expected, nan_ok=True)
