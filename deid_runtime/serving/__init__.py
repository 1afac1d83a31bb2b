"""Serving the models and the whole pipeline on a Triton server; needs the extra ``serve`` to run one here."""
