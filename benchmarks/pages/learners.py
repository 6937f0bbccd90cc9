"""Pages of learners, and of what they learn from."""

from benchmarks.frame.benchmark import Document
from benchmarks.frame.charts import Plot
from benchmarks.frame.tables import Row
from benchmarks.pages.page import Group, Page
from benchmarks.pages.report import Excerpt

_LEARNERS = {
    "default": "default",
    "posteriors, dot": "posteriors",
    "instances": "instances",
    "multi-npp, dot": "Multi-NPP",
    "kernel cca": "kernel CCA",
    "hybrid": "hybrid",
    "cca": "CCA",
    "semantic": "semantic",
}
_METHODS = {
    "default": "default",
    "label spreading": "label spreading",
    "self-training": "self-training",
    "tuned kernel semantic": "kernel semantic, tuned",
    "tuned multi-npp": "Multi-NPP, tuned",
    "tuned kernel cca": "kernel CCA, tuned",
}
_LABELS = {
    "1 label a class": 1,
    "2 labels a class": 2,
    "5 labels a class": 5,
    "10 labels a class": 10,
}
_ASKED = {"active": "chosen questions", "random": "random questions"}


_SETS = "corel1k|merged20|osr8|wikipedia|pubfig|isolet|sports texts|orl faces|digits|emoji|merged10"
"""Headings of sets of data."""


def _by_labels(document: Document) -> list[Row]:
    """Return the rows of kinds with some labels a class, with their number."""
    return [{**row, "labels": _LABELS[row["kind"]]} for row in document["rows"] if row["kind"] in _LABELS]


LEARNERS = Group(
    "Learners and supervision",
    (
        Page(
            name="unseen",
            title="Which learner, and is the default a good choice?",
            question="Which learner finds items across views best, among items that it did not learn from?",
            results=("unseen",),
            plots=(
                Plot(
                    name="unseen",
                    alt="Each learner by how often a query finds its own item by another view, and by its mAP. "
                    "Learners of classes have a high mAP and lose the item; learners of instances the reverse; the "
                    "default has nearly the best mAP, and finds its own item more often than the learners of classes.",
                    result="unseen",
                    where={"database": "unseen", "metric": "map"},
                    x_metric="recall@10",
                    only=lambda row: "query_view" in row and row["query_view"] != row["database_view"],
                    keep=_LEARNERS,
                    titles=("own item among the first ten, share", "mAP"),
                ),
            ),
            note="A learner of classes places all items of a class at one point: its mAP is high, but it cannot tell "
            "the items of a class from each other. The default of crossview learns classes and single items.",
            excerpts=(
                Excerpt("unseen", "Over.*", "", ("default", "best rival", "its mean", "default is ahead")),
                Excerpt(
                    "unseen",
                    "All.*",
                    r"default|posteriors|instances|multi-npp, dot|^kernel cca|^kernel semantic",
                    ("method", "mAP", "own in first 10", "coverage"),
                ),
            ),
        ),
        Page(
            name="supervision",
            title="Few labels, wrong labels, pairs, or no labels",
            question="How good is the default if only some items have labels, some labels are wrong, or there are "
            "none?",
            results=("information",),
            plots=(
                Plot(
                    name="supervision",
                    alt="mAP by labels a class, nine sets: the default is above label spreading, self-training and "
                    "tuned rivals, most with one or two labels.",
                    result="information",
                    where={"sets": "report", "metric": "across"},
                    rows=_by_labels,
                    x="labels",
                    keep=_METHODS,
                    titles=("labels a class", "mAP among unseen items"),
                    log="x",
                ),
            ),
            note="Defaults were chosen on the development sets, and nothing on the report sets, whose earlier "
            "figures were known. Tuned rivals choose their settings by cross-validation on each set.",
            excerpts=(
                Excerpt(
                    "information",
                    "Report sets",
                    "^(1 label|2 labels|10 labels|all labels|20 %|1 pair|views|mean)",
                    ("known", "default", "best rival", "its mean", "default is ahead", "largest shortfall"),
                ),
            ),
        ),
        Page(
            name="pretrained-models",
            title="Learn over a pretrained model",
            question="What does learning add if the rows already come from a pretrained model?",
            results=("taught",),
            plots=(
                Plot(
                    name="pretrained-models",
                    alt="mAP of unseen photographs of corel1k within the model's view: learning from labels is far "
                    "above the model's own cosine, as good as a linear probe, and two labels a class gain a part of "
                    "it.",
                    result="taught",
                    where={
                        "data": "corel1k",
                        "database": "unseen",
                        "query_view": "lite0",
                        "database_view": "lite0",
                        "metric": "map",
                    },
                    titles=("mAP among unseen items", ""),
                ),
            ),
            note="The model is EfficientNet-Lite0, which learned from ImageNet. A linear probe is a logistic "
            "regression over its rows; *hand-made views* are colours, SIFT words and GIST.",
            excerpts=(
                Excerpt(
                    "taught",
                    "Differences to the raw.*",
                    r"default \|",
                    ("set", "mAP, unseen", "copies first, searches", "copies first, space alone", "coverage, unseen"),
                ),
                Excerpt(
                    "taught",
                    "Differences to the linear.*",
                    r"default \|",
                    ("set", "mAP, unseen", "copies first, space alone", "coverage, unseen"),
                ),
                Excerpt(
                    "taught",
                    "corel1k: within a view",
                    r"lite0.*",
                    ("learned", "mAP, unseen", "copies first, space alone"),
                ),
            ),
        ),
        Page(
            name="questions",
            title="Which questions to ask people",
            question="Do chosen questions teach a notion of similarity with fewer answers than random questions?",
            results=("joint-active", "music"),
            plots=(
                Plot(
                    name="questions",
                    alt="Error by the number of answers: chosen questions about uniform objects are a little better "
                    "than random ones at the end.",
                    result="joint-active",
                    where={"set": "uniform", "people err": 0.05, "metric": "error"},
                    x="questions",
                    keep=_ASKED,
                    factor=100,
                    titles=("answers", "error on new triplets, %"),
                ),
                Plot(
                    name="music",
                    alt="Error on held-out answers about music artists by answers: embeddings of people's answers "
                    "improve with each answer and pass a metric over genres; t-STE is best.",
                    result="music",
                    where={"metric": "error"},
                    only=lambda row: "answers" in row,
                    x="answers",
                    keep={
                        "people alone, t-STE": "answers, t-STE",
                        "people alone": "answers, hinge",
                        "joint with genres": "jointly with genres",
                        "metric over genres": "metric over genres",
                    },
                    factor=100,
                    titles=("answers", "error on held-out answers, %"),
                    log="x",
                ),
            ),
            note="A question shows pictures and asks which one is more similar to an anchor. The most informative "
            "question is the one whose answer the embedding knows least. In two of "
            "three sets, chosen questions do not lead to lower errors than random ones, so `ask` without a view draws "
            "questions by chance.",
            excerpts=(
                Excerpt("joint-active", ".*", "4,000,", ("questions", "random", "active", "grid")),
                Excerpt("music", "", "t-STE|alone \\||joint|metric", ("error, %", "500 answers", "7,000 answers")),
                Excerpt("music", "Chosen.*", "^(2|4),000", ("answers", "random, error %", "active")),
            ),
        ),
    ),
)
