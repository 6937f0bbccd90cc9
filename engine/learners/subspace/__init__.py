"""Linear subspaces with closed solutions: PCA, CCA, PLS, LDA and semantic matching.

May import the root of ``engine.learners``.
"""
