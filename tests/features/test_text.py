"""The text view knows words of any script; its rows have a meaning or do not exist, and are the same each time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from crossview.features.base import QueryWords
from crossview.features.errors import NotFittedError
from crossview.features.registry import extractor
from crossview.features.text import LONGEST_WORD, Text, is_stop_word, words_of

TEXTS = (
    "red flowers in the garden",
    "a crimson rose and red tulips",
    "red_flower, spring-garden",
    "blue sea under a blue sky",
    "the ocean, waves and sky",
    "sea waves at the beach",
    "Café am Meer",
    "",
) * 2
MODELS = ("tfidf", "lda")


def ready(model: str, **params: object) -> Text:
    return Text(**{"model": model, "dim": 5, **params}).fit(TEXTS, seed=3)  # type: ignore[arg-type]  # as a user may


VIEWS = {model: ready(model) for model in MODELS}


def test_words_are_lower_case_without_accents_and_tags_give_words():
    """Words have any script; underscores, hyphens and punctuation separate them; overlong runs are left out."""
    assert words_of("Red_flower, CAFÉ-bar! (2nd)") == ["red", "flower", "cafe", "bar", "2nd"]
    assert words_of("Straße ΝΑΌΣ Ёлка naïve") == ["strasse", "ναοσ", "елка", "naive"]
    assert words_of("ﬁsh ＡＢＣ 한국어 日本") == ["fish", "abc", "한국어", "日本"]
    assert words_of("a" * LONGEST_WORD + " " + "b" * (LONGEST_WORD + 1)) == ["a" * LONGEST_WORD]
    assert words_of(" \t\n_-?!") == []


@given(st.text(max_size=60))
def test_words_of_words_are_the_same_words(text):
    """A second reading changes no word: the first has removed upper case, accents and decomposed letters."""
    words = words_of(text)
    assert words_of(" ".join(words)) == words
    assert all(0 < len(word) <= LONGEST_WORD and " " not in word for word in words)


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["red", "sky", "FLOWERS", "zebra", "the", "sea", "\u0301", "", "7"]), max_size=8))
def test_a_row_has_unit_length_or_is_none(model, words):
    """A text without a known word has no row; no row consists of zeros."""
    text = " ".join(words)
    row = VIEWS[model].row(text)
    known = {"red", "sky", "flowers", "the", "sea"} & set(words_of(text))
    assert (row is not None) == bool(known)
    if row is not None:
        assert (row.shape, row.dtype) == ((5,), np.float32)
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_equal_texts_and_seeds_give_equal_rows_also_after_storing(model):
    """Fitting again, and storing the state, which is arrays without objects, change nothing."""
    view = VIEWS[model]
    state = view.to_state()
    assert not any(array.dtype.hasobject for array in state.values())
    copy = extractor("text", view.params()).load_state(state)
    assert copy.fitted
    assert copy.dim == 5
    for text in (*TEXTS[:6], "sea of red", "RÉD"):
        row = view.row(text)
        np.testing.assert_array_equal(ready(model).row(text), row)
        np.testing.assert_array_equal(copy.row(text), row)


@pytest.mark.parametrize("model", MODELS)
def test_texts_of_one_matter_are_near(model):
    """Texts without a common word are near if other texts connect their words."""
    rng = np.random.default_rng(0)
    matters = (["red", "rose", "garden", "tulip", "petal", "flower"], ["sea", "tide", "wave", "beach", "surf", "ocean"])
    texts = [" ".join(rng.choice(matters[number % 2], 3, replace=False)) for number in range(80)]
    view = Text(model=model, dim=2).fit(texts, seed=1)
    rose, tulip, surf = (view.row(text) for text in ("rose garden", "tulip petal", "surf beach"))
    assert np.linalg.norm(rose - tulip) < 0.5 * np.linalg.norm(rose - surf)


def test_tfidf_is_scikit_learn_s_latent_semantic_analysis():
    """Rows are equal up to unit length, and zeros fill them if the texts have fewer directions than requested."""
    vectorizer = TfidfVectorizer(analyzer=words_of, sublinear_tf=True)
    weighted = vectorizer.fit_transform([text for text in TEXTS if text])
    svd = TruncatedSVD(5, random_state=3).fit(weighted)
    expected = svd.transform(vectorizer.transform(["red red sky garden"]))[0]
    np.testing.assert_allclose(VIEWS["tfidf"].row("red red sky garden"), expected / np.linalg.norm(expected), atol=1e-5)
    wide = ready("tfidf", dim=100)
    row = wide.row("red sky")
    assert wide.dim == row.size == 100
    assert not row[len(set(TEXTS)) :].any()
    assert row[:7].any()


def test_lda_is_scikit_learn_s():
    """Rows are its shares of topics, as square roots."""
    vectorizer = CountVectorizer(analyzer=words_of)
    counts = vectorizer.fit_transform([text for text in TEXTS if text])
    lda = LatentDirichletAllocation(5, max_iter=20, random_state=3).fit(counts)
    for text in ("red red sky garden", "the ocean"):
        shares = lda.transform(vectorizer.transform([text]))[0]
        np.testing.assert_allclose(VIEWS["lda"].row(text) ** 2, shares, atol=1e-4)


def test_stop_words_and_rare_words_are_left_out_when_asked():
    """They are left out only in fitting; the vocabulary keeps the most frequent words."""
    assert ready("tfidf").row("the") is not None
    assert ready("tfidf", stop_words="english").row("the") is None
    assert "rose" not in ready("tfidf", words=3, stop_words="english").to_state()["vocabulary"]
    assert "red" in ready("tfidf", words=3, stop_words="english").to_state()["vocabulary"]


def test_words_of_a_query_are_known_or_unknown_and_no_stop_words():
    """They are in order, each once; the row of a query is that of its words without stop words."""
    view = VIEWS["tfidf"]
    assert view.words_of_query("The red, RED dog at l'océan") == QueryWords(("red", "ocean"), ("dog",))
    assert view.words_of_query("in the") == QueryWords((), ())
    assert view.query_text("A red dog in the red garden") == "red dog red garden"
    assert {"red", "sea", "sky"} <= set(view.frequent_words())
    assert "the" not in VIEWS["lda"].frequent_words()
    assert Text().frequent_words() == ()


def test_stop_words_of_one_language_are_no_words_of_things_in_another():
    """A query of a hat finds hats, although the word is a verb in German."""
    assert all(map(is_stop_word, ("the", "und", "ou", "para", "della", "dans", "een", "l")))
    assert not any(map(is_stop_word, ("hat", "die", "sea", "sin", "son", "van", "man", "fur", "7", "東")))


def test_a_word_that_the_directions_miss_gives_no_row():
    """One direction cannot hold two subjects that share no word: the other subject's row is missing, not zero."""
    view = Text(dim=1).fit(["red flower"] * 9 + ["blue sea"])
    assert view.row("red") is not None
    assert view.row("sea") is None


@pytest.mark.parametrize("texts", [[], ["", "?!"], ["red sky"], ["red", "red"]])
def test_too_few_texts_are_refused(texts):
    """The message states what is needed."""
    with pytest.raises(ValueError, match="at least 2 texts"):
        Text().fit(texts)


@pytest.mark.parametrize(
    "params",
    [
        {"model": "bert"},
        {"stop_words": "klingon"},
        {"dim": 0},
        {"dim": 2.5},
        {"dim": True},
        {"words": 1},
        {"dim": 5000},
    ],
)
def test_parameters_that_cannot_be_are_refused(params):
    """The message names the parameter."""
    with pytest.raises(ValueError, match=f"text: {next(iter(params))} must be"):
        extractor("text", params)


def test_a_state_of_something_else_is_refused():
    """The state of another model or dimension and half a state are refused; an unfitted view states so."""
    for state in (VIEWS["lda"].to_state(), ready("tfidf", dim=4).to_state(), {"vocabulary": np.array(["a"])}):
        with pytest.raises(ValueError, match="the state must contain"):
            Text(dim=5).load_state(state)
    with pytest.raises(NotFittedError):
        Text().row("red")
