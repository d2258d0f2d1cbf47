"""Scripted players: one module of baselines per game, found by the game's name, and those that play any game."""
