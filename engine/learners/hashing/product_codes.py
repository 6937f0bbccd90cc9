"""Codes of queries and of items whose Hamming distances rank as inner products do."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.frame.view_rows import Rows
from crossview.engine.learners.hashing.itq import rotated_components
from crossview.engine.runtime.cancellation import checkpoint

Matrix = NDArray[np.float64]
_Side = tuple[Rows, Rows, NDArray[np.float64]]
_FLIPS = 4
"""Maximum number of flips per bit; each flip lowers the error, so rows converge long before."""
_DIGITS = 9
"""Digits to round to: equal gains are then equal in every batch, so the code of a row does not depend on its batch."""
_TURNS = 4
"""Maximum number of turns over all distant codes: later ones change few."""
_TINY, _LEAST = 1e-12, 1e-300
"""Divisors instead of 0: for lengths of rows, and for sums of exponentials."""


@dataclass(frozen=True)
class CodeFunction:
    """A function from rows x to codes h of -1 and 1: it starts from sign(W x) and flips bits while h^T A h - 2 h^T W x
    falls.

    Attributes:
        products: (B, B) A, symmetric, without its diagonal, which adds the same for every code.
        weights: (B, D) W.
    """

    products: Matrix
    weights: Matrix

    def scores(self, rows: Rows, codes: Rows | None = None) -> Rows:
        """Return the (n, B) numbers W x - A h of (n, D) rows, which have the signs of their codes.

        Each step flips the bit that lowers the error most.

        Args:
            codes: (n, B) codes to begin with; None: the signs of W x.
        """
        pulls = rows @ self.weights.T
        codes = signs(np.round(pulls, _DIGITS)) if codes is None else codes.copy()
        pulls -= codes @ self.products
        live = np.arange(len(rows))
        for _ in range(_FLIPS * codes.shape[1]):
            gains = np.round(codes[live] * pulls[live], _DIGITS)
            worst = gains.argmin(axis=1)
            improving = gains[np.arange(len(live)), worst] < 0.0
            live, worst = live[improving], worst[improving]
            if not len(live):
                break
            pulls[live] += 2.0 * codes[live, worst][:, None] * self.products[worst]
            codes[live, worst] *= -1.0
        # Rounding can leave the pull of an unimportant bit on the wrong side of 0: the sign comes from the code.
        scores: Rows = np.copysign(np.abs(pulls) + _TINY, codes)
        return scores


@dataclass(frozen=True)
class ProductCodes:
    """Codes h of queries q and g of items p with h . g / B near u(q) . (p - m), which ranks items as q . p does.

    m is the mean item. u(q) is q scaled to a length at which u(q) . (p - m) has the root mean square ``contrast`` over
    the items: the length of a query does not change its ranking, but the length of an item does. An item that is near
    no other therefore gets a code far from every query, so queries and items need different codes.

    Attributes:
        queries, items: functions of the codes, of u(q) and of p - m.
        mean: (D,) m.
        covariance: (D, D) covariance of the items.
        contrast: the root mean square above.
    """

    queries: CodeFunction
    items: CodeFunction
    mean: NDArray[np.float64]
    covariance: Matrix
    contrast: float

    def query_scores(self, rows: Rows) -> Rows:
        """Return (n, B) numbers whose signs are the codes of (n, D) queries."""
        return self.queries.scores(directed(rows, self.covariance, self.contrast))

    def item_scores(self, rows: Rows) -> Rows:
        """Return (n, B) numbers whose signs are the codes of (n, D) items."""
        return self.items.scores(rows - self.mean)


@dataclass(frozen=True)
class Examples:
    """Examples to learn codes from: (n, D) queries, (m, D) items, and (m,) weights of the items, which add up to 1."""

    queries: Rows
    items: Rows
    shares: NDArray[np.float64]


def learn_codes(
    examples: Examples,
    n_bits: int,
    contrast: float,
    max_iter: int,
    random: np.random.RandomState,
    report: Callable[[int], None] = lambda turn: None,
    directions: Matrix | None = None,
) -> tuple[ProductCodes, list[float]]:
    """Return the learned codes, and the mean squared errors at the start and after each turn, in units of contrast^2.

    Turns alternate between the codes of items for given codes of queries and the reverse, bit by bit (as in Shen et
    al., "Supervised discrete hashing", CVPR 2015), so that the error never rises. The codes start as the signs of
    projections of the rows about the mean query. Further rows get their codes by the same steps.

    Args:
        examples: the rows of queries and items.
        n_bits: B, which may exceed D.
        contrast: as in ``ProductCodes``.
        max_iter: maximum number of turns; they end earlier when no code changes.
        random: generator of the start's rotation.
        report: function to call with the number of each completed turn.
        directions: (B, D) directions of the projections at the start; None: those of ITQ of the queries.
    """
    mean = examples.shares @ examples.items
    centred = examples.items - mean
    covariance = (centred * examples.shares[:, None]).T @ centred
    queries = directed(examples.queries, covariance, contrast)
    equal = np.full(len(queries), 1.0 / len(queries))
    mean_query = examples.queries.mean(axis=0)
    start = directions
    if start is None:
        start = rotated_components(examples.queries - mean_query, n_bits, random)
    query_codes, item_codes = (signs((rows - mean_query) @ start.T) for rows in (examples.queries, examples.items))
    errors = [_error((query_codes, queries, equal), (item_codes, centred, examples.shares))]
    for turn in range(1, max_iter + 1):
        checkpoint()
        before = query_codes, item_codes
        item_codes = signs(_code_function(query_codes, queries, equal).scores(centred, item_codes))
        query_codes = signs(_code_function(item_codes, centred, examples.shares).scores(queries, query_codes))
        errors.append(_error((query_codes, queries, equal), (item_codes, centred, examples.shares)))
        report(turn)
        if all(map(np.array_equal, before, (query_codes, item_codes))):
            break
    sides = _code_function(item_codes, centred, examples.shares), _code_function(query_codes, queries, equal)
    return ProductCodes(*sides, mean, covariance, contrast), errors


def directed(rows: Rows, covariance: Matrix, contrast: float) -> Rows:
    """Return u(q) of (n, D) queries; zeros for queries that have equal products with all items."""
    spread = np.sqrt(np.maximum(((rows @ covariance) * rows).sum(axis=1, keepdims=True), 0.0))
    directions: Rows = np.divide(contrast * rows, spread, out=np.zeros_like(rows), where=spread > _TINY)
    return directions


def signs(rows: Rows) -> Rows:
    """Return 1.0 for positive numbers and -1.0 for others."""
    return np.where(rows > 0, 1.0, -1.0)


def _code_function(codes: Rows, rows: Rows, shares: NDArray[np.float64]) -> CodeFunction:
    """Return the code function of one side, for (n, B) codes of the other side and their (n, D) rows."""
    weighted = codes * shares[:, None]
    products = weighted.T @ codes / codes.shape[1]
    np.fill_diagonal(products, 0.0)
    return CodeFunction(products, weighted.T @ rows)


def _error(side: _Side, other: _Side) -> float:
    """Return the mean of (h . g / B - u . p)^2 over the pairs, in units of that of (u . p)^2, without a matrix of all
    pairs.

    Each side has its (n, B) codes, (n, D) rows, and (n,) weights.
    """
    (codes, rows, shares), (other_codes, other_rows, other_shares) = side, other

    def moments(first: Rows, second: Rows, shares: NDArray[np.float64]) -> Matrix:
        return np.asarray((first * shares[:, None]).T @ second)

    bits = np.vdot(moments(codes, codes, shares), moments(other_codes, other_codes, other_shares)) / codes.shape[1] ** 2
    both = np.vdot(moments(codes, rows, shares), moments(other_codes, other_rows, other_shares)) / codes.shape[1]
    of_rows = np.vdot(moments(rows, rows, shares), moments(other_rows, other_rows, other_shares))
    return float((bits - 2.0 * both + of_rows) / max(of_rows, _TINY))


def distant_codes(count: int, n_bits: int, random: np.random.RandomState) -> Matrix:
    """Return (K, B) codes of -1 and 1 that are far from each other.

    From random codes, each step flips the bit of a code that most lowers the sum of exp(c . d) over the pairs of codes.
    Unlike the sum of squares, which is equally low for codes that coincide, this sum mostly counts the nearest pairs.
    """
    codes = signs(random.standard_normal((count, n_bits)))
    even, odd = np.cosh(2.0) - 1.0, np.sinh(2.0)  # exp(-2 s) - 1 is even - s odd, where s is -1 or 1
    for _ in range(_TURNS):
        checkpoint()
        before = codes.copy()
        for number in range(count):
            for _ in range(_FLIPS * n_bits):
                near = np.exp(codes @ codes[number] - n_bits)
                near[number] = 0.0
                gains = np.round(even - odd * codes[number] * (near @ codes) / max(near.sum(), _LEAST), _DIGITS)
                if gains.min() >= 0.0:
                    break
                codes[number, gains.argmin()] *= -1.0
        if np.array_equal(before, codes):
            break
    return codes
