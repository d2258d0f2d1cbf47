"""Finding players by name, and players for any game."""
