"""The pages of the benchmarks, in groups, and the results that ``README.md`` shows.

A new result needs a page here: a test holds that each one is on exactly one page.
"""

from benchmarks.pages.learners import LEARNERS
from benchmarks.pages.page import Page
from benchmarks.pages.papers import PAPERS
from benchmarks.pages.retrieval import RETRIEVAL
from benchmarks.pages.server import SERVER
from benchmarks.pages.speed import SPEED

GROUPS = (RETRIEVAL, PAPERS, LEARNERS, SPEED, SERVER)
PAGES: dict[str, Page] = {page.name: page for group in GROUPS for page in group.pages}
README = ("copies", "unseen", "wikipedia", "words")
"""Pages whose first result is a line of the table in ``README.md``."""
