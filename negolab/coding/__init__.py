"""Coding of what was said: codebooks, blinded coders, and how far they agree."""
