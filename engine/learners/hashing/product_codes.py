"""Codes of queries and of items whose Hamming distances rank as inner products do."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossview.engine.learners.hashing.itq import rotation
from crossview.engine.learners.subspace.pca import principal_components
from crossview.engine.learners.view_rows import Rows
from crossview.engine.runtime.cancellation import checkpoint

Matrix = NDArray[np.float64]
_Side = tuple[Rows, Rows, NDArray[np.float64]]
_FLIPS = 4  # a bit, at most: each flip lowers the error, so this is never reached in practice
_DIGITS = 9  # bits that are as good but for rounding are flipped in their order: a row's code is its own in any batch
_TINY = 1e-12


@dataclass(frozen=True)
class CodeFunction:
    """The code h, of -1 and 1, of a row x: from sign(W x), bits are flipped while h^T A h - 2 h^T W x falls.

    Attributes:
        products: (B, B) A, symmetric, without its diagonal, which no code can change.
        weights: (B, D) W.
    """

    products: Matrix
    weights: Matrix

    def scores(self, rows: Rows, codes: Rows | None = None) -> Rows:
        """Return the (n, B) numbers W x - A h of (n, D) rows, which have the signs of their codes.

        The bit that lowers the error most is flipped first.

        Args:
            codes: (n, B) codes to begin with; None: those of the signs.
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
        scores: Rows = np.copysign(
            np.abs(pulls) + _TINY, codes
        )  # rounding may leave a bit that hardly matters beyond 0
        return scores


@dataclass(frozen=True)
class ProductCodes:
    """Codes h of queries q and g of items p with h . g / B near u(q) . (p - m), which ranks items as q . p does.

    m is the mean item, and u(q) is q with such a length that u(q) . (p - m) has the root mean square ``contrast`` over
    the items: lengths of queries do not matter to rankings, those of items do. So an item that is near nothing is coded
    to be far from every query, for which codes of queries must not be those of items.

    Attributes:
        queries, items: make the codes, of u(q) and of p - m.
        mean: (D,) m.
        covariance: (D, D), of the items.
        contrast: as above.
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
    """What codes are learned from: (n, D) queries, (m, D) items, and (m,) how much each item counts, adding up to 1."""

    queries: Rows
    items: Rows
    shares: NDArray[np.float64]


def learn_codes(
    given: Examples,
    n_bits: int,
    contrast: float,
    max_iter: int,
    random: np.random.RandomState,
    report: Callable[[int], None] = lambda turn: None,
) -> tuple[ProductCodes, list[float]]:
    """Return what makes codes, and the mean squared errors at the start and after each turn, in units of contrast^2.

    Codes of the examples are found by turns, those of items for given ones of queries and the other way round, bit by
    bit (as in Shen et al., "Supervised discrete hashing", CVPR 2015), so that the error never rises. They start as
    ITQ's codes of the queries. Those of further rows are found by the same steps.

    Args:
        given: the examples.
        n_bits: B, which may be more than D.
        contrast: as of ``ProductCodes``.
        max_iter: turns at most; there are fewer where all codes stay.
        random: of the start's rotation.
        report: is called with the number of each completed turn.
    """
    mean = given.shares @ given.items
    centred = given.items - mean
    covariance = (centred * given.shares[:, None]).T @ centred
    asking = directed(given.queries, covariance, contrast)
    equal = np.full(len(asking), 1.0 / len(asking))
    start, middle = _start(given.queries, n_bits, random)
    codes, stored = (signs((rows - middle) @ start.T) for rows in (given.queries, given.items))
    errors = [_error((codes, asking, equal), (stored, centred, given.shares))]
    for turn in range(1, max_iter + 1):
        checkpoint()
        before = codes, stored
        stored = signs(_seen(codes, asking, equal).scores(centred, stored))
        codes = signs(_seen(stored, centred, given.shares).scores(asking, codes))
        errors.append(_error((codes, asking, equal), (stored, centred, given.shares)))
        report(turn)
        if all(map(np.array_equal, before, (codes, stored))):
            break
    found = _seen(stored, centred, given.shares), _seen(codes, asking, equal)
    return ProductCodes(*found, mean, covariance, contrast), errors


def directed(rows: Rows, covariance: Matrix, contrast: float) -> Rows:
    """Return u(q) of (n, D) queries; zeros for those that tell no items apart."""
    spread = np.sqrt(np.maximum(((rows @ covariance) * rows).sum(axis=1, keepdims=True), 0.0))
    found: Rows = np.divide(contrast * rows, spread, out=np.zeros_like(rows), where=spread > _TINY)
    return found


def signs(rows: Rows) -> Rows:
    """Return 1.0 where rows are positive, else -1.0."""
    return np.where(rows > 0, 1.0, -1.0)


def _seen(codes: Rows, rows: Rows, shares: NDArray[np.float64]) -> CodeFunction:
    """Return what makes the codes of the one side, given (n, B) codes of the other and the (n, D) rows of these."""
    weighted = codes * shares[:, None]
    products = weighted.T @ codes / codes.shape[1]
    np.fill_diagonal(products, 0.0)
    return CodeFunction(products, weighted.T @ rows)


def _error(one: _Side, other: _Side) -> float:
    """Return the mean of (h . g / B - u . p)^2 over the pairs, in units of that of (u . p)^2, without a pair's matrix.

    Each side has its (n, B) codes, (n, D) rows, and (n,) how much each counts.
    """
    (codes, rows, shares), (others, other_rows, other_shares) = one, other

    def moments(first: Rows, second: Rows, shares: NDArray[np.float64]) -> Matrix:
        return np.asarray((first * shares[:, None]).T @ second)

    made = np.vdot(moments(codes, codes, shares), moments(others, others, other_shares)) / codes.shape[1] ** 2
    both = np.vdot(moments(codes, rows, shares), moments(others, other_rows, other_shares)) / codes.shape[1]
    wanted = np.vdot(moments(rows, rows, shares), moments(other_rows, other_rows, other_shares))
    return float((made - 2.0 * both + wanted) / max(wanted, _TINY))


def _start(rows: Rows, n_bits: int, random: np.random.RandomState) -> tuple[Matrix, NDArray[np.float64]]:
    """Return (B, D) directions and the (D,) middle of (n, D) rows: about it, the rows are near their signs there."""
    middle = rows.mean(axis=0)
    lengths = np.linalg.norm(rows - middle, axis=1, keepdims=True)
    unit = (rows - middle) / np.where(lengths > 0, lengths, 1.0)
    components, _ = principal_components(unit, min(n_bits, *unit.shape))
    padded = np.zeros((len(unit), n_bits))
    padded[:, : len(components)] = unit @ components.T
    return np.asarray(rotation(padded, random)[: len(components)].T @ components), middle
