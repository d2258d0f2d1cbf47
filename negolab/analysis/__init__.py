"""Tables, measures, estimates and statistics of recorded matches."""
