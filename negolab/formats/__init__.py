"""Records from any source, transcripts, and published corpora.

`open_source` reads a file of records, the folder of a run or a sweep, or a folder of published clembench episodes, one
record at a time; `list_source` lists them without reading each.
"""

from negolab.formats.sources import Listing, RecordSource, SourceEntry, list_source, open_source

__all__ = ["Listing", "RecordSource", "SourceEntry", "list_source", "open_source"]
