"""The forms of a written corpus. A separate module, because the help of the command line must load fast."""

from typing import Final

#: In the order of the help; :func:`deid_runtime.resynthesis.write.write_corpus` writes them.
FORMS: Final = ("jsonl", "tagged", "i2b2", "brat")
