"""Pages of the benchmarks consist of sections, headlines and points of plots."""

import csv
from io import StringIO

import pytest

from benchmarks.frame.charts import Plot, Series
from benchmarks.frame.headlines import stated
from benchmarks.frame.plots import digest_in, draw
from benchmarks.pages.report import Report, sheets

REPORT = """# All

about

| method | % | paper |
| --- | --- | --- |
| **ours** | 1.5 ± 0.5 | 2 |

## One

text

| size | ms | ratio | us | ratio |
| --- | --- | --- | --- | --- |
| 1 | 2 | 3 | 4 | 5 |

`--more`:

| method | % | paper |
| --- | --- | --- |
| ours |  | 3, or 4 |

### Inner

prose alone

`python -m benchmarks`, 1 s.
"""
ROWS = [
    {"method": "ours", "metric": "map", "items": items, "view": view, "value": value, "std": 0.2}
    for items, view, value in ((100, "a", 0.25), (10, "a", 0.5), (10, "b", 1.0))
]
DOCUMENT = {"settings": {"seeds": [0, 1, 2, 3]}, "rows": [*ROWS, {"method": "ours", "metric": "s", "value": 3.0}]}


def test_a_report_has_a_title_its_tables_and_its_run():
    """A paragraph that ends with a colon is a heading; a repeated column has the name of the one before it, too."""
    report = Report.of(REPORT)
    assert (report.title, report.about, report.run) == ("All", "about", "`python -m benchmarks`, 1 s.")
    assert [(part.name, part.text) for part in report.tables] == [("", ""), ("One", "text"), ("One: --more", "")]
    assert report.tables[1].columns == ("size", "ms", "ms, ratio", "us", "us, ratio")


def test_each_row_of_a_report_is_in_a_file():
    """Tables with the same columns are one file, with the run and the section of each row; bold marks are left out."""
    other = REPORT.replace("1.5", "2.5")
    first, second = sheets({"a": Report.of(REPORT), "b": Report.of(other)})
    assert list(csv.reader(StringIO(first.text()))) == [
        ["run", "section", "method", "%", "paper"],
        ["a", "", "ours", "1.5 ± 0.5", "2"],
        ["a", "One: --more", "ours", "", "3, or 4"],
        ["b", "", "ours", "2.5 ± 0.5", "2"],
        ["b", "One: --more", "ours", "", "3, or 4"],
    ]
    assert [(sheet.name, sheet.title) for sheet in (first, second)] == [
        ("a", "All, and 3 more"),
        ("one", "One, and 1 more"),
    ]
    assert second.columns[0] == "run"


def test_tables_that_a_file_cannot_tell_apart_are_an_error():
    twice = "| a |\n| --- |\n| 1 |\n\ntext\n\n| a |\n| --- |\n| 2 |"
    with pytest.raises(ValueError, match=r"All: two tables have the headings and columns"):
        Report.of(REPORT.replace("prose alone", twice))


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
