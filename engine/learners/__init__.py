"""Learners: scikit-learn estimators that map the rows of one or several views to embeddings.

``frame`` is what every learner is built of, ``subspace`` and ``hashing`` hold the default and the standard methods, and
``papers`` one folder for each paper, with the losses, solvers and samplers that they share.
"""
