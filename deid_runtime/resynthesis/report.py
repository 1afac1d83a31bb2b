"""The checks of a resynthesis as plain text, at most 100 columns wide. Contains no note text."""

from collections.abc import Iterator

from deid_runtime.resynthesis.checks import Checks
from deid_runtime.resynthesis.chi_square import ChiSquare


def render(checks: Checks) -> str:
    """Return the checks as plain text, ending in a line end."""
    parts = (_render_labels, _render_names, _render_violations)
    head = f"{checks.notes:,} notes of {checks.patients:,} patients"
    return "\n".join([head, *(line for part in parts for line in ["", *part(checks)])]) + "\n"


def _render_labels(checks: Checks) -> Iterator[str]:
    yield "Spans and distinct values before and after; share of spans that kept their form; chi-square of"
    yield "the distribution of forms, p simulated"
    head = f"{'label':<16}{'spans':>8}{'after':>8}{'values':>9}{'after':>8}{'same form':>11}"
    yield f"{head}{'chi-square':>12}{'df':>5}{'p':>8}"
    for name, label in checks.labels.items():
        counts = f"{label.spans_before:>8}{label.spans_after:>8}{label.unique_before:>9}{label.unique_after:>8}"
        yield f"{name:<16}{counts}{_figure(label.same_form):>11}{_test(label.forms)}"
    before = sum(label.spans_before for label in checks.labels.values())
    after = sum(label.spans_after for label in checks.labels.values())
    yield f"{'all labels':<16}{before:>8}{after:>8}{'':>28}{_test(checks.label_distribution)}"


def _render_names(checks: Checks) -> Iterator[str]:
    yield f"Values that a patient's notes repeat: {checks.repeated:,}, with one surrogate: {checks.consistent:,}"
    yield f"Family names in the originals: {checks.family_names:,}"
    yield f"Ordinary words among them that occur in the new corpus: {checks.ordinary_words:,}, in"
    yield f"{checks.ordinary_outside:,} places outside spans and {checks.ordinary_inside:,} in names of places"


def _render_violations(checks: Checks) -> Iterator[str]:
    yield "Originals in the new corpus, which must be none"
    for kind, count in checks.violations.items():
        yield f"{kind:<22}{count:>8}"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _test(test: ChiSquare) -> str:
    return f"{test.statistic:>12.1f}{test.degrees:>5}{_figure(test.p_value):>8}"
