"""Markdown tables and plot of the hashing benchmark."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hashing.methods import COMPARED, METHODS, TUNED_BITS

WITHIN = {"across": False, "within": True}
TITLES = {"corel": "Photographs", "wikipedia": "Wikipedia documents"}
# Told apart in the common kinds of colour blindness; with a kernel the line is solid.
COLORS = {
    "multi-npp, sign": "#E69F00",
    "multi-npp, lsh": "#0072B2",
    "multi-npp, itq": "#009E73",
    "semantic, lsh": "#CC79A7",
    "scm": "#56B4E9",
    "npp-hash": "#000000",
}
Rows = Sequence[Mapping[str, Any]]


def markdown(document: Mapping[str, Any]) -> str:
    """Returns the report: mAP and precision against bits, and what the supervised codes are compared with."""
    settings = document["settings"]
    protocol = (
        f"Photographs: {len(settings['seeds'])} splits (seeds {settings['seeds'][0]} to {settings['seeds'][-1]}), mean "
        "± standard error; the training part is the database. Wikipedia: one split; the test documents are queries and "
        f"database. Settings: {settings['tuning']}. Ties: {settings['ties']}."
    )
    parts = ["# Codes across views", protocol]
    for data, title in TITLES.items():
        parts.append(f"## {title}")
        for metric, k in (("map", None), ("precision", 50), ("precision", 100)):
            for where in WITHIN:
                head = "mAP" if metric == "map" else f"precision at {k}"
                parts.append(f"### {head}, {where} views\n\n{_table(_lines(document, data, metric, k, where))}")
    parts.append(f"## {TUNED_BITS}-bit codes compared, mAP across views\n\n{_table(list(_comparisons(document)))}")
    parts.append(f"The run took {document['seconds']:.0f} s.")
    return "\n\n".join(parts) + "\n"


def means(trial: Mapping[str, Any], method: str, bits: int | None, metric: str, k: int | None, where: str) -> float:
    """Returns a method's figure on one split, mean over the directions across views, or over the views."""
    found = [
        row["value"]
        for row in trial["rows"]
        if (row["method"], row["bits"], row["metric"], row.get("k")) == (method, bits, metric, k)
        and (row["query_view"] == row["database_view"]) == WITHIN[where]
    ]
    return float(np.mean(found))


def write(folder: Path, document: Mapping[str, Any], text: str) -> None:
    """Writes hashing.md and hashing.png into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hashing.md").write_text(text + "\n![mAP against bits](hashing.png)\n", encoding="utf-8")
    plot(folder / "hashing.png", document)


def plot(path: Path, document: Mapping[str, Any]) -> None:
    """Draws mAP across views against bits, a panel for each data set, a curve for each kind of codes."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError('the plot needs matplotlib: pip install "crossview[bench]"') from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    bits = document["settings"]["bits"]
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 5), layout="constrained")
    for axis, (data, title) in zip(axes, TITLES.items(), strict=True):
        trials = _trials(document, data)
        for method in (method for method in METHODS if method.coded and method.across):
            values = [np.mean([means(trial, method.name, b, "map", None, "across") for trial in trials]) for b in bits]
            style = "-" if method.kernel else "--"
            color = COLORS[method.name.removeprefix("kernel ")]
            axis.plot(bits, values, style, color=color, marker="o", markersize=3, label=method.name)
        for number, method in enumerate(method for method in METHODS if not method.coded):
            value = np.mean([means(trial, method.name, None, "map", None, "across") for trial in trials])
            axis.axhline(value, color="#999999", linestyle="-" if method.kernel else "--", linewidth=0.8)
            side = ("left", "right")[number % 2]  # names of equally good embeddings must not lie on each other
            place = (bits[0] if side == "left" else bits[-1], value)
            axis.annotate(method.name, place, fontsize=6, ha=side, va="bottom", color="#777777")
        axis.set_title(f"{title}: across views")
        axis.set_xscale("log", base=2)
        axis.set_xticks(bits, [str(b) for b in bits])
        axis.set_xlabel("bits")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("mAP")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _lines(document: Mapping[str, Any], data: str, metric: str, k: int | None, where: str) -> list[list[str]]:
    bits = document["settings"]["bits"]
    lines = [["method", "embeddings", *(f"{b} bits" for b in bits)]]
    for method in (method for method in METHODS if method.across or where == "within"):
        lengths = [None, *bits]
        cells = ["" if (length is None) == method.coded else _cell(
            [means(trial, method.name, length, metric, k, where) for trial in _trials(document, data)]
        ) for length in lengths]  # fmt: skip
        lines.append([method.name, *cells])
    return lines


def _comparisons(document: Mapping[str, Any]) -> Iterator[list[str]]:
    yield ["data", "codes", "less", "difference, paired", "share of the best embeddings' mAP", "best embeddings"]
    for data in TITLES:
        trials = _trials(document, data)

        def found(name: str, bits: int | None, trials: Rows = trials) -> Any:
            return np.array([means(trial, name, bits, "map", None, "across") for trial in trials])

        floats = {method.name: found(method.name, None) for method in METHODS if not method.coded}
        best = max(floats, key=lambda name: floats[name].mean())
        for codes, others in COMPARED:
            difference = found(codes, TUNED_BITS) - found(others, TUNED_BITS)
            share = found(codes, TUNED_BITS) / floats[best]
            yield [data, codes, others, _cell(difference, "+.4f"), _cell(share), best]


def _trials(document: Mapping[str, Any], data: str) -> Rows:
    return [trial for trial in document["trials"] if trial["data"] == data]


def _cell(values: Any, form: str = ".4f") -> str:
    shown = f"{np.mean(values):{form}}"
    if len(values) < 2:
        return shown
    return f"{shown} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.4f}"


def _table(lines: list[list[str]]) -> str:
    head, *body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, "|" + " --- |" * len(lines[0]), *body])
