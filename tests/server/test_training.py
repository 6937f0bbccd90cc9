"""Training from the command line and over gRPC: tuning, pairs, views that are added later."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from terminal import BACKENDS, done, fill_rows, reached, result_of, run

from crossview.engine.collections.home import Home
from crossview.engine.training import trainer
from crossview.engine.values.errors import NotEnoughMemoryError
from crossview.server.wire.status import Code, status_of

GROUPS = ("cat", "dog")


@pytest.fixture(params=BACKENDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that choose the backend of a home with the collection ``rows``: two groups with colours and gist."""
    home = Home(tmp_path / "home")
    fill_rows(home, 10)
    with reached(home, request.param) as options:
        yield options


def test_tuning_is_told_and_remembered(where: list[str]) -> None:
    """A sentence states the choice, and the JSON all candidates."""
    tune = ("tune", "rows", "--learner", "cca", "--views", "color,gist", "--dim", 2)
    values = ("--try", "kernel=none,chi2", "--try", "power=[0, 1]", "--try", "shrinkage=auto,0.5", "--folds", 2)
    output = done(*tune, *values, "--measure", "accuracy", *where)
    assert "tuned to kernel=" in output
    assert " among unseen items, the best of 4 candidates by 2-fold cross-validation on 20 items" in output
    assert "cca: tuned to kernel=" in done("show", "rows", *where)
    (space,) = [one for one in result_of("show", "rows", *where)["spaces"] if one["name"] == "cca"]
    tried = [trial["settings"] for trial in space["tuning"]["tried"]]
    assert tried[0] == {"kernel": "none", "shrinkage": "auto", "power": 0}
    assert [settings["shrinkage"] for settings in tried].count(0.5) >= 1
    assert (space["tuning"]["measure"], space["settings"]["n_components"]) == ("accuracy", 2)


