"""Each claim that compares by a figure leads to the page of the figures."""

import pytest
from blocks import DOCUMENTS, ROOT
from claims import unsupported

PAGES = tuple(page for page in DOCUMENTS if page not in ("CONTRIBUTING.md", "docs/scaling.md"))
"""The documents for users, except those that consist of figures."""


@pytest.mark.parametrize("page", PAGES)
def test_claims_have_a_source(page: str) -> None:
    """The paragraph, item or row has a link to the benchmarks, to stored results or to the decisions."""
    assert unsupported((ROOT / page).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is three times as fast.", ["three times as"]),
        ("It takes twice the\ntime.", ["twice the"]),
        ("It is three times as fast ([figures](benchmarks.md#speed)).", []),
        ("- one\n- 20 % more\n- [x](benchmarks/store.md)", ["20 % more"]),
        ("Repeat it three times.", []),
        ("```sh\nfaster\n```", []),
        ("| faster | [here](../scaling.md) |\n| slower | no |", ["slower"]),
    ],
)
def test_claims_are_found(text: str, found: list[str]) -> None:
    assert [words for _, words in unsupported(text)] == found
