"""Calls to models behind OpenAI-compatible endpoints, within limits and budget."""
