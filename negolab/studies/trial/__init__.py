"""Trials of a study by bots before links go out."""
