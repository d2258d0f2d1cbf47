"""Sweeps: one notebook, run over a grid of parameters."""
