"""Calls to a model behind an OpenAI-compatible endpoint: within limits and budget, nothing paid twice."""
