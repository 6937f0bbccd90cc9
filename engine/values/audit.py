"""The request for an audit, and its findings, as values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from crossview.engine.values.numbers import check_count

Kind = Literal[
    "held_out_copies",
    "doubtful_labels",
    "outliers",
    "unclear_labels",
    "missing_files",
    "unreadable_files",
    "outdated_rows",
    "lacking_rows",
    "equal_rows",
    "remote_rows",
    "outdated_space",
    "newer_items",
    "drift",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The kinds of findings, in the order of a report."""


@dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """A request for an audit."""

    space: str = ""
    """The space whose training and evaluation the audit checks [default: "", the active space]."""
    limit: int = 5
    """Maximum number of keys that a finding names."""
    files: bool = True
    """Whether to open the source files of the items. A server never does."""

    def check(self) -> None:
        """Raise InvalidInputError for a limit below 1."""
        check_count("limit", self.limit)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One kind of fault, and the items that have it."""

    kind: Kind
    count: int
    """Number of items, or of labels for ``unclear_labels``."""
    sentence: str
    """The fault, and its consequences."""
    keys: Sequence[str] = ()
    """Keys of some of the items, the worst first."""
    details: Sequence[str] = ()
    """For each key what is wrong with it: the copy, the label that the nearest items suggest, or the reason."""
    values: Sequence[str] = ()
    """Values for the remedy: for each key the suggested label, the unclear labels, or the folders to index again."""
    view: str = ""
    """The view concerned; "" if the finding is about none."""


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The findings of an audit, in the order of ``KINDS``."""

    collection: str
    space: str
    spec: str
    """The learner of the space; "" for ``raw``."""
    items: int
    findings: Sequence[Finding]
    notes: Sequence[str] = ()
    """Sentences about what the audit did not check, or only on a sample."""
