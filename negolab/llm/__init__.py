"""Language models as players of any game.

Start with `player.py`, which turns prompts into a chat and answers into replies; `endpoint/` calls the service.
"""

from negolab.llm.player import LLM

__all__ = ["LLM"]
