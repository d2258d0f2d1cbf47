"""`negolab serve`: refusals, its processes, restarts, and clean-up."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from negolab_widgets.server import addresses, launcher
from negolab_widgets.server.launcher import LaunchOptions
from typer.exceptions import TyperException

from negolab import cli
from negolab.cli.serve import OPTIONS, PageOptions
from negolab.studies.database import Database
from tests.cli.test_cli import BASE
from tests.conftest import Served, free_port, launch_environment, launching, missing, needs, serving
from tests.engine.test_user_code import ULTIMATUM
from tests.support.gate_server import KERNEL_ID, is_listening, wait_until, write_page
from tests.support.processes import command_line, descendants

OTHER_HOST = "tests.support.fake_host"
POSIX = pytest.mark.skipif(os.name != "posix", reason="processes are looked at in /proc")


def study(folder: Path) -> dict[str, Any]:
    """The options of a study with a small page. The study file is empty, because the fake host does not read it."""
    (folder / "small.toml").write_text("")
    page = write_page(folder)
    return {"study": folder / "small.toml", "study_page": page, "host_module": OTHER_HOST, "desk_port": free_port()}


def refusal(check: Callable[..., object], *args: Any) -> str:
    """What a check raises, in one line."""
    with pytest.raises((RuntimeError, TyperException, ValueError)) as caught:
        check(*args)
    (line,) = str(caught.value).splitlines()
    return line


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`negolab serve` with these arguments, up to the start of the server."""
    monkeypatch.setattr("negolab.cli.serve.start", lambda options: None)
    return lambda *args: cli.app(["serve", *args], standalone_mode=False)


def family(pid: int) -> dict[int, str]:
    """The command lines of a launcher's descendants by process id."""
    return {each: command_line(each) for each in descendants(pid)}


def child(pid: int, words: str) -> int:
    """The launcher's descendant whose command line contains `words`."""
    return next((number for number, command in family(pid).items() if words in command), 0)


STUDY = {"study": Path("STUDY")}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "--host applies only to a study"),
        ({"public_url": "https://lab.example/"}, "--public-url applies only to a study"),
        ({"max_kernels": 5}, "--max-kernels applies only to a study"),
        ({"pool": 3}, "--pool applies only to a study"),
        ({"desk_port": 8899}, "--desk-port applies only to a study"),
        ({"study": Path("nowhere.toml")}, "there is no study nowhere.toml"),
        ({**STUDY, "host": "0.0.0.0"}, "--public-url"),
        ({**STUDY, "port": 8899, "desk_port": 8899}, "choose two"),
        ({**STUDY, "kernel_user": "no-such-user"}, "no-such-user"),
    ],
)
def test_what_is_not_safe_is_refused_in_one_line(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(BASE)
    given = {"port": free_port(), **options}
    if options.get("study") == STUDY["study"]:
        given = {"desk_port": free_port(), **given, "study": tmp_path / "s.toml"}
    assert words in refusal(launcher._check_options, LaunchOptions(**given))


def test_the_server_is_given_what_the_command_says_and_refuses_it_in_one_line(tmp_path: Path) -> None:
    """Through all processes; the other refusals are tested where they are made."""
    command = [sys.executable, "-m", "negolab", "serve", "--no-browser", f"--port={free_port()}", "--host=0.0.0.0"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert "--host applies only to a study" in line and not list(tmp_path.iterdir()), "nothing was started"


def test_more_warm_kernels_than_the_most_are_refused_with_their_number(command: Callable[..., Any]) -> None:
    assert "8" in refusal(command, "--pool=9")


@pytest.mark.parametrize("named", ["in the study", "as a module"])
def test_a_table_that_cannot_be_imported_is_refused_before_anybody_meets_it(tmp_path: Path, named: str) -> None:
    game = tmp_path / "tableless.py"
    game.write_text(ULTIMATUM.read_text() + '\nTABLE = "tableless:NoTable"\n')
    (tmp_path / "s.toml").write_text(BASE.replace("trading", str(game)).replace("fair-split", "share"))
    given = {"study": tmp_path / "s.toml"} if named == "in the study" else {"modules": [str(game)]}
    assert "has no attribute 'NoTable'" in refusal(launcher._check_options, LaunchOptions(**given))


def test_a_study_under_another_name_is_not_served_to_dead_links(tmp_path: Path, command: Callable[..., Any]) -> None:
    file, database = tmp_path / "new.toml", Database(tmp_path / "prices.db")
    file.write_text(BASE)
    database.study("prices", BASE)
    database.close()
    said = refusal(command, str(file), f"--db={tmp_path / 'prices.db'}")
    assert "is called 'new', but the database has prices" in said and 'name = "prices"' in said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "negolab study links my/s.toml -n 20"),
        ({"port": 9000}, "negolab study links my/s.toml -n 20 --url http://127.0.0.1:9000/"),
        (
            {"public_url": "https://lab.example/a", "behind_proxy": True, "db": "/data/my people.db"},
            "negolab study links my/s.toml -n 20 --url https://lab.example/a/ --db '/data/my people.db'",
        ),
        (
            {"db": "postgresql+psycopg://me:pw@lab.example/x"},
            "negolab study links my/s.toml -n 20, with the same $NEGOLAB_DB",
        ),
    ],
)
def test_the_command_for_links_leads_to_what_is_served(given: dict[str, Any], words: str) -> None:
    options = LaunchOptions(study=Path("my/s.toml"), **given)
    assert options.links_command(addresses.serving_address(options)) == words


