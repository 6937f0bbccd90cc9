"""From pictures and texts to feature rows: safe decoding, and the extractors of the views.

Import names from their modules, so that describing views or talking to a server does not load OpenCV.
"""
