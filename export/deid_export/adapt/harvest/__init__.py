"""Harvesting: from a hospital's own notes to candidates for its inclusion list and templates.

Murugadoss et al. (Patterns 2021) whitelist the most prevalent sentences, those with disease and drug names apart, and
derive regular expressions from sentences that machines write. What is harvested is a proposal: a person decides line by
line, and only what was accepted reaches the files that ``deid run`` reads.

::

    sources      notes with the spans that a person or the present ensemble marked, as often as they are asked for
    counting     who is frequent among more sentences than memory holds; distinct patients, exact up to a cap
    passages     the sentences of a note, each with its spans
    masks        the IOB2 mask and the syntax mask of a sentence
    terms        lists of diseases and drugs
    prevalence   inclusion-list candidates
    templates    template candidates
    checks       what is asked of a candidate before a person sees it
    candidates   the review files
    collect      the passes over the notes, in their order
    review       the decisions, in a terminal
"""
