"""Pictures and texts to feature rows: safe decoding, and the extractors of the views.

Names are imported from their modules, so that describing views or talking to a server loads no OpenCV.
"""
