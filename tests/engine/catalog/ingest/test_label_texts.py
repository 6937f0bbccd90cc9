"""Texts that are the words of labels: which words, which texts they replace, and how they follow the labels."""

import random

import pytest
from drawn import draw, encode
from hypothesis import given
from hypothesis import strategies as st

from crossview.engine.catalog.ingest import indexing
from crossview.engine.catalog.ingest.label_texts import words_of_labels
from crossview.engine.collections.home import Home
from crossview.engine.values.item import IndexOptions, ItemUpdate, NewItem

LABELS = st.text("ab1_- .é", min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (("3_buses",), "buses"),
        (("4-old_sea--views",), "old sea views"),
        (("2024-05-01_holiday",), "holiday"),
        (("3. buses",), "buses"),
        (("route_66",), "route 66"),
        (("18th_century",), "18th century"),
        (("3.5 mm",), "3.5 mm"),
        (("1999",), "1999"),
        (("2024-05-01",), "2024 05 01"),
        (("boats", "3_boats", "__", "a_b"), "boats, a b"),
        ((), ""),
    ],
)
def test_the_words_of_labels_are_those_that_a_person_would_say(labels, words):
    assert words_of_labels(labels) == words


@given(LABELS)
def test_the_words_of_a_label_are_their_own_words_and_have_single_spaces(label):
    words = words_of_labels([label])
    assert words_of_labels([words]) == words
    assert words == " ".join(words.split())
    assert not {"_", "-"} & set(words)


@given(st.lists(LABELS, max_size=4))
def test_the_words_do_not_depend_on_the_order_of_labels(labels):
    assert words_of_labels(labels) == words_of_labels(reversed(labels))


def expected(text: str, own: bool, labels: tuple[str, ...]) -> tuple[str, bool]:
    """Return the text of an item whose text shall be the words of its labels, and whether it is that."""
    words = words_of_labels(labels)
    return (text, False) if own else (words, bool(words))


def test_a_text_of_a_person_stays_and_every_other_text_follows_the_labels(vectors_only):
    """A random history of labels, texts and calls for words fulfils the rule after each step."""
    chance, key = random.Random(0), "item/0001"
    with vectors_only(2) as made:
        stored = made.items.get(key)
        labels, text, own = stored.labels, stored.text, bool(stored.text)
        for _ in range(60):
            new_labels = chance.choice([None, (), ("3_cats",), ("dogs", "big_ones")])
            new_text = chance.choice([None, None, None, "", "mine"])
            wanted = chance.random() < 0.5
            update = ItemUpdate(key, labels=new_labels, text=new_text, text_from_labels=wanted)
            made.items.update([update]) if chance.random() < 0.7 else made.items.put([NewItem(**vars_of(update))])
            labels = labels if new_labels is None else tuple(sorted(new_labels))
            if new_text is not None:
                text, own = new_text, bool(new_text)
            if wanted:
                text, made_of_labels = expected(text, own, labels)
                own = bool(text) and not made_of_labels
            after = made.items.get(key)
            assert (after.labels, after.text, after.text_from_labels) == (labels, text, bool(text) and not own)


def vars_of(update: ItemUpdate) -> dict[str, object]:
    return {name: value for name, value in vars(update).items() if name != "removed_attributes"}


def test_a_folders_name_gives_no_word_to_an_item_whose_labels_a_person_chose(vectors_only):
    with vectors_only(2) as made:
        made.items.update([ItemUpdate("item/0001", labels=("chosen",))])
        made.items.update([ItemUpdate("item/0001", labels=("folder",), labels_given=False, text_from_labels=True)])
        assert made.items.get("item/0001").text == "chosen"


def test_a_copy_still_knows_which_texts_are_words_of_labels(home: Home, vectors_only, tmp_path):
    with vectors_only(2) as made:
        made.items.annotate("labels", "caption")
        before = made.items()
    assert all(one.text_from_labels for one in before)
    home.backup("rows", tmp_path / "rows.db")
    with home.restore("again", tmp_path / "rows.db") as again:
        assert again.items() == before
        assert again.items.annotate("labels", "caption").unchanged == 2


def test_a_text_given_during_the_extraction_of_a_picture_stays(collection, pictures, monkeypatch):
    """Another process describes an item while this one reads its changed picture."""
    key = "pictures/red/0.png"
    (pictures / "red/0.png").write_bytes(encode(draw("green", 7)))
    settled = indexing.with_texts

    def describe(tx, entries):
        found = settled(tx, entries)
        collection.items.update([ItemUpdate(key, text="a person's")])
        return found

    monkeypatch.setattr(indexing, "with_texts", describe)
    collection.index([pictures], IndexOptions(labels="folder", captions="labels", workers=1))
    assert collection.items.get(key).text == "a person's"
    assert collection.items.get("pictures/red/1.png").text == "red"