def test_a_training_that_does_not_fit_into_memory_names_one_that_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does so before the training reads a row; an estimate comes first, and --json has it."""
    home = Home(tmp_path / "home")
    fill_rows(home, 60)
    train = ("train", "rows", "--views", "color", "--learner", "posteriors:linear,dot", "--home", home.path)
    assert run(*train).stderr == "training: learns from 120 items, in less than a minute, with about 1 MiB of memory\n"
    estimate = result_of(*train)["cost"]
    assert (estimate["items"], estimate["sample"]) == (120, 120)
    monkeypatch.setattr(trainer, "available_memory", lambda: estimate["memory"] - 1)
    refused = run(*train)
    assert refused.exit_code == 1
    assert "training needs about 1 MiB of memory, to learn from 120 items, and 1 MiB are" in refused.stderr
    hint = refused.stderr.rstrip().rpartition("learn from fewer, with ")[2]
    assert hint == "--sample 100"
    assert "on 100 of 120 items" in done(*train, *hint.split())
    assert status_of(NotEnoughMemoryError("")) is Code.RESOURCE_EXHAUSTED


def test_a_sample_is_learned_from(tmp_path: Path) -> None:
    """Train and show print its size; the others are placed, and are queries, of which a sample is drawn."""
    home = Home(tmp_path / "home")
    fill_rows(home, 80)
    with reached(home, "local") as where:
        train = ("train", "rows", "--learner", "cca", "--views", "color,gist", "--dim", 2)
        output = done(*train, "--sample", 100, *where)
        assert "cca on 100 of 160 items, from color, gist" in output
        assert "color (2), gist (2)" in output
        assert "cca: learned from a sample of 100 of 160 items" in done("show", "rows", *where)
        assert result_of("show", "rows", *where)["spaces"][0]["cost"]["sample"] == 100
        measured = done("evaluate", "rows", "--view", "color", "--sample", 20, *where)
        assert "20 of 60 held-out items, drawn at random, are the query set" in measured
        assert "means \u00b1 standard errors" in measured
        done(*train, *where)
        assert "learned from a sample" not in done("show", "rows", *where)
        assert "sample must be a whole number from 100" in run(*train, "--sample", 5, *where).stderr


def test_pairs_come_from_a_file(where: list[str], tmp_path: Path) -> None:
    """Those with an unknown key are left out, with a warning; if none is left, the error names the line."""
    file = tmp_path / "pairs.csv"
    lines = [f"{group}/{i},{group}/{j}" for group in GROUPS for i in range(10) for j in range(i)]
    file.write_text("\n".join(lines))
    train = ("train", "rows", "--learner", "multi-npp", "--views", "color,gist", "--dim", 2, "--pairs", file)
    assert result_of(*train, *where)["pairs"] == 90
    assert "learned from 90 pairs" in done("show", "rows", *where)
    file.write_text("\n".join([*lines, "cat/2,owl/1"]))
    note = "1 of 91 pairs left out: there is no item 'owl/1'"
    estimate = "training: learns from 20 items, in less than a minute, with about 17 MiB of memory"
    assert run(*train, *where).stderr == f"{estimate}\nwarning: {note}\n"
    assert result_of("show", "rows", *where)["spaces"][0]["notes"] == [note]
    file.write_text("cat/2,owl/1\n")
    result = run(*train, *where)
    assert (result.exit_code, result.stderr) == (1, "error: pairs, line 1: there is no item 'owl/1'\n")
    file.write_text("cat/0\n")
    assert "line 1: expected key_a,key_b" in run(*train, *where).stderr


def test_a_view_is_added_later(where: list[str]) -> None:
    """The command names only the space and the new view."""
    done("train", "rows", "--learner", "semantic", "--views", "color", "--space", "shared", *where)
    output = done("space", "extend", "rows", "shared", "--views", "gist", *where)
    assert "trained shared generation 2: semantic on 20 items" in output
    assert "color (2), gist (2)" in output
    assert "shared: gist added later" in done("show", "rows", *where)
    assert "already has view 'gist'" in run("space", "extend", "rows", "shared", "--views", "gist", *where).stderr
    assert "no space 'other'" in run("space", "extend", "rows", "other", "--views", "gist", *where).stderr


def test_a_default_name_does_not_replace_another_pipeline(where: list[str]) -> None:
    """The message names both pipelines. A stated name replaces the space, and tuning keeps the pipeline."""
    train = ("train", "rows", "--views", "color,gist", "--learner")
    done(*train, "posteriors:linear,dot", *where)
    refused = run(*train, "instances:2,dot", *where)
    assert refused.exit_code == 1
    assert "has the pipeline posteriors:linear,dot, which instances:2,dot would replace" in refused.stderr
    assert refused.stderr.rstrip().endswith("--space dot")
    assert "dot generation 2" in done(*train, "posteriors:linear,dot", *where)
    assert "dot generation 3: instances" in done(*train, "instances:2,dot", "--space", "dot", *where)
    tune = ("tune", "rows", "--views", "color,gist", "--learner", "cca", "--dim", 2, "--try", "kernel=chi2", *where)
    done(*tune)
    assert "cca generation 2: kernel:chi2,cca" in done(*tune)


def test_a_learner_need_not_be_named(where: list[str]) -> None:
    """The default learns a space that is searched across views."""
    output = done("train", "rows", "--views", "color,gist", *where)
    assert "trained default generation 1: class-instance,dot on 20 items" in output
    assert "across views" in output


def without_estimate(stderr: str) -> str:
    """Return the lines besides the estimate, which a server sends as progress."""
    return "".join(line for line in stderr.splitlines(True) if not line.startswith("training: learns from "))


def test_views_need_not_be_named_and_the_answering_space_is(where: list[str]) -> None:
    """All views that items have; a second space answers only with --activate."""
    done("view", "add", "rows", "sift", *where)
    first = run("train", "rows", "--learner", "cca", *where)
    assert without_estimate(first.stderr) == "warning: view 'sift' is left out: no item has it\n"
    assert "trained cca generation 1: cca on 20 items, from color, gist\n" in first.stdout
    assert first.stdout.endswith("; searches without --space use it\n")
    other = ("train", "rows", "--learner", "pca", "--space", "other", "--views", "color", *where)
    switch = shlex.join(["crossview", "space", "activate", "rows", "other", *where])
    assert done(*other).endswith(f"; searches without --space use cca; make them use it with: {switch}\n")
    assert done(*other, "--activate").endswith("; searches without --space use it\n")
    done("space", "activate", "rows", "raw", *where)
    assert "searches without --space use raw; " in done(*other)
    made = result_of(*other)
    assert (made["active"], made["active_space"], made["views"]) == (False, "raw", ["color"])


def test_labels_are_reported_and_left_out(where: list[str]) -> None:
    """The table has the recall of each label, the warning the remedy, which works as it stands."""
    train = ("train", "rows", "--learner", "cca", "--holdout", 0.4, *where)
    printed = run(*train).stdout
    assert "labels, by a vote of the 10 nearest training items for 8 items that the space was not trained on" in printed
    assert printed.index("recall") < printed.index("cat") < printed.index("dog")
    done("annotate", "rows", "cat/0", "--label", "2021-05", *where)
    warning = run("train", "rows", "--learner", "cca", *where).stderr
    assert "2021-05 (only 1 training item, a date); train without them: --ignore-labels 2021-05\n" in warning
    again = run(*train, "--ignore-labels", "2021-05")
    assert without_estimate(again.stderr) == ""
    assert result_of("show", "rows", *where)["spaces"][0]["ignored_labels"] == ["2021-05"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["train", "rows", "--learner", "cca", "--try", "power=1,2"], "No such option: --try"),
        (["space", "extend", "rows", "cca", "--learner", "cca"], "No such option: --learner"),
        (["tune", "rows", "--learner", "cca", "--try", "power"], "takes key=value"),
        (["tune", "rows", "--learner", "cca", "--measure", "luck"], "map or accuracy"),
        (["tune", "rows", "--learner", "cca", "--folds", "1"], "--folds"),
    ],
)
def test_options_that_cannot_be_meant_together(options: list[str], words: str) -> None:
    """The exit code is 2, and the message has the remedy."""
    result = run(*options, "--views", "color")
    assert result.exit_code == 2
    assert words in result.output
