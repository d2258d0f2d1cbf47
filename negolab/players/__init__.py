"""Players: what answers when a seat is asked."""
