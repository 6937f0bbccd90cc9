"""Commands on pictures and rows in object storage: extract, sample and place, here or in a Ray cluster."""

from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from crossview.server.commands.backups import QuietOption
from crossview.server.commands.common import JsonOption, names, print_result
from crossview.server.commands.connection_options import HomeOption
from crossview.server.commands.hints import completed, hint
from crossview.server.commands.progress_bar import progress_bar
from crossview.server.commands.publish import EngineOption, described_publication

if TYPE_CHECKING:
    from crossview.engine.publishing.spreading.executor import Executor
    from crossview.engine.publishing.spreading.outcomes import Extraction
    from crossview.engine.values.item import Failure

_SHOWN = 10
"""Failures that are listed."""
RowsOption = Annotated[
    str, typer.Option("--from", metavar="URL", help="Folder of Parquet files with rows, as extract writes them.")
]
PublishedOption = Annotated[
    str, typer.Option("--published", metavar="NAME", help="Published name, whose newest bundle is used.")
]


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The options that state where the work runs."""

    PANEL: ClassVar[str] = "Processes"

    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Ray cluster: HOST:PORT, auto for the one of this machine, or local to start one [default: none].",
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Number of processes, here or in the cluster [default: one per core]."),
    ] = None

    def executor(self) -> "Executor":
        """Return this machine, or the cluster."""
        from crossview.engine.publishing.spreading.executor import Here
        from crossview.engine.publishing.spreading.ray_cluster import RayCluster

        return Here(self.workers) if self.ray is None else RayCluster(self.ray, self.workers)


@dataclass(frozen=True, kw_only=True)
class ExtractOptions:
    """The options that state which pictures to extract, and how."""

    PANEL: ClassVar[str] = "Pictures"

    pictures: Annotated[
        str,
        typer.Option(
            "--from", metavar="URL", help="Folder of pictures, or a pattern in quotes: 's3://b/photos/**/*.jpg'."
        ),
    ]
    to: Annotated[str, typer.Option(metavar="URL", help="Folder for the rows: a folder, s3://... or gs://...")]
    bundle: Annotated[
        str, typer.Option(metavar="URL", help="Address of the bundles that publish wrote; needs --published.")
    ] = ""
    published: PublishedOption = ""
    views: Annotated[
        str, typer.Option(metavar="VIEWS", help="Without --bundle: views that learn nothing [default: color,gist].")
    ] = ""
    labels: Annotated[
        str, typer.Option(metavar="folder", help="Source of the labels: the name of each picture's folder.")
    ] = ""
    partition: Annotated[int, typer.Option(metavar="N", min=1, help="Number of pictures of one file of rows.")] = 512
    max_megapixels: Annotated[
        float, typer.Option(metavar="N", min=1e-6, help="Maximum megapixels of a picture in memory.")
    ] = 100.0


def extract(
    options: ExtractOptions,
    cluster: ClusterOptions,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compute rows of pictures in object storage.

    Each partition of the pictures becomes one Parquet file with keys, labels and the rows of all views; bad pictures
    are listed beside it. The same command continues an interrupted run: it reads no finished partition again, and
    pictures that came since the first run form further partitions.

    Examples:
        crossview rows extract --from 's3://b/photos/**/*.jpg' --to s3://b/rows --bundle s3://b/bundles --published shop
        crossview rows extract --from photos --to rows --labels folder --workers 8
        crossview rows extract --from s3://b/photos --to s3://b/rows --ray auto
    """
    from crossview.engine.publishing.spreading.extracting import DEFAULT_VIEWS, ExtractRequest, extract_rows

    request = ExtractRequest(
        pictures=options.pictures,
        to=options.to,
        bundle=options.bundle,
        published=options.published,
        views=names(options.views) or DEFAULT_VIEWS,
        labels=options.labels,
        partition=options.partition,
        max_pixels=int(options.max_megapixels * 1e6),
    )
    with progress_bar(not quiet and not as_json, "pictures") as progress:
        extraction = extract_rows(request, cluster.executor(), progress)
    print_result(extraction, _extracted(extraction), as_json)


