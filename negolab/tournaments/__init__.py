"""Tournaments: many players of one or several games, each against each, on the same draws."""
