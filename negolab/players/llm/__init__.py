"""A language model as a player of any game: what it is told as a chat, what it answers as the game's words."""

from negolab.players.llm.player import LLM

__all__ = ["LLM"]
