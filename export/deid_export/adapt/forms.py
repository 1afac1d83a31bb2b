"""The forms of notes for annotation. A separate module, because the help of the command line must load fast."""

from typing import Final

#: In the order of the help; :func:`deid_export.adapt.annotations.give_out` writes them.
FORMS: Final = ("jsonl", "brat", "i2b2")
