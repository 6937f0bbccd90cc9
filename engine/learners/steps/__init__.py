"""Steps, which map each view's rows by themselves: normalisation, kernels, and lifting for inner products.

May import the root of ``engine.learners``.
"""
