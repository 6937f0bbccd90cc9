"""Models in ONNX files: what they are, whether they are safe to run, and their rows of pictures and texts.

Import names from their modules: only ``session`` imports onnxruntime, and only ``tokens`` imports tokenizers.
"""
