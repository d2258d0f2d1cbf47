"""Calls to OpenAI-compatible endpoints, within rate limits and a budget.

Start with `endpoint.py`; `queue.py` schedules calls, `client.py` sends them, `errors.py` explains failures.
"""
