"""Exact results that belong to no single game: equilibria, cooperative solutions, frontiers and surplus."""
