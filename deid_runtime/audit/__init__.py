"""The parrot attack on de-identified notes: does a tagger that learnt from the surrogates find what was missed?

Carrell et al., "The machine giveth and the machine taketh away: a parrot attack on clinical text deidentified with
hiding in plain sight", JAMIA 2019.
"""
