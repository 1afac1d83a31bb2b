"""The audit as plain text, at most 100 columns wide. Contains no note text."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Final

from deid_runtime.audit.gain import Gain
from deid_runtime.audit.gate import JudgedAttack, is_passed
from deid_runtime.audit.score import AttackScore
from deid_runtime.evaluation.significance import Interval

_WIDTH: Final = 100


def render(rows: Sequence[tuple[str, AttackScore]]) -> str:
    """Return tables of the named attacks, ending in a line end. ``rows`` must not be empty."""
    parts = (_render_attacks, _render_chance, _render_labels)
    first = rows[0][1]
    head = f"{first.notes:,} notes of {first.patients:,} patients; guesses are words, leaks are spans"
    return "\n".join([head, *(line for part in parts for line in ["", *part(rows)])]) + "\n"


def render_gate(judged: Sequence[JudgedAttack], max_gain: float) -> str:
    """Return the table of the gate with one overall verdict, ending in a line end. ``judged`` must not be empty."""
    first = judged[0].gain
    head = (
        f"{'attacker':<11}{'leaks':>7}{'words':>10}{'leaked':>8}{'marked':>8}{'right':>7}{'gain':>7} {'interval':<15}"
    )
    lines = [
        f"Release gate: gain over random marks among the words of {first.patients:,} patients, at most {max_gain:g}",
        "95 % intervals by bootstrap over patients",
        head + "verdict",
    ]
    for each in judged:
        lines.append(_gain_row(each.attacker, f"{each.share:.1%}", each.gain) + each.verdict)
        lines += [_gain_row(f"  {name}", "", gain).rstrip() for name, gain in each.parts.items() if gain.words]
    return "\n".join([*lines, f"verdict: {'PASS' if is_passed(judged) else 'FAIL'}"]) + "\n"


def _gain_row(name: str, share: str, gain: Gain) -> str:
    counts = f"{share:>7}{gain.words:>10,}{gain.leaked:>8,}{gain.guesses:>8,}{gain.right:>7,}"
    return f"{name:<11}{counts}{_gain(gain.gain):>7} {_gains(gain.interval):<15}"


def _gain(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _gains(interval: Interval | None) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}" if interval else "-"


def _render_attacks(rows: Sequence[tuple[str, AttackScore]]) -> Iterator[str]:
    yield "Leaks found and guesses that are right, 95 % intervals by bootstrap over patients"
    found = f"{'leaks':>7}{'found':>7}{'share':>7} {'interval':<15}"
    yield f"{'attack':<14}{found}{'guesses':>8}{'right':>7}{'share':>7} {'interval':<15}{'x chance':>8}"
    for name, score in rows:
        found = f"{score.leaks:>7}{score.leaks_found:>7}{_figure(score.found):>7} {_range(score.found_interval):<15}"
        right = f"{score.right:>7}{_figure(score.precision):>7} {_range(score.precision_interval):<15}"
        yield f"{name:<14}{found}{score.guesses:>8}{right}{_lift(score.lift):>8}"


def _render_chance(rows: Sequence[tuple[str, AttackScore]]) -> Iterator[str]:
    yield "As many guesses at random: leaks found, and share of guesses that are right"
    yield f"{'attack':<14}{'found':>7} {'95 % of draws':<15}{'right':>7}   among"
    for name, score in rows:
        for kind, chance in (("", score.chance), (" with a capital or digit", score.chance_by_look)):
            low, high = chance.leaks_found_range
            drawn = f"{chance.leaks_found:>7.1f} {f'{low:.0f} to {high:.0f}':<15}{_figure(chance.precision):>7}"
            yield f"{name:<14}{drawn}   {chance.tokens:,} words{kind}"


def _render_labels(rows: Sequence[tuple[str, AttackScore]]) -> Iterator[str]:
    yield "Leaks found of those planted, by label"
    for name, score in rows:
        most = sorted(score.labels.items(), key=lambda item: (-item[1][0], item[0]))
        found_by_label = ", ".join(f"{label} {found}/{planted}" for label, (planted, found) in most) or "none known"
        yield from wrap(found_by_label, _WIDTH, initial_indent=f"{name:<14}", subsequent_indent=" " * 14)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _range(interval: Interval | None) -> str:
    return f"{interval.low:.3f} to {interval.high:.3f}" if interval else "-"


def _lift(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
