"""Each claim that compares by a figure leads to the page of the figures."""

from pathlib import Path

import pytest
from blocks import DOCUMENTS, ROOT
from claims import stale, unsupported

PAGES = tuple(page for page in DOCUMENTS if page != "CONTRIBUTING.md")
"""The documents for users."""


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
        ("| faster | [here](../benchmarks/capacity.md) |\n| slower | no |", ["slower"]),
    ],
)
def test_claims_are_found(text: str, found: list[str]) -> None:
    assert [words for _, words in unsupported(text)] == found


@pytest.mark.parametrize("page", DOCUMENTS)
def test_figures_stand_on_the_linked_page(page: str) -> None:
    """A figure beside a link to a page of benchmarks is on it or in its CSV files, so that no old figure stays."""
    path = ROOT / page
    assert stale(path.read_text(encoding="utf-8"), path.parent) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It takes 0.73 ms ([page](benchmarks/a.md)).", []),
        ("It takes .74 ms ([page](benchmarks/a.md#x)).", [".74"]),
        ("It takes 12.5 ms ([page](benchmarks/a.md)).", []),
        ("It takes 12.6 ms ([page](benchmarks/a.md)).", ["12.6"]),
        ("| 98.5 % | 56,002 | [page](benchmarks/a.md) |", []),
        ("| 97 % | 56,003 | [page](benchmarks/a.md) |", ["97", "56,003"]),
        ("It takes .74 ms ([pages](benchmarks/index.md)), in `0.75` of 3 cases.", []),
    ],
)
def test_stale_figures_are_found(text: str, found: list[str], tmp_path: Path) -> None:
    tables = tmp_path / "benchmarks" / "tables" / "a"
    tables.mkdir(parents=True)
    (tables / "all.csv").write_text("method,ms\nours,12.5 ± 0.1\n", encoding="utf-8")
    (tmp_path / "benchmarks" / "a.md").write_text("| 0.730 | 0.985 | 56,002 (1) |", encoding="utf-8")
    (tmp_path / "benchmarks" / "data.md").write_text("", encoding="utf-8")
    assert [number for _, number in stale(text, tmp_path)] == found
