"""Multi-view neighborhood preserving projections (Quadrianto and Lampert, ICML 2011) and their hybrid with PCA."""
