"""Learners are listed and explained, and impossible settings are refused by name, here and through a server."""

import re

import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.learners.registry import LEARNERS

OURS = [name for name, learner in LEARNERS.items() if learner.__module__.startswith("crossview.engine.")]
"""The learners of the product; benchmarks add some."""


def test_learners_are_listed() -> None:
    """The list has all of them, with their purpose, needs and results."""
    output = done("learners")
    for name in OURS:
        assert re.search(rf"^{re.escape(name)}(?: \(stage\))?\t", output, re.M)
    assert "labels or comparisons" in output
    assert {one["name"] for one in result_of("learners")} == set(OURS)


@pytest.mark.parametrize("name", OURS)
def test_a_learner_is_explained(name: str) -> None:
    """The output has every setting."""
    output = done("learners", name)
    settings = {one["name"] for one in result_of("learners", name)["settings"]}
    assert settings == set(LEARNERS[name]().settings()) - {"view_slices"}
    assert all(setting in output for setting in settings)


def test_an_unknown_learner_is_an_error() -> None:
    """The error has those that exist."""
    result = run("learners", "pac")
    assert (result.exit_code, "there is no learner 'pac'; there are: " in result.stderr) == (1, True)


def test_the_version_is_printed() -> None:
    """The command does nothing else."""
    assert done("--version").startswith("crossview ")


@pytest.fixture(params=BACKENDS, scope="module")
def where(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    home = Home(tmp_path_factory.mktemp("home"))
    fill_rows(home, 6)
    with reached(home, request.param) as options:
        yield options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "eta=abc"], "eta must be a number, not 'abc'"),
        (["--set", "eta=NaN"], "eta"),
        (["--set", 'eta={"a": 1}'], "eta must be a number, not {'a': 1"),
        (["--set", "eta=[1]"], "eta must be a number, not [1"),
        (["--set", "max_iter=true"], "max_iter must be a whole number, not True"),
        (["--set", "penalty=l3"], "penalty must be one of l2, l1, not 'l3'"),
        (["--set", "frozen=smell"], "frozen='smell' is not one of the views color, gist"),
        (["--learner", "kernel,cca", "--set", "kernel__bandwidth=0"], "kernel__bandwidth must be a number above 0"),
        (["--try", "eta=abc,1"], "eta must be a number, not 'abc'"),
        (["--try", "kernel__bandwidth=wide"], "kernel__bandwidth must be a number, not 'wide'"),
        (
            ["--learner", "sqrt,cca", "--dim", "65"],
            "dim 65 is more than the 12 dimensions that cca can have",
        ),
        (["--dim", "1000000"], "dim must be a whole number from 1 to 65,536, not 1000000"),
        (["--learner", "cca", "--views", "color"], "cca learns from at least 2 views; you named 1 (color)"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(where: list[str], options: list[str], words: str) -> None:
    """The exit code is 1 and the message has the setting, by command and by server; no space is made."""
    learner = [] if "--learner" in options else ["--learner", "multi-npp"]
    views = [] if "--views" in options else ["--views", "color,gist"]
    result = run("tune" if "--try" in options else "train", "rows", *views, *learner, *options, *where)
    assert (result.exit_code, words in result.stderr) == (1, True), result.output
    assert [one["name"] for one in result_of("show", "rows", *where)["spaces"]] == ["raw"]
