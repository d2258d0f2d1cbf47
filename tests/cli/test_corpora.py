"""`negolab import`: what it writes, prints and refuses."""

from __future__ import annotations

import os
import resource
import subprocess
from functools import partial
from pathlib import Path

import msgspec
import pytest

from negolab.catalog import load
from negolab.cli.corpora import import_records, new_folder
from negolab.match import Match
from negolab.record import Record, parse_record
from negolab.store import Store, read
from tests.formats.test_dealornodeal import corpus_file
from tests.support.command import NEGOLAB, negolab, refusal, succeeding
from tests.support.dialogues import tagged

IMPORT = ("import", "dealornodeal")


def dealt(seed: int) -> Record:
    """A match that has only been dealt, as it is read from a file."""
    return parse_record(Match(load("trading"), seed=seed).record().to_line())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return corpus_file(tmp_path)


def test_a_file_becomes_records_that_check_and_export(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    ran = succeeding(*IMPORT, str(file), "--out", str(out))
    assert "5 dialogues with both views" in ran.stdout
    assert "one view only, left out (--all imports them): 1 dialogue, in lines 11" in ran.stdout
    assert "no dialogue in line 12: not a tagged line" in ran.stdout
    assert "5 records (2 agreed, 1 <disagree>, 1 <no_agreement>, 1 <disconnect>)" in ran.stdout
    agreement, score, pareto = ran.stdout.splitlines()[-3:]
    assert agreement.split() == ["agreement", "40.0%", "n", "=", "5", "dialogues"]
    assert score.split()[:6] == ["mean", "score", "2.900", "n", "=", "10"]
    assert pareto.split() == ["Pareto-optimal", "50.0%", "n", "=", "2", "agreements"]
    checked = negolab("check", str(out))
    assert (checked.returncode, checked.stdout.split()[0]) == (0, "5"), checked.stderr
    succeeding("export", str(out), "--to", "csv", "--out", str(tmp_path / "tables"))
    assert (tmp_path / "tables" / "matches.csv").read_text().count("ABORTED") == 3
    assert "person" in negolab("replay", str(out), "--id", "small-00001").stdout


def test_an_import_that_was_stopped_goes_on(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    negolab(*IMPORT, str(file), "--out", str(out))
    records = out / "records.jsonl"
    whole = records.read_bytes()
    records.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    again = negolab(*IMPORT, str(file), "--out", str(out))
    assert again.returncode == 0 and "40.0%" in again.stdout
    assert records.read_bytes() == whole


def test_dialogues_with_one_view_are_taken_on_request_and_not_counted(file: Path, tmp_path: Path) -> None:
    ran = succeeding(*IMPORT, str(file), "--out", str(tmp_path / "run"), "--all")
    assert "6 records (3 agreed" in ran.stdout and "of the 5 with both views" in ran.stdout
    assert "40.0%" in ran.stdout
    assert [record.header.notes["views"] for record in read(tmp_path / "run")] == [2, 2, 2, 2, 2, 1]


def test_a_dialogue_that_the_rules_do_not_allow_is_named_and_left_out(tmp_path: Path) -> None:
    mine, theirs = tagged()
    twice = [mine.replace("THEM: then", "YOU: then"), theirs.replace("YOU: then", "THEM: then")]
    file = corpus_file(tmp_path, [*twice, *tagged()])
    ran = succeeding(*IMPORT, str(file), "--out", str(tmp_path / "run"))
    assert "left out: small.txt, line 1: the speakers did not alternate" in ran.stdout
    assert [record.id for record in read(tmp_path / "run")] == ["small-00003"]


def test_what_cannot_be_imported_is_one_line_and_leaves_no_folder(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "more" / "small.txt"
    other.parent.mkdir()
    other.write_text("\n".join(tagged()[:1]))
    for files, said in (
        ([tmp_path / "none.txt"], "none.txt is not a file"),
        ([tmp_path], "is a folder: give the files in it"),
        ([file, other], "two files are called small"),
        ([other], "import them with --all"),
    ):
        assert said in refusal(*IMPORT, *map(str, files), "--out", str(tmp_path / "run"))
        assert not (tmp_path / "run").exists()


def test_an_import_that_fails_on_its_way_leaves_no_folder(file: Path, tmp_path: Path) -> None:
    mine, theirs = tagged()
    twice = [mine.replace("THEM: then", "YOU: then"), theirs.replace("YOU: then", "THEM: then")]
    (tmp_path / "other").mkdir()
    bad, out = corpus_file(tmp_path / "other", twice), tmp_path / "new" / "run"
    ran = negolab(*IMPORT, str(bad), "--out", str(out))
    assert ran.returncode == 2 and "no dialogue could be replayed" in ran.stderr
    assert not (tmp_path / "new").exists()
    full = subprocess.run(
        [*NEGOLAB, *IMPORT, str(file), "--out", str(out)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # none is cut off
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)),
    )
    assert full.returncode == 2 and f"{out}/records.jsonl: file too large" in full.stderr
    assert not (tmp_path / "new").exists()


def test_an_import_that_fails_takes_nothing_that_others_wrote_meanwhile(tmp_path: Path) -> None:
    out = tmp_path / "new" / "run"
    record = dealt(7)

    def fail() -> Record:
        import_records([("good", lambda: record)], out / "more", "match")
        (tmp_path / "new" / "notes.txt").write_text("mine")
        raise ValueError("it is damaged")

    with pytest.raises(ValueError, match="no match could be replayed: bad: it is damaged"):
        import_records([("bad", fail)], out, "match")
    assert read(out / "more") == [record] and (tmp_path / "new" / "notes.txt").read_text() == "mine"


def test_two_imports_into_one_new_folder_leave_it_to_the_first(tmp_path: Path) -> None:
    out = tmp_path / "new" / "run"
    first, second = dealt(7), dealt(8)
    with pytest.raises(OSError, match="not empty"), new_folder(out) as draft:
        Store(draft).close()
        import_records([("first", lambda: first)], out, "match")
    assert read(out) == [first] and [path.name for path in tmp_path.iterdir()] == ["new"]
    with Store(out), pytest.raises(ValueError, match="in use by another process"):
        import_records([("first", lambda: first), ("second", lambda: second)], out, "match")
    assert read(out) == [first]


def test_another_match_with_the_same_id_is_left_out_and_a_copy_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = dealt(7), dealt(8)
    twin = msgspec.structs.replace(second, header=msgspec.structs.replace(second.header, id=first.id))
    found = [(name, partial(msgspec.structs.replace, one)) for name, one in (("a", first), ("b", twin), ("c", first))]
    assert import_records(found, tmp_path / "run", "match") == ([first], 1, 1)
    assert f"left out: b: another match has the same ID, {first.id!r}" in capsys.readouterr().out
    with pytest.raises(ValueError, match="already contains other records"):
        import_records(found[1:2], tmp_path / "run", "match")


def test_a_folder_with_other_records_is_refused(file: Path, tmp_path: Path) -> None:
    batch = tmp_path / "batch"
    negolab("batch", "split", "--a", "equal", "--b", "equal", "--n", "2", "--out", str(batch))
    ran = negolab(*IMPORT, str(file), "--out", str(batch))
    assert ran.returncode == 2 and "contains a batch" in ran.stderr
    negolab(*IMPORT, str(file), "--out", str(tmp_path / "run"))
    moved = file.rename(tmp_path / "big.txt")
    ran = negolab(*IMPORT, str(moved), "--out", str(tmp_path / "run"))
    assert ran.returncode == 2 and "already contains other records, such as small-00001" in ran.stderr
