"""Resynthesize annotated files into a corpus that can be shared. Nothing is written unless every check passes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from deid_runtime.annotations.read import read_annotated, read_records
from deid_runtime.errors import SettingsError
from deid_runtime.formats import format_of, is_table
from deid_runtime.resynthesis.notes import Resynthesis, resynthesize
from deid_runtime.resynthesis.write import write_corpus
from deid_runtime.run.quarantine import Quarantine
from deid_runtime.run.report import deid_version, describe_outputs
from deid_runtime.run.staging import Staging, writing
from deid_runtime.surrogates import Surrogates
from deid_runtime.system.digests import BodyDigests, digest_file, files_below
from deid_runtime.system.owner_only import write_owner_only


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    """How to read and write a corpus."""

    form: str = "jsonl"  # one of deid_runtime.resynthesis.forms.FORMS
    keep_ids: bool = False
    overwrite: bool = False
    ordinary_words: Path | None = None  # file of words, one per line, that a person found to be ordinary
    date_shift_days: int = 365
    date_shift_whole_weeks: bool = False


def resynthesize_files(paths: Sequence[Path], out: Path, options: CorpusOptions, *, key: bytes) -> Resynthesis:
    """Resynthesize the notes of ``paths`` and write them into the folder ``out``; return the result.

    Nothing is written when the checks are not clean (``checks.is_clean`` of the result). The run report with the checks
    is written beside ``out`` as ``<out>.manifest.json``.

    Raises SourceError, InputError, SettingsError or OutputError. Then ``out`` is unchanged.
    """
    judged = read_words(options.ordinary_words) if options.ordinary_words else frozenset()
    surrogates = Surrogates(
        key, date_shift_days=options.date_shift_days, date_shift_whole_weeks=options.date_shift_whole_weeks
    )
    with Staging(out, paths, is_folder=True, overwrite=options.overwrite) as staging:
        made = resynthesize(
            read_annotated(paths), read_records(paths), surrogates, judged=judged, keep_ids=options.keep_ids
        )
        if made.checks.is_clean:
            with writing(out):
                write_corpus(staging.body, options.form, made.notes, made.records)
                with Quarantine(staging.quarantine) as quarantine:
                    pass  # the quarantine is always empty: an invalid note stops the run
                outputs = describe_outputs(_digests(staging.body), quarantine.digest)
            staging.commit(_manifest(made, options, len(judged), outputs))
    return made


def _digests(body: Path) -> dict[str, object]:
    """Return the digests of a corpus. It is small enough to read it again."""
    digests = BodyDigests(body)
    for path in files_below(body):
        digests.add(path, digest_file(path), format_of(path.name) or "", is_table=is_table(path.name))
    return digests.to_json(is_folder=True)


def _manifest(
    made: Resynthesis, options: CorpusOptions, judged: int, outputs: Mapping[str, object]
) -> dict[str, object]:
    return {
        "task": "resynthesize",
        "deid_version": deid_version(),
        "outputs": dict(outputs),
        "options": {
            "form": options.form,
            "keep_ids": options.keep_ids,
            "date_shift_days": options.date_shift_days,
            "date_shift_whole_weeks": options.date_shift_whole_weeks,
            "ordinary_words": judged,
        },
        "patient_records": len(made.records),
        "checks": made.checks.to_json(),
    }


def read_words(path: Path) -> frozenset[str]:
    """Return the words of a file, one per line; ``#`` starts a comment. Raises SettingsError if it is unreadable."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise SettingsError(
            f"cannot read word list {path}: {error.strerror}; expected a text file with one word per line"
        ) from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"word list {path} is not UTF-8 from byte {error.start} on; save it as UTF-8") from None
    return frozenset(word for line in lines if (word := line.partition("#")[0].strip()))


def write_violations(path: Path, made: Resynthesis) -> int:
    """Write the violations to a new file that only its owner may read; return their number.

    Each line is a JSON object: ids of the original and of the new note, kind, label (empty outside spans), the word,
    and the words around it in the new text. Raises OutputError when ``path`` exists.
    """
    texts = {note.id: note.text for note in made.notes}
    new_id = {source: note for note, source in made.sources.items()}
    lines = []
    for violation in made.violations:
        text = texts[new_id[violation.note]]
        around = text[max(0, violation.start - 40) : violation.end + 40]
        row = asdict(violation) | {"new_note": new_id[violation.note], "around": around}
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    write_owner_only(path, lines)
    return len(lines)
