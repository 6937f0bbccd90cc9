"""The pages for people: server-rendered HTML on the HTTP port, whose every action is a method of the dispatcher.

A page is a coroutine that takes a ``Visit`` and returns an ``Answer``. To add one:

1. Write ``server/edge/pages/NOUN_page.py`` with ``PAGES``, a tuple of ``Page(path, handler)``. A path such as
   ``/c/{collection}/map`` gives ``visit.path["collection"]``, and ``visit.collection`` is its resource name. POST is
   ``Page(path, handler, "POST")``: the site refuses it without the token of the session, so a form contains
   ``{{ csrf() }}``, and a script sends the header ``x-csrf-token`` (``send`` of ``static/page.js`` does).
2. Add ``*NOUN_page.PAGES`` to ``PAGES`` in ``routes.py``. For a tab of every collection, add a ``Section`` to
   ``SECTIONS`` there.
3. Call methods only by ``await visit.call("ListItems", collections_pb2.ListItemsRequest(...))``: it returns the
   response, or raises a ``PageError`` that the site shows with its status. Several at once: ``visit.call_all``.
   Fields of a form are in ``await visit.form()``, those of the address in ``visit.query``; both have ``text(name)``
   and ``texts(name)``, which refuse nothing. After a change, return ``visit.redirect(path)``.
4. Return ``visit.page("noun.html", title=..., ...)``. The template extends ``base.html`` and fills ``content``; import
   the macros of ``cards.html`` for pictures. A request with the header ``x-part`` gets the block ``content`` alone,
   so that ``static/page.js`` can replace it (``<form data-live>``, ``<a data-live>``).
5. Write no inline script, style or handler: the browser refuses them. Everything in templates is escaped; put texts
   of users into ``{{ name(text) }}``, which isolates their direction and shortens them. Widths of bars are
   attributes of SVG.

A thing that reports show, too, is a macro in a file of its own: ``groups.html``, ``findings.html``, ``change.html``,
``explanation.html`` and ``figures.html``, with the style sheet ``report.css``. It takes values of the engine, and asks
``thumbnail(collection, key)``, ``link(collection, key)`` and ``acts`` for the difference between pages and reports
(``templates.py``); a page adds its forms by ``{% call %}``.

Spaces, sizes and colours are the custom properties at the top of ``static/page.css``: use them, and no other values.
``tests/server/edge/pages/test_every_page.py`` visits each page; add a line for yours. ``tests/helpers/browsing.py`` has
a client with a session, and a browser.
"""