def test_a_database_is_named_by_its_whole_path() -> None:
    assert LaunchOptions(db="x.db").database == str(Path.cwd() / "x.db")


@pytest.mark.parametrize(
    ("options", "words"),
    [({"prt": 1}, "unknown field `prt`"), ({"port": "x"}, "Expected `int`"), ({"command": "x"}, "Invalid value 'x'")],
)
def test_options_that_the_server_does_not_know_are_refused_in_one_line(options: dict[str, Any], words: str) -> None:
    assert words in refusal(launcher.parse_options, launch_environment(**options)[OPTIONS])


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another server has."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_port_in_use_is_refused(taken: int) -> None:
    assert "is in use" in refusal(launcher._check_options, LaunchOptions(port=taken))


def test_a_port_that_another_server_took_after_it_was_checked_is_said_in_a_line(
    taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As when two servers are started at once."""
    records = tmp_path / "records.jsonl"
    records.touch()
    monkeypatch.setattr(launcher, "check_port_free", lambda *_: None)
    with pytest.raises(SystemExit, match="2"):
        launcher.run(PageOptions(page="replay", source=records, out=tmp_path, port=taken))
    out, err = capfd.readouterr()
    (line,) = err.splitlines()
    assert not out and f"port {taken} " in line and "choose another" in line


# The researcher's pages.


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    out = tmp_path_factory.mktemp("desk")
    yield from launching(out, host_module=OTHER_HOST)


def test_the_researchers_pages_need_the_token(desk: Served) -> None:
    for path in ("", "replay", "?token=", "?token=wrong", "alive/00000000-0000-0000-0000-000000000000"):
        answer = httpx2.get(desk.base + path)
        assert answer.status_code == 403 and not KERNEL_ID.search(answer.text)


def test_a_page_that_the_researcher_does_not_have_speaks_of_no_link(desk: Served) -> None:
    said = httpx2.get(desk.base + "nowhere").text
    assert "There is no such page" in said and "the address that negolab printed" in said


def test_the_token_becomes_a_cookie_and_leaves_the_address(desk: Served) -> None:
    answer = httpx2.get(desk.url)
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    assert "HttpOnly" in answer.headers["set-cookie"]
    with httpx2.Client(timeout=300, follow_redirects=True) as client:
        page = client.get(desk.url)
        kernel = KERNEL_ID.search(page.text)
        assert kernel and client.get(f"{desk.base}alive/{kernel[1]}").json() == {"state": "here"}
        assert re.findall(r'href="(/\w+)"[^>]*>(\w+)</a>', page.text)[:2] == [("/play", "Play"), ("/replay", "Replay")]
        assert 'aria-current="page">Play' in page.text


def test_the_researchers_server_answers_to_its_own_name_only(desk: Served) -> None:
    token = desk.url.partition("token=")[2]
    cookie = f"negolab-admin-{desk.base.rsplit(':', 1)[1].strip('/')}={token}"
    assert httpx2.get(desk.base, headers={"Host": "evil.example", "Cookie": cookie}).status_code == 403
    assert httpx2.get(desk.base, headers={"Origin": "https://evil.example", "Cookie": cookie}).status_code == 403


def test_the_token_stands_in_no_command_and_no_kernels_environment(desk: Served) -> None:
    token = desk.url.partition("token=")[2]
    with httpx2.Client(timeout=300, follow_redirects=True) as client:
        client.get(desk.url)
    everybody = family(desk.pid)
    kernels = [pid for pid, command in everybody.items() if "ipykernel" in command]
    assert kernels and not any(token in command for command in everybody.values())
    assert not any(token in Path(f"/proc/{pid}/environ").read_text() for pid in kernels)


# What is started again, and what ends.


@pytest.mark.long
def test_a_study_is_served_with_a_certificate_of_its_own(tmp_path: Path) -> None:
    openssl, port = needs("openssl", "openssl"), free_port()
    names = [f"-keyout={tmp_path}/key", f"-out={tmp_path}/cert"]
    request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run([openssl, *request, *" ".join(names).replace("=", " ").split()], check=True, capture_output=True)
    options = {"certfile": tmp_path / "cert", "keyfile": tmp_path / "key", **study(tmp_path)}
    with closing(launching(tmp_path, port=port, public_url=f"https://127.0.0.1:{port}/", **options)) as started:
        next(started)
        answer = httpx2.post(f"https://127.0.0.1:{port}/join/good-ann", verify=False)
        assert answer.status_code == 303 and "Secure" in answer.headers["set-cookie"]


@pytest.mark.long
@POSIX
def test_nothing_survives_a_killed_launcher(tmp_path: Path) -> None:
    with closing(launching(tmp_path, **study(tmp_path))) as started:
        served = next(started)
        assert wait_until(lambda: sum("ipykernel" in command for command in family(served.pid).values()) >= 3)
        everybody = family(served.pid)
        (folder,) = {found for command in everybody.values() for found in re.findall(r"/\S*/nl-\w+", command)}
        os.kill(served.pid, signal.SIGKILL)
        assert wait_until(lambda: not any(map(command_line, everybody))), [*map(command_line, everybody)]
        assert wait_until(lambda: not Path(folder).exists())


@pytest.mark.long
@POSIX
def test_a_killed_server_or_host_is_started_again_and_its_kernels_end(tmp_path: Path) -> None:
    with closing(launching(tmp_path, **study(tmp_path))) as started:
        served = next(started)
        for words in ("server.gate", "server.admin", "fake_host"):
            old = child(served.pid, words)
            kernels = [pid for pid, command in family(old).items() if "ipykernel" in command]
            os.kill(old, signal.SIGKILL)
            assert wait_until(lambda old=old, words=words: child(served.pid, words) not in (0, old), 30), words
            assert wait_until(lambda kernels=kernels: not any(map(command_line, kernels))), "its kernels end"
        port = int(re.search(r"--Gate.port=(\d+)", " ".join(family(served.pid).values()))[1])  # type: ignore[index]
        assert wait_until(lambda: is_listening(port))


@pytest.mark.long
@POSIX
def test_a_study_file_that_is_half_edited_does_not_end_the_study(tmp_path: Path) -> None:
    game = Path(__file__).parents[2] / "negolab" / "scaffolds" / "ultimatum.py"
    (tmp_path / "haggling.py").write_bytes(game.read_bytes())
    own = BASE.replace('"trading"', '"haggling.py"').replace("fair-split", "random-legal")
    file = tmp_path / "small.toml"
    file.write_text(own)
    options = [str(file), f"--desk-port={free_port()}"]
    with closing(serving([sys.executable, "-m", "negolab"], tmp_path, *options)) as started:
        served = next(started)

        def health() -> Any:
            """What the host says of its study; {} while it is just starting."""
            with httpx2.Client(transport=httpx2.HTTPTransport(uds=seats(served.pid)), base_url="http://host") as client:
                try:
                    return client.get("/health").json()
                except httpx2.TransportError:
                    return {}

        about = {"title": "A study", "study": "small"}
        assert health() == about
        file.write_text("title = ")
        old = child(served.pid, "studies.server")
        os.kill(old, signal.SIGKILL)
        assert wait_until(
            lambda: child(served.pid, "studies.server") not in (0, old) and Path(seats(served.pid)).exists(), 90
        )
        assert wait_until(lambda: health() == about, 90)


def seats(pid: int) -> str:
    """The path of the host's seats socket."""
    (path,) = re.findall(r"--seats=(\S+)", family(pid)[child(pid, "studies.server")])
    return str(path)


@pytest.mark.long
@POSIX
def test_participants_kernels_run_as_another_user_without_our_files(tmp_path: Path, open_to_all: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can start a process for another user")
    hold = open_to_all / "python"
    hold.mkdir()
    prefix = readable_python(hold)
    with closing(launching(tmp_path, prefix, kernel_user="nobody", **study(open_to_all))) as started:
        served = next(started)
        assert wait_until(lambda: sum("ipykernel" in command for command in family(served.pid).values()) >= 3)
        owners = {command: Path(f"/proc/{pid}").stat().st_uid for pid, command in family(served.pid).items()}
        nobody = {command for command, uid in owners.items() if uid == 65534}
        assert any("server.gate" in command for command in nobody)
        assert sum("ipykernel" in command for command in nobody) >= 2
        assert not any("fake_host" in command or "server.admin" in command for command in nobody)
        (folder,) = {found for command in owners for found in re.findall(r"/\S*/nl-\w+", command)}
        assert (Path(folder) / "seats.sock").stat().st_uid == 65534
        assert (Path(folder) / "admin.sock").stat().st_uid == 0
        assert (Path(folder) / "admin.sock").stat().st_mode & 0o777 == 0o600


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that any user may read, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="negolab-open-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def readable_python(hold: Path) -> list[str]:
    """Return a command prefix with which other users can run this Python: empty, or a private mount namespace."""
    home = Path(sys.base_prefix)
    closed = next((path for path in reversed(home.parents) if not path.stat().st_mode & 0o001), None)
    if closed is None:
        return []
    inner = closed / home.relative_to(closed).parts[0]
    script = f"""set -e; mount --bind {inner} {hold}; mount -t tmpfs -o mode=755 tmpfs {closed}
        mkdir {inner}; mount --bind {hold} {inner}; exec "$@" """
    ran = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", "true"], capture_output=True, text=True)
    if ran.returncode:
        missing(f"no other user can run {sys.executable}: {ran.stderr}")
    return ["unshare", "-m", "sh", "-c", script, "sh"]
