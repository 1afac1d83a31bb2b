"""Find and replace the identifiers of notes from Python. Run it with the project installed."""

from deid_runtime import Note, Quarantined, Settings, load_pipeline, new_key

NOTES = [
    Note(id="1", patient="p7", text="Ms. Halvorsen, 87, seen 3/11/2019 by Dr. Lindqvist in Dundas. Call 507-555-0139."),
    Note(id="2", patient="p7", text="Margit Halvorsen rang again on the 14th; BP 120/80, no fever."),
]

if __name__ == "__main__":  # engines with workers of their own import this file again
    key = new_key()  # keep it: the same key gives the same surrogates and date shifts
    with load_pipeline(Settings(), key=key, records={}) as pipeline:
        # These are all notes of their patient: names and abbreviations follow what another note has in full.
        for note, outcome in zip(NOTES, pipeline.deidentify(NOTES, whole_patients=True), strict=True):
            if isinstance(outcome, Quarantined):  # its text must not be used
                print(note.id, "held back:", outcome.stage, outcome.reason)
                continue
            print(outcome.text)
            print([(note.text[span.start : span.end], span.label) for span in outcome.spans])
