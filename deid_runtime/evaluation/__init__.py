"""Evaluation of found spans against gold: token-binary, entity and character scores, uncertainty, a report."""

from deid_runtime.annotations.found import read_found
from deid_runtime.annotations.read import read_gold
from deid_runtime.evaluation.agreement import Agreement, agreement
from deid_runtime.evaluation.report import Report, evaluate
from deid_runtime.evaluation.review import errors_in_context, write_errors
from deid_runtime.evaluation.significance import Difference, compare
from deid_runtime.evaluation.tables import render, render_agreement, render_differences
from deid_runtime.evaluation.tokens import Score, token_binary

__all__ = [
    "Agreement",
    "Difference",
    "Report",
    "Score",
    "agreement",
    "compare",
    "errors_in_context",
    "evaluate",
    "read_found",
    "read_gold",
    "render",
    "render_agreement",
    "render_differences",
    "token_binary",
    "write_errors",
]
