"""The figures of Quadrianto and Lampert (ICML 2011), tables 1 to 5: k-NN accuracy in per cent, Israeli Images."""

from typing import NamedTuple

# Table, method, dimension, query view, database view; then means at 5, 10, 30, 50, 70 and 100
# neighbours over ten trials, and their standard deviations.
_TABLES = """
1 hybrid    10 color sift   24.2 24.9 26.3 26.4 25.8 25.8  2.59 2.72 2.82 2.56  1.9 1.73
1 hybrid    30 color sift   28.9 29.8 30.6 30.0 29.9 29.4  2.64 3.04 2.51 2.63 2.75 2.38
1 hybrid    50 color sift   30.0 29.2 30.2 29.6 29.6 29.0   3.2 3.12 3.42 3.74 4.04 3.51
1 hybrid    10 sift  color  18.8 19.1 19.4 19.8 19.7 19.9  3.59 3.14 3.71 3.91 4.19 3.92
1 hybrid    30 sift  color  24.0 24.3 24.8 24.6 24.8 24.8   3.3 3.44 3.57 3.87 3.81 3.42
1 hybrid    50 sift  color  27.8 26.8 27.0 27.4 27.8 27.9  4.27 4.28 3.09 3.78  3.9 3.82
2 original   - color color  31.4 31.3 30.4 28.6 26.2 25.2  2.52 3.87 3.55 3.29 3.93 3.51
2 pca       10 color color  28.9 30.1 29.4 28.2 27.3 24.8  2.25 2.35 3.08 2.57  2.9 1.79
2 pca       30 color color  31.0 32.6 30.4 28.2 26.8 26.2  3.27 3.63 3.82 3.51 4.26 3.29
2 pca       50 color color  31.3 31.4 30.3 28.6 26.2 25.2  3.12 3.46 2.99 3.32 3.61 3.44
2 cca       10 color color  24.8 24.7 24.0 24.4 22.8 21.6  3.86 3.42 3.78 3.75 4.18 4.18
2 cca       30 color color  28.8 27.9 26.1 24.4 23.2 20.6  3.71 3.86 4.81 5.04 4.33 5.37
2 cca       50 color color  29.9 28.2 26.6 24.7 24.2 20.9  3.43 2.78 4.06 4.61 4.88 5.14
2 multi-npp 10 color color  26.4 27.6 27.4 27.3 25.9 25.1  4.33 3.39 3.54 2.97 3.07 2.43
2 multi-npp 30 color color  29.0 29.9 29.9 29.6 28.2 27.8  3.15 3.28 3.54 3.53 3.44 4.44
2 multi-npp 50 color color  30.0 29.5 30.2 28.7 27.7 26.2   3.9 2.81 3.98  3.4 2.48 2.71
3 original   - sift  sift   32.2 33.2 30.2 29.7 28.2 25.7  2.37 3.18  4.0 4.58 3.74 4.02
3 pca       10 sift  sift   29.6 30.2 29.9 29.6 28.8 28.2  1.99 3.18 2.84 3.49 2.07 2.15
3 pca       30 sift  sift   31.4 32.6 30.8 29.6 29.0 26.4   2.6 2.97 4.05 2.86 3.78 3.34
3 pca       50 sift  sift   31.8 32.8 30.2 29.4 28.9 26.4   3.3 3.33 4.05 3.36 4.02 3.23
3 cca       10 sift  sift   16.7 17.7 19.1 20.0 18.8 19.0  1.88 2.48  2.0 2.07 2.53 2.71
3 cca       30 sift  sift   18.8 20.4 20.9 20.2 19.2 18.9  3.03 2.95 3.82 3.36 2.36 1.78
3 cca       50 sift  sift   19.4 21.7 20.6 18.8 19.1 18.9  3.14 3.91 3.08 1.32 2.65 2.97
3 multi-npp 10 sift  sift   31.4 32.9 33.4 32.5 32.9 32.0  3.92 3.16 3.62  2.7 3.49 3.47
3 multi-npp 30 sift  sift   34.5 35.4 34.4 34.0 33.5 33.0  2.77  3.7 2.53 2.86 2.28 2.45
3 multi-npp 50 sift  sift   34.0 35.4 34.2 34.4 33.6 32.8  2.76 2.83 1.67 2.86 2.71 2.64
4 pca       10 color sift    9.3  9.3 10.0  9.5  9.2  9.2  1.66 2.03 2.31 1.83 1.86 1.87
4 pca       30 color sift    8.9 10.2 11.0 10.0 10.2 10.7  1.62  1.9 2.05 1.74  1.9 2.05
4 pca       50 color sift    9.4 10.7 10.5 11.0 10.7 10.4  1.17 1.38 2.04  1.5 1.55 2.29
4 cca       10 color sift   15.4 15.8 15.9 15.6 14.8 14.8  4.27 4.53 4.59  3.8 4.27  3.9
4 cca       30 color sift   15.3 17.6 16.8 17.9 16.8 16.8  4.31 5.58 5.04 5.15  5.9 5.44
4 cca       50 color sift   16.2 16.8 18.2 17.8 18.0 17.6  4.83 5.27  6.3 6.02 6.19 6.15
4 multi-npp 10 color sift   18.6 18.9 18.7 19.2 19.0 19.0  2.07 2.28 2.21 2.28 2.32 1.99
4 multi-npp 30 color sift   20.8 20.8 21.0 20.9 21.4 20.0  3.16 3.25  2.6 2.58 3.13 3.01
4 multi-npp 50 color sift   20.4 20.4 21.8 21.8 21.8 22.0  3.43 2.88 3.21 3.25  2.9 3.42
5 pca       10 sift  color   8.2  9.2  9.4  9.4  8.8  9.4  2.54 3.35 3.36  3.3 3.35 2.72
5 pca       30 sift  color   9.1  9.4  9.6  9.6  9.9 10.0  3.19 2.58  2.8 2.56 2.18  3.2
5 pca       50 sift  color   8.6  9.8  9.8  9.6  9.8  9.8  2.65 2.47 3.33 2.91 2.66 2.66
5 cca       10 sift  color  12.5 13.8 13.8 14.3 13.4 13.8  2.98 2.36 2.82  2.9 2.69 2.82
5 cca       30 sift  color  13.7 13.6 15.7 14.0 14.2 14.2  3.11 2.85 3.31 2.81 2.65  2.5
5 cca       50 sift  color  13.2 13.2 13.4 12.9 12.7 12.7  1.77 2.32 2.62 2.71 3.04 1.77
5 multi-npp 10 sift  color  19.0 20.8 22.0 22.8 23.3 22.8  3.63 3.52 3.98 3.84 3.92 3.96
5 multi-npp 30 sift  color  21.8 23.8 25.1 24.6 23.9 23.9  3.65  3.1 3.28 3.53 3.15  2.5
5 multi-npp 50 sift  color  22.6 22.9 22.4 26.1 23.6 22.8  2.07 1.93  4.3 3.61 3.88 3.69
"""


class PaperRow(NamedTuple):
    """One line of a table: means and standard deviations over ten trials, at 5, 10, 30, 50, 70 and 100 neighbours."""

    table: int
    method: str
    dim: int | None
    query_view: str
    database_view: str
    values: tuple[float, ...]
    deviations: tuple[float, ...]


def _row(line: str) -> PaperRow:
    table, method, dim, query, database, *numbers = line.split()
    values = tuple(map(float, numbers))
    return PaperRow(int(table), method, None if dim == "-" else int(dim), query, database, values[:6], values[6:])


PAPER = tuple(_row(line) for line in _TABLES.strip().splitlines())


def paper_row(method: str, dim: int | None, query_view: str, database_view: str) -> PaperRow | None:
    """Return the paper's line for a method; None if the paper has no such line."""
    key = (method, dim, query_view, database_view)
    return next((row for row in PAPER if row[1:5] == key), None)
