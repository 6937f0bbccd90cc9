"""Which question to put to people next: the one whose answer tells most about where items lie.

``choose`` takes a belief, which is how sure a model is of the distances between items: ``Places`` where all that is
known of items are the answers, ``Metric`` where they have features. Nothing of ours is imported.
"""

from engine.questions.choosing import Question, choose
from engine.questions.metric import Metric
from engine.questions.places import Places

__all__ = ["Metric", "Places", "Question", "choose"]
