"""Pages of the benchmarks consist of sections, headlines and points of plots."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.frame.charts import Plot, Series
from benchmarks.frame.headlines import stated
from benchmarks.frame.plots import digest_in, draw
from benchmarks.pages.writing import deeper, shortened

REPORT = (
    "# All\n\nabout\n\n## One\n\n1\n\n### Inner\n\n2\n\n## Two\n\n3\n\n## Last\n\n4\n\n`python -m benchmarks`, 1 s.\n"
)
ROWS = [
    {"method": "ours", "metric": "map", "items": items, "view": view, "value": value, "std": 0.2}
    for items, view, value in ((100, "a", 0.25), (10, "a", 0.5), (10, "b", 1.0))
]
DOCUMENT = {"settings": {"seeds": [0, 1, 2, 3]}, "rows": [*ROWS, {"method": "ours", "metric": "s", "value": 3.0}]}


def test_a_folded_section_is_closed_before_the_next():
    """Its heading is the line to click; headings inside become bold, and the other sections stay."""
    text = shortened(REPORT, ["One", "Last"], [], "here.json")
    assert "<details>\n<summary>One</summary>\n\n1\n\n**Inner**\n\n2\n\n</details>\n\n## Two\n\n3\n\n" in text
    assert text.endswith("<summary>Last</summary>\n\n4\n\n</details>\n\n`python -m benchmarks`, 1 s.\n")


def test_a_section_that_is_left_out_is_named_with_its_place():
    """The last paragraph, which is about the run, stays the last one."""
    text = shortened(REPORT, ["Last"], ["One", "Two"], "here.json")
    assert "1\n" not in text.split("`here.json`")[0]
    assert text.endswith(
        "4\n\n</details>\n\nThe file `here.json` contains further figures: One; Two.\n\n`python -m benchmarks`, 1 s.\n"
    )


@given(st.lists(st.sampled_from(("One", "Inner", "Two", "Last", "Absent"))))
def test_folding_loses_nothing(headings):
    """For any headings, each paragraph is there once, in its order, and each fold is closed."""
    text = shortened(REPORT, headings, [], "here.json")
    assert re.findall(r"^\d$", text, re.M) == ["1", "2", "3", "4"]
    assert text.count("<details>") == text.count("</details>")
    assert shortened(REPORT, [], ["Absent"], "here.json") == REPORT


def test_headings_become_deeper():
    """Each heading becomes one level deeper; a number sign elsewhere stays."""
    assert deeper("# A\n\nb # c\n\n## D\n") == "## A\n\nb # c\n\n### D\n"


def test_a_headline_has_the_means_of_its_rows():
    """They are multiplied by the factor; a run without one of the rows has no figure."""
    headline = stated("task", "{0:.1f} %", "{1:.0f} s", {"metric": "map", "items": 10}, {"metric": "s"}, factor=100)
    assert headline(DOCUMENT) == ("task", "75.0 %", "300 s")
    assert headline({"rows": ROWS}) == ("task", "not measured", "")


def plot(**options):
    return Plot("name", "alt", "here", {"metric": "map"}, ("x", "y"), **options)


def test_points_are_means_and_single_rows_have_errors():
    """Rows of one place are averaged; the standard error is the deviation over the root of the number of trials."""
    chart = plot(x="items", factor=10).chart({"here": DOCUMENT})
    assert (chart.kind, chart.series) == ("lines", (Series("ours", (10, 100), (7.5, 2.5), (0.0, 1.0)),))


def test_places_that_are_names_make_dots():
    """They stay in the order of the rows; published figures are a series of their own."""
    chart = plot(x="view").chart({"here": DOCUMENT})
    assert chart.kind == "dots"
    assert chart.series[0].x == ("a", "b")
    beside = plot(published={"ours": 0.5, "theirs": 0.75}).chart({"here": DOCUMENT})
    assert [series.name for series in beside.series] == ["crossview", "published"]
    assert beside.series[1].x == ("ours", "theirs")


def test_two_metrics_make_points():
    """Each series has one point: the further metric is across, the first one up."""
    rows = [{"method": name, "metric": metric, "value": 1.0} for name in "ab" for metric in ("map", "recall")]
    chart = plot(x_metric="recall").chart({"here": {"settings": {}, "rows": rows}})
    assert chart.series == (Series("a", (1.0,), (1.0,)), Series("b", (1.0,), (1.0,)))


def test_a_plot_of_nothing_is_an_error():
    """The message names the result, the plot and its arguments."""
    with pytest.raises(ValueError, match=r"here.json has no row for the plot name: see `where` and `keep`"):
        plot(keep={"theirs": "theirs"}).chart({"here": DOCUMENT})


@pytest.mark.parametrize("options", [{"x": "items", "log": "xy"}, {"x": "view"}, {"published": {"ours": 1.0}}])
def test_a_drawing_contains_the_digest_of_its_chart(tmp_path, options):
    """This holds for each kind of chart; the digest differs if a value does."""
    chart = plot(**options).chart({"here": DOCUMENT})
    draw(tmp_path / "plot.svg", chart)
    assert digest_in(tmp_path / "plot.svg") == chart.digest()
    other = plot(**options, factor=2).chart({"here": DOCUMENT})
    assert other.digest() != chart.digest()
    assert digest_in(tmp_path / "absent.svg") is None
