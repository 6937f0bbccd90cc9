"""Linear subspaces with closed solutions: PCA, CCA, PLS, LDA and semantic matching; and the span of rows.

May import the root of ``engine.learners``.
"""
