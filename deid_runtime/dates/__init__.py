"""Dates: parse a written date, shift it, write it in the same form."""
