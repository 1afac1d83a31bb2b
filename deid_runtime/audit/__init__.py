"""The parrot attack on de-identified notes: can a tagger that learns from the surrogates find the missed identifiers?

Source: Carrell et al., "The machine giveth and the machine taketh away: a parrot attack on clinical text deidentified
with hiding in plain sight", JAMIA 2019.
"""
