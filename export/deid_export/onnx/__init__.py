"""Make a model repository from trained weights: ONNX export, quantisation, checks."""
