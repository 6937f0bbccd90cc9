"""Steps, which map the rows of each view separately: normalisation, kernels, and lifting for inner products.

May import the root of ``engine.learners``.
"""
