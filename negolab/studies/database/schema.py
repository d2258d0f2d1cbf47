"""Tables of the database. Times are in seconds since 1970 (UTC)."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Column, Double, ForeignKey, Integer, Text

SCHEMA = 1

metadata = sa.MetaData()

meta = sa.Table("meta", metadata, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

studies = sa.Table(
    "studies",
    metadata,
    Column("id", Text, primary_key=True),
    Column("text", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("salt", Text, nullable=False),
    Column("created", Double, nullable=False),
)

participants = sa.Table(
    "participants",
    metadata,
    Column("id", Text, primary_key=True),
    Column("study", ForeignKey("studies.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("link", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("treatment", Text),
    Column("created", Double, nullable=False),
    Column("opened", Double),
    Column("consented", Double),
    Column("consent", Text),
    Column("started", Double),
    Column("ended", Double),
    Column("passed", Integer, nullable=False),
    Column("external", Text),
    Column("lease", Text),
    sa.UniqueConstraint("study", "number"),
)

matches = sa.Table(
    "matches",
    metadata,
    Column("id", Text, primary_key=True),
    Column("study", ForeignKey("studies.id"), index=True),
    Column("treatment", Text),
    Column("practice", Integer, nullable=False),
    Column("header", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("ended", Double),
)

seats = sa.Table(
    "seats",
    metadata,
    Column("match", ForeignKey("matches.id"), primary_key=True),
    Column("seat", Text, primary_key=True),
    Column("participant", ForeignKey("participants.id"), index=True),
)

events = sa.Table(
    "events",
    metadata,
    Column("match", ForeignKey("matches.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("at", Double, nullable=False),
)

answers = sa.Table(
    "answers",
    metadata,
    Column("participant", ForeignKey("participants.id"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("at", Double, nullable=False),
)

progress = sa.Table(
    "progress",
    metadata,
    Column("participant", ForeignKey("participants.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("step", Text, nullable=False),
    Column("at", Double, nullable=False),
)

attempts = sa.Table(
    "attempts",
    metadata,
    Column("participant", ForeignKey("participants.id"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("value", Text, nullable=False),
    Column("is_right", Integer, nullable=False),
    Column("at", Double, nullable=False),
)

notes = sa.Table(
    "notes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("study", Text),
    Column("participant", Text),
    Column("match", Text),
    Column("detail", Text, nullable=False),
)
