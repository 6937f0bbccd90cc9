"""The views of a collection."""

from collections.abc import Iterable, Sequence

from crossview.engine.catalog.description import RAW
from crossview.engine.catalog.extractors import add_view, check_usable, parse_view, view_info
from crossview.engine.collections.opened import Opened
from crossview.engine.values.errors import ModelError, NotInstalledError, few, warn_of
from crossview.engine.values.info import ViewInfo
from crossview.engine.values.item import Picture, PictureForm, one_or_several


class Views:
    """The views of a collection: call it to list them."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def __call__(self) -> tuple[ViewInfo, ...]:
        """Return the views."""
        with self._opened.read() as tx:
            return tuple(view_info(view) for view in tx.views.all())

    def unusable(self) -> dict[str, str]:
        """Return why views can compute no rows, by view: a package is not installed or fails, or a model is gone."""
        reasons = dict[str, str]()
        with self._opened.read() as tx:
            for view in tx.views.all():
                try:
                    check_usable(tx, view)
                except (NotInstalledError, ModelError) as error:
                    reasons[view.name] = str(error)
        return reasons

    def add(self, spec: str) -> ViewInfo:
        """Add a view, such as ``text`` or ``clip=vectors:dim=512``; the next ``index`` computes its rows.

        Raises InvalidInputError, AlreadyExistsError, BusyError, StorageError.
        """
        with self._opened.read() as tx:
            name, extractor = parse_view(spec, tx.home)  # before the lock: models compute vectors of names
        with self._opened.writable.write() as tx:
            return view_info(add_view(tx, name, extractor))

    def fit(
        self,
        images: Iterable[PictureForm | Picture],
        views: Sequence[str] | None = None,
        seed: int = 0,
        workers: int | None = None,
        refit: bool = False,
    ) -> tuple[ViewInfo, ...]:
        """Fit views [default: those that need a fit and have none] and return all views.

        The method fits views of pictures on ``images``, in any form, with labels if each is a ``Picture``. It fits
        views of texts on the texts of the items, and computes the rows of these texts at once.

        An InputWarning names the items whose texts a model fails on; they get no row of its view.

        Raises InvalidInputError (nothing to fit), NotFoundError, NotReadyError (too few), BusyError, StorageError.
        """
        from crossview.engine.catalog.ingest.texts import place_texts
        from crossview.engine.catalog.ingest.view_fitting import fit_views

        with self._opened.folder.working():
            fit_views(
                self._opened.writable, images, one_or_several(views or ()), refit, seed, workers, self._opened.pictures
            )
            failures = place_texts(self._opened.writable)
        if failures:
            warn_of(
                f"items without a row: {few(failure.key for failure in failures)}; the first one: {failures[0].reason}"
            )
        return self()

    def delete(self, view: str) -> None:
        """Delete a view with its rows and its fitted states, and give its disk space back; items stay.

        Raises InvalidInputError (the last view), NotFoundError, NotReadyError (spaces use it), BusyError, StorageError.
        """
        from crossview.engine.spaces.deletion import delete_view, free_disk_space

        self._opened.check_open()
        with self._opened.files.changing() as tx:
            delete_view(tx, view)
        self._opened.loaded.forget(RAW)
        free_disk_space(self._opened.writable, self._opened.files)
