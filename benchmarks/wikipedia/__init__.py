"""Images and texts of Wikipedia, after Rasiwasia et al. (ACM Multimedia 2010)."""
