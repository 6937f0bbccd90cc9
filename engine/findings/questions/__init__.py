"""Questions to people about the similarity of items in a notion, and their answers.

``asking`` has the questions and answers of a collection. ``choose`` finds the question whose answer is the most
informative. It needs a belief: a model's distribution of the distances between items. ``Places`` is the belief from
answers alone, ``Metric`` the belief from answers and features.
"""

from crossview.engine.findings.questions.beliefs import Metric, Places
from crossview.engine.findings.questions.choosing import Question, choose

__all__ = ["Metric", "Places", "Question", "choose"]
