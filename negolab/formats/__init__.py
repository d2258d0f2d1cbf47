"""Records from any source, transcripts, and published corpora.

`open_source` reads a file of records, the folder of a run or a sweep, or a folder of published clembench episodes, one
record at a time; `open_records` reads all of them.
"""

from negolab.formats.sources import OpenedRecords, RecordSource, SourceEntry, open_records, open_source

__all__ = ["OpenedRecords", "RecordSource", "SourceEntry", "open_records", "open_source"]