@dataclass(frozen=True, kw_only=True)
class SampleOptions:
    """The options that state which rows to draw, and how."""

    PANEL: ClassVar[str] = "Sample"

    size: Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of items.")] = 10_000
    bundle: Annotated[
        str, typer.Option(metavar="URL", help="Address of the bundle with the views; needs --published.")
    ] = ""
    published: PublishedOption = ""
    thumbnails: Annotated[
        bool, typer.Option("--thumbnails", help="Also read the pictures of the sample, for their thumbnails.")
    ] = False
    seed: Annotated[int, typer.Option(help="Seed of the random choice.")] = 0


def sample(
    rows: RowsOption,
    to: Annotated[str, typer.Option(metavar="COLLECTION", help="Name of the new collection.")],
    options: SampleOptions,
    home: HomeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Draw a sample of rows in object storage as a collection.

    Labels keep their shares, and each gives at least five items. Label, train and evaluate on the collection, publish
    its space, and place all rows by it.

    Examples:
        crossview rows sample --from s3://b/rows --to shop --size 20000
        crossview rows sample --from s3://b/rows --to shop --bundle s3://b/bundles --published shop --thumbnails
    """
    from crossview.engine.collections.home import Home
    from crossview.engine.publishing.spreading.sampling import SampleRequest, sample_rows

    request = SampleRequest(rows=rows, to=to, **asdict(options))
    with progress_bar(not quiet and not as_json, "rows") as progress:
        report = sample_rows(request, Home(home), progress)
    drawn = f"{report.items:,} of {report.rows:,} rows, {report.labels:,} labels"
    lines = [f"collection {to}: {drawn}; train a space with: {hint('train', to)}", *_failures(report.failures)]
    print_result(report, "\n".join(lines), as_json)


def place(
    rows: RowsOption,
    bundle: Annotated[str, typer.Option(metavar="URL", help="Address of the bundles that publish wrote.")],
    published: PublishedOption,
    engine: EngineOption,
    cluster: ClusterOptions,
    index: Annotated[
        str, typer.Option(metavar="auto|flat|ivf|hnsw|diskann", help="Kind of index in the engine.")
    ] = "auto",
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Place rows in object storage into an engine, by a bundle.

    The rows become the items of a new generation of the published collection, which is filled and checked beside the
    generation in use and replaces it in one step. The same command continues an interrupted run.

    Examples:
        crossview rows place --from s3://b/rows --bundle s3://b/bundles --published shop --engine milvus://milvus:19530
        crossview rows place --from rows --bundle bundles --published shop --engine milvus:shop.db
    """
    from crossview.engine.publishing.address import engine_address
    from crossview.engine.publishing.milvus import Milvus
    from crossview.engine.publishing.spreading.placing import PlaceRequest, place_rows

    with closing(Milvus(engine_address(engine))) as connection:
        request = PlaceRequest(rows=rows, bundle=bundle, published=published, engine=connection, index=index)
        with progress_bar(not quiet and not as_json, "items") as progress:
            publication = place_rows(request, cluster.executor(), progress)
    print_result(publication, described_publication(publication, False), as_json)


def _extracted(result: "Extraction") -> str:
    rate = f" ({result.items / result.seconds:.1f} pictures/s)" if result.items and result.seconds else ""
    done = f"{result.partitions:,} partitions with {result.items:,} pictures{rate}, {result.kept:,} finished before"
    return "\n".join([f"{result.rows}: {done}, {result.bad:,} pictures could not be used", *_failures(result.failures)])


def _failures(failures: "tuple[Failure, ...]") -> list[str]:
    listed = [f"  {failure.key}: {completed(failure.reason)}" for failure in failures[:_SHOWN]]
    return [*listed, f"  and {len(failures) - _SHOWN:,} more"] if len(failures) > _SHOWN else listed
