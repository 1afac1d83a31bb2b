"""Harvest candidates for a hospital's inclusion list and templates from its own notes.

Murugadoss et al. (Patterns 2021) whitelist the most prevalent sentences, count those with disease and drug names
separately, and derive regular expressions from machine-written sentences. A harvest only proposes. A person decides
line by line, and only accepted lines reach the files that ``deid run`` reads.

::

    sources      notes with spans marked by a person or by the current ensemble; can be read several times
    counting     frequent sentences, more than fit into memory; distinct patients, exact up to a cap
    passages     the sentences of a note, each with its spans
    masks        the IOB2 mask and the syntax mask of a sentence
    terms        lists of diseases and drugs
    prevalence   inclusion-list candidates
    templates    template candidates
    checks       the checks of a candidate before a person sees it
    candidates   the review files
    collect      the passes over the notes, in their order
    review       the decisions, in a terminal
"""
