"""Tournaments of many players in one or several games, on the same draws.

Start with `tournament.py`; `plan.py` reads a plan. Rankings are in `negolab/analysis/ranking.py`.
"""
