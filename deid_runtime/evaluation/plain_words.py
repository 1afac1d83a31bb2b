"""The report in three plain sentences, for a reader who does not know its terms. Contains no note text."""

from deid_runtime.evaluation.breakdown import Totals


def plain_sentences(totals: Totals) -> list[str]:
    """Return three sentences: notes without a miss, notes in which a name was missed, words removed for nothing."""
    wrong = totals.wrong_words
    removed = "was removed that identifies" if wrong == 1 else "were removed that identify"
    return [
        f"Of {_count(totals.notes, 'note')}, {totals.clean_notes:,} had nothing missed.",
        f"In {_count(totals.name_notes, 'note')} a name was missed.",
        f"{_count(wrong, 'clinical word')} {removed} nobody.",
    ]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
