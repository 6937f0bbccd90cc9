"""Questions to people: in which notion of similarity which items are alike, and what was answered.

``asking`` has the questions and answers of a collection. ``choose`` finds the question whose answer tells most about
where items lie. It takes a belief, which is how sure a model is of the distances between items: ``Places`` where all
that is known of items are the answers, ``Metric`` where they have features.
"""

from crossview.engine.questions.choosing import Question, choose
from crossview.engine.questions.metric import Metric
from crossview.engine.questions.places import Places

__all__ = ["Metric", "Places", "Question", "choose"]
