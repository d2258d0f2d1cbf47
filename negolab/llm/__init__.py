"""Language models as players of any game."""

from negolab.llm.player import LLM

__all__ = ["LLM"]
