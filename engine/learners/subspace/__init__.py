"""Linear subspaces with closed solutions: PCA, CCA, PLS, LDA and semantic matching; class posteriors, co-EM, instance
embeddings, and the span of rows."""
