"""Pages of time, memory and size, in one process."""

from benchmarks.frame.charts import Plot
from benchmarks.pages.page import Group, Page
from benchmarks.pages.report import Excerpt
from benchmarks.scale.report import curve

_INDEXES = {
    "crossview ivf": "crossview, lists",
    "crossview hnsw": "crossview, graph",
    "crossview scan": "crossview, scan",
    "faiss IVF2048,Flat": "FAISS IVF",
    "faiss HNSW32": "FAISS HNSW",
    "hnswlib HNSW32": "hnswlib",
    "usearch HNSW32": "usearch",
    "lancedb IVF_FLAT": "LanceDB IVF",
}
_STORES = {
    "crossview": "crossview",
    "chroma": "Chroma",
    "milvus-lite": "Milvus Lite",
    "lancedb": "LanceDB",
    "qdrant-local": "Qdrant, local",
}
_VIEWS = {
    "decode": "decoding",
    "color": "color",
    "gist": "gist",
    "forest": "forest",
    "sift": "sift",
    "decode + color + sift + gist": "decoding, color, sift, gist",
    "cv2.SIFT.detectAndCompute": "SIFT of OpenCV alone",
}
_LARGE = ("lists of half floats", "scan or tables of codes", "lists of codes")

SPEED = Group(
    "Speed and scale",
    (
        Page(
            name="recall-and-speed",
            title="Recall against speed among a million items",
            question="How many queries a second does an index answer at a wanted recall?",
            results=("scale",),
            plots=tuple(
                Plot(
                    name=f"recall-and-speed-{view}",
                    alt=f"Queries a second by recall, {words}: crossview answers more queries than LanceDB at every "
                    "recall; bare indexes of FAISS in memory answer far more.",
                    result="scale",
                    where={"queries": view},
                    rows=curve,
                    x="recall",
                    keep=_INDEXES,
                    titles=(f"recall of the 10 nearest, {words}", "queries a second, one caller"),
                    log="y",
                )
                for view, words in (("within", "within a view"), ("across", "across views"))
            ),
            note="An approximate index trades recall for speed: *effort* is how much of the index a query visits. "
            "crossview answers from a store with durable writes, labels and conditions; FAISS, hnswlib and usearch "
            "hold bare vectors in memory.",
            excerpts=(
                Excerpt(
                    "scale",
                    ".*equal recall",
                    "crossview (scan|ivf|hnsw)|IVF2048,SQ|(faiss|hnswlib) HNSW32|IVF_FLAT",
                    ("index", "within 0.95", "across 0.95"),
                ),
                Excerpt(
                    "scale", ".*disk", "crossview (ivf|hnsw)|IVF2048,SQ|hnswlib", ("index", "build, s", "MiB, searches")
                ),
                Excerpt(
                    "scale",
                    ".*Under conditions, within",
                    "crossview ivf|IVF2048,SQ|hnswlib|IVF_FLAT",
                    ("index", "0.1 %", "10 %"),
                ),
            ),
        ),
        Page(
            name="capacity",
            title="Capacity: up to 100 million codes on one machine",
            question="How much time and memory do the largest indexes take on one machine with two cores?",
            results=("large", "large-small", "million"),
            plots=tuple(
                Plot(
                    name=f"capacity-{name}",
                    alt=f"{words} by the number of items: lists of codes take least, and an exact search of codes "
                    "takes most among the largest collections.",
                    result="large",
                    where={"metric": metric},
                    x="items",
                    keep={kind: kind for kind in _LARGE},
                    factor=factor,
                    titles=("items", title),
                    log="xy",
                    beside=("large-small",),
                )
                for name, words, metric, factor, title in (
                    ("time", "Median time of a search", "search, median ms", 1, "median ms of a search"),
                    ("memory", "Memory of searches", "peak of searches, bytes", 1e-9, "GB while searching"),
                )
            ),
            note="Vectors have 64 numbers, codes 64 bits. Items are drawn, and files are mapped into memory.",
            excerpts=(
                Excerpt("large", "", "", ("items", "index", "built", "recall", "median", "99 %, memory")),
                Excerpt("million", "", "load, vectors and|default"),
                Excerpt("million", "Searches", "a to b|raw", ("space", "view to target", "median ms", "times flat")),
            ),
        ),
        Page(
            name="stores",
            title="Search, write and open a collection inside a program",
            question="How does crossview compare with other embedded stores of vectors?",
            results=("store",),
            plots=(
                Plot(
                    name="stores",
                    alt="Milliseconds of a query by vector among 100,000 items: crossview and Chroma are quickest, "
                    "before Milvus Lite, LanceDB and Qdrant's local mode.",
                    result="store",
                    where={"part": "stores", "metric": "query, ms"},
                    keep=_STORES,
                    titles=("ms of a query (less is better)", ""),
                    log="x",
                ),
                Plot(
                    name="stores-filter",
                    alt="Milliseconds of a query under a filter that keeps 1 % of the items: crossview is "
                    "quickest, and the time of the other stores is several times to a thousand times as long.",
                    result="store",
                    where={"part": "stores", "metric": "filter 1 %, ms"},
                    keep=_STORES,
                    titles=("ms of a query under a filter of 1 %", ""),
                    log="x",
                ),
            ),
            note="The first tables compare with the bare operation: FAISS for searches, a file for writes. The last "
            "one compares whole stores. Figures above their limit are bold.",
            excerpts=(
                Excerpt(
                    "store",
                    "",
                    "a query by vector |keeps 1 %|durable|opening",
                    ("task", "ours", "peer", "its figure", "ratio", "limit"),
                ),
                Excerpt(
                    "store",
                    "Beside other stores",
                    "",
                    ("store", "import, items/s", "query", "filter 1 %", "write", "opening"),
                ),
            ),
        ),
        Page(
            name="conditions",
            title="Conditions on labels and attributes",
            question="What does a condition such as `label = cat and year > 2000` cost among a million items?",
            results=("conditions",),
            plots=(
                Plot(
                    name="conditions",
                    alt="Milliseconds to count the items of a new condition: crossview takes a small part of the "
                    "time of SQLite over JSON.",
                    result="conditions",
                    where={"metric": "ms"},
                    only=lambda row: not row["task"].startswith("a filter"),
                    x="task",
                    keep={"crossview": "crossview", "SQLite, JSON of each item": "SQLite"},
                    titles=("ms for a new condition", ""),
                    log="x",
                ),
            ),
            note="A new condition tests every item once; the next search with it reuses the result.",
            excerpts=(Excerpt("conditions", ""),),
        ),
        Page(
            name="publishing",
            title="Publish a collection to Milvus",
            question="What do searches cost if the items of a collection are in Milvus?",
            results=("publish",),
            plots=(
                Plot(
                    name="publishing",
                    alt="Calls a second of 32 callers: the collection inside a program answers several times as many "
                    "as the same collection through Milvus on the same cores.",
                    result="publish",
                    where={"metric": "calls/s at 32"},
                    x="index",
                    keep={"embedded": "inside a program", "Milvus": "through Milvus"},
                    titles=("calls a second, 32 callers", ""),
                ),
            ),
            note="Publishing copies items to an engine that several machines can share. Both run on two cores here.",
            excerpts=(Excerpt("publish", ""),),
        ),
        Page(
            name="searching-codes",
            title="Exact searches of binary codes",
            question="How fast are exact searches among millions of binary codes?",
            results=("hamming-speed", "near-pairs"),
            plots=(
                Plot(
                    name="searching-codes",
                    alt="Milliseconds of an exact query by the number of clustered codes of 64 bits: multi-index "
                    "hashing takes the same time for all sizes; the time of a flat scan grows with the codes.",
                    result="hamming-speed",
                    where={"distribution": "clustered", "bits": 64, "metric": "query, ms"},
                    x="codes",
                    keep={
                        "automatic": "crossview, automatic",
                        "multi-index hashing": "multi-index hashing",
                        "flat": "flat scan",
                        "FAISS flat": "FAISS flat",
                    },
                    titles=("codes of 64 bits", "ms of a query, one thread"),
                    log="xy",
                ),
                Plot(
                    name="near-pairs",
                    alt="Seconds to find all near pairs of a million uniform codes: the join takes a small part of the "
                    "time of FAISS's multi-index hashing, and of its flat scan.",
                    result="near-pairs",
                    where={"distribution": "uniform", "codes": 1_000_000, "metric": "clock, s"},
                    titles=("seconds (less is better)", ""),
                ),
            ),
            note="Multi-index hashing looks codes up in tables of their parts, and finds exactly what a scan finds. "
            "*automatic* chooses the way by a trial on the codes themselves.",
            excerpts=(
                Excerpt("hamming-speed", "", "", ("figure", "wanted", "measured")),
                Excerpt("near-pairs", "", "1,000,000", ("codes", "method", "seconds by the clock", "pairs")),
            ),
        ),
        Page(
            name="lean",
            title="The cost of crossview beside FAISS and Python",
            question="How much longer does a search take than FAISS, and a short command than Python?",
            results=("lean",),
            plots=(),
            note="Exact searches scan one byte a component first, so they can be faster than FAISS's scan of floats.",
            excerpts=(Excerpt("lean"),),
        ),
        Page(
            name="extraction",
            title="Extract the views of photographs",
            question="How long does it take to extract the views of a photograph?",
            results=("extract", "model-speed"),
            plots=(
                Plot(
                    name="extraction",
                    alt="Milliseconds of a photograph on one core: SIFT takes most of the time of the three "
                    "default views, and colours hardly any.",
                    result="extract",
                    where={"metric": "ms an image, one core"},
                    keep=_VIEWS,
                    titles=("ms of a photograph, one core", ""),
                ),
            ),
            note="The reference is the SIFT of OpenCV, without any words made from it.",
            excerpts=(
                Excerpt("extract", "", "one core|5-NN"),
                Excerpt("model-speed", "", "", ("figure", "measured", "promise")),
            ),
        ),
        Page(
            name="folders",
            title="Follow a folder of pictures",
            question="How long does `crossview index` take when files of a folder change or move?",
            results=("follow",),
            plots=(
                Plot(
                    name="folders",
                    alt="Seconds of an indexing of 10,000 files: a run after changes takes a small part of the time "
                    "of the first one.",
                    result="follow",
                    where={"method": "crossview", "metric": "s"},
                    series="task",
                    titles=("seconds (logarithmic)", ""),
                    log="x",
                ),
            ),
            note="Indexing recognises moved and renamed files by their content, so that labels stay.",
            excerpts=(Excerpt("follow", ""),),
        ),
        Page(
            name="quadruplets",
            title="Learn a metric from a million quadruplets",
            question="How long does a metric take to learn from a million quadruplets?",
            results=("qwise-speed",),
            plots=(
                Plot(
                    name="quadruplets",
                    alt="Seconds on one thread: a vector and a diagonal metric learn in seconds, a full metric within "
                    "a minute.",
                    result="qwise-speed",
                    where={"metric": "seconds"},
                    titles=("seconds, one thread", ""),
                ),
            ),
            note="A quadruplet states that two items are more alike than two others. Forms differ in the metric (a "
            "vector, a diagonal or a full matrix) and in the loss.",
            excerpts=(Excerpt("qwise-speed", ""),),
        ),
    ),
)
