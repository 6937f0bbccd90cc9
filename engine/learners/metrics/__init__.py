"""Mahalanobis metrics from comparisons: what may be said of distances, and how a metric is fitted to it."""
