"""Commands that publish collections to object storage and an engine."""

import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from crossview.server.commands.backups import QuietOption
from crossview.server.commands.common import JsonOption, NameArgument, YesOption, confirm, print_json, print_result
from crossview.server.commands.connection_options import HomeOption
from crossview.server.commands.output import say
from crossview.server.commands.progress_bar import progress_bar

if TYPE_CHECKING:
    from crossview.engine.collections.collection import Collection
    from crossview.engine.publishing.publication import Publication, PublishRequest

_SHOWN = 10
"""Items that are listed."""
EngineOption = Annotated[
    str, typer.Option("--engine", metavar="ADDRESS", help="The engine: milvus://HOST:PORT or milvus:FILE.db.")
]


@dataclass(frozen=True)
class PublishedName:
    """A published collection, as an engine has it."""

    name: str
    space: str
    bundle: str
    """The path of the bundle below the address of all bundles."""
    items: int
    generations: int
    """Number of its generations in the engine, with the one in use."""


@dataclass(frozen=True)
class Unpublished:
    """The generations that were removed from an engine."""

    name: str
    generations: int


@dataclass(frozen=True, kw_only=True)
class PublishOptions:
    """The options that state which space to publish, and where."""

    PANEL: ClassVar[str] = "Publication"

    to: Annotated[str, typer.Option(metavar="URL", help="Address of all bundles: a folder, s3://... or gs://...")]
    engine: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Engine to fill: milvus://HOST:PORT or milvus:FILE.db.")
    ] = ""
    space: Annotated[str, typer.Option(metavar="SPACE", help="Space to publish [default: the active space].")] = ""
    published_name: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Name to publish under [default: that of the collection].")
    ] = ""
    index: Annotated[str, typer.Option(metavar="auto|flat|ivf|hnsw|diskann", help="Kind of index in the engine.")] = (
        "auto"
    )
    follow: Annotated[bool, typer.Option("--follow", help="Then send later changes, until Ctrl-C.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, and change nothing.")] = False


def add(
    name: NameArgument,
    options: PublishOptions,
    home: HomeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Publish a space as a bundle, and its items to an engine.

    Servers without a catalog (crossview serve --bundle --engine) then answer for the collection. The engine is filled
    and checked beside the generation in use, which the new one replaces in one step. The same command finishes an
    interrupted publication.

    Examples:
        crossview publish add pets --to /srv/bundles --engine milvus://localhost:19530
        crossview publish add pets --to s3://models/crossview
        crossview publish add pets --to /srv/bundles --engine milvus:pets.db --follow
    """
    from crossview.engine.collections.home import Home
    from crossview.engine.publishing.address import engine_address
    from crossview.engine.publishing.milvus import Milvus
    from crossview.engine.publishing.publication import PublishRequest
    from crossview.engine.publishing.publish import publish

    with ExitStack() as opened:
        engine = opened.enter_context(closing(Milvus(engine_address(options.engine)))) if options.engine else None
        collection = opened.enter_context(Home(home).open(name))
        request = PublishRequest(
            to=options.to,
            engine=engine,
            space=options.space,
            name=options.published_name,
            index=options.index,
            dry_run=options.dry_run,
        )
        with progress_bar(not quiet and not as_json) as progress:
            publication = publish(collection, request, progress)
        print_result(publication, described_publication(publication, options.dry_run), as_json)
        if options.follow and not options.dry_run:
            _follow(collection, request, as_json)


def _follow(collection: "Collection", request: "PublishRequest", as_json: bool) -> None:
    """Send later changes until Ctrl-C, and print each further publication."""
    from crossview.engine.publishing.following import follow

    stopping = threading.Event()
    try:
        for publication in follow(collection, request, stopping):
            print_result(publication, described_publication(publication, False), as_json)
    except KeyboardInterrupt:
        stopping.set()
        say("stopped: the same command sends later changes", err=True)


def remove(name: NameArgument, engine: EngineOption, yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Remove a published collection from an engine.

    Its bundles and its catalog stay.

    Examples:
        crossview publish remove pets --engine milvus:pets.db
        crossview publish remove pets --engine milvus://localhost:19530 --yes
    """
    from crossview.engine.publishing.address import engine_address
    from crossview.engine.publishing.following import remove as remove_
    from crossview.engine.publishing.milvus import Milvus

    with closing(Milvus(engine_address(engine))) as connection:
        if not yes:
            confirm(f"Remove {name} from engine {engine}?", f"removing {name} from an engine needs --yes")
        count = remove_(connection, name)
    print_result(Unpublished(name, count), f"removed {name} from engine {engine}: {count} generations", as_json)


def list_(engine: EngineOption, as_json: JsonOption = False) -> None:
    """List the published collections of an engine.

    Examples:
        crossview publish list --engine milvus:pets.db --json
        crossview publish list --engine milvus://localhost:19530
    """
    from crossview.engine.publishing.address import engine_address
    from crossview.engine.publishing.following import listed
    from crossview.engine.publishing.milvus import Milvus

    with closing(Milvus(engine_address(engine))) as connection:
        rows = [PublishedName(**description) for description in listed(connection)]
    lines = [f"{row.name}: space {row.space}, {row.items:,} items, bundle {row.bundle}" for row in rows]
    if as_json:
        print_json(rows)
    else:
        say("\n".join(lines) or f"engine {engine} has no published collection")


def described_publication(result: "Publication", planned: bool) -> str:
    """Return a publication as sentences."""
    verb = "would publish" if planned else "published"
    lines = [f"{verb} space {result.space} of {result.items:,} items as {result.name}: bundle {result.bundle}"]
    for target in result.targets:
        recall = "" if target.recall is None else f", finds {target.recall:.1%} of the nearest items"
        lines.append(f"  {target.target}: {target.items:,} items, index {target.index}{recall}")
    if result.kept:
        lines.append(f"  {result.kept:,} items that servers wrote were taken over")
    lines += [f"  not published: {failure.key}: {failure.reason}" for failure in result.failures[:_SHOWN]]
    if len(result.failures) > _SHOWN:
        lines.append(f"  and {len(result.failures) - _SHOWN:,} more")
    return "\n".join(lines)
