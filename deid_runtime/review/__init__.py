"""The review page: people correct found spans, read de-identified notes blind, and try the program on one note."""
