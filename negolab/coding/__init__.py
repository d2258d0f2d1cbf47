"""Coding what was said: codebooks, coders that are blind, and how far they agree."""
