"""Rivals of the product's defaults: simple strong methods of libraries and papers, tuned inside the training items."""
