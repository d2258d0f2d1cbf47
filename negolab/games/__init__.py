"""The games: one folder each, found by its name (`nl.list_games()`)."""
