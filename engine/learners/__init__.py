"""Learners: scikit-learn estimators that map the rows of one or several views to embeddings."""
