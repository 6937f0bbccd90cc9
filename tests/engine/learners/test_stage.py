"""The language of pipelines is read in one place, and written as it is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.learners.frame.stage import Stage, format_stages, parse_stages

names = st.text("abcxyz019-._", min_size=1, max_size=6)
stages = st.lists(
    st.builds(Stage, names, st.none() | names, st.none() | st.lists(names, min_size=1, max_size=3).map(tuple)),
    min_size=1,
    max_size=4,
).map(tuple)


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ("sqrt", Stage("sqrt")),
        (" multi-npp:50 ", Stage("multi-npp", "50")),
        ("kernel:rbf@sift+gist", Stage("kernel", "rbf", ("sift", "gist"))),
        ("l1@0", Stage("l1", None, ("0",))),
        ("pca:", Stage("pca", "")),
        ("", Stage("")),
    ],
)
def test_a_stage_is_a_name_an_argument_and_views(text, stage):
    """A colon precedes the argument, and an at sign the views; spaces around a stage do not count."""
    assert parse_stages(text) == (stage,)


@given(stages)
def test_what_is_written_is_read_again(pipeline):
    """Formatting and parsing undo each other."""
    assert parse_stages(format_stages(pipeline)) == pipeline
