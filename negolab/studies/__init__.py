"""Studies with people: the study file, the host process that runs the matches, the database, and the export."""
