"""From trained weights to a model repository: ONNX export, quantisation, checks."""
