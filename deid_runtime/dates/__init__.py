"""Shift dates: parse a written date, move it by days, and write it in the same format."""
