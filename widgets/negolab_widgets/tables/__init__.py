"""Tables: how a game looks to the person who plays it, one module per game; `plain` serves any game."""
