"""A written configuration of SONiC in Redis, loaded as SONiC's own tool loads config_db.json."""

from __future__ import annotations

import csv
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

DEVICE = Path(__file__).parents[2] / "crates/device"
WRITTEN = DEVICE / "tests/linux/written/sonic"
FILES = [WRITTEN, *sorted((DEVICE / "tests/linux/sonic").glob("*.json"))]
Tables = dict[str, dict[str, dict[str, Any]]]


class Redis:
    """A client for a few commands, in the protocol of Redis."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.answers = self.socket.makefile("rb")

    def __call__(self, *words: str) -> Any:
        parts = [b"*%d\r\n" % len(words)]
        parts += [b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()) for word in words]
        self.socket.sendall(b"".join(parts))
        return self.answer()

    def answer(self) -> Any:
        line = self.answers.readline().rstrip()
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.answers.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        if kind == b"-":
            raise ValueError(rest.decode())
        return rest.decode()


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("programs: not installed: redis-server")
    path = tmp_path / "socket"
    options = f"--port 0 --unixsocket {path} --save --appendonly no --dir {tmp_path}".split()
    options[options.index("--save") + 1 : options.index("--save") + 1] = [""]
    server = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if path.exists():
                break
            time.sleep(0.05)
        yield Redis(path)
    finally:
        server.kill()
        server.wait()


def load(redis: Redis, tables: Tables) -> None:
    """Writes a hash for each entry of a table, in the database that SONiC keeps its configuration in."""
    redis("SELECT", "4")
    redis("FLUSHDB")
    for table, entries in tables.items():
        for key, fields in entries.items():
            words = {
                f"{name}@" if isinstance(value, list) else name: value
                for name, value in fields.items()
            }
            texts = {
                name: ",".join(value) if isinstance(value, list) else value
                for name, value in words.items()
            }
            for name, value in (texts or {"NULL": "NULL"}).items():
                assert isinstance(value, str), (table, key, name)
                redis("HSET", f"{table}|{key}", name, value)


def read(redis: Redis) -> Tables:
    tables: Tables = {}
    for name in redis("KEYS", "*"):
        words = redis("HGETALL", name)
        fields: dict[str, Any] = dict(zip(words[::2], words[1::2], strict=True))
        if fields == {"NULL": "NULL"}:
            fields = {}
        fields = {
            name.removesuffix("@"): value.split(",") if name.endswith("@") else value
            for name, value in fields.items()
        }
        table, key = name.split("|", 1)
        tables.setdefault(table, {})[key] = fields
    return tables


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_tables_come_back_from_redis_as_they_were_loaded(redis: Redis, file: Path) -> None:
    tables = json.loads(file.read_text())
    load(redis, tables)
    assert read(redis) == tables


def test_all_fields_that_are_written_are_known_with_their_kinds_and_ranges() -> None:
    with (DEVICE / "src/linux/sonic.csv").open() as lines:
        rules = {tuple(row["path"].split()): row for row in csv.DictReader(lines)}
    fields = 0
    for table, entries in json.loads(WRITTEN.read_text()).items():
        for key, values in entries.items():
            for name, value in values.items():
                path = [
                    path for path in rules if path[0] == table and path[-1] in (name, "#15", "#63")
                ]
                rule = rules[path[0]]
                fields += 1
                if rule["kind"] == "integer":
                    assert int(rule["from"]) <= int(value) <= int(rule["to"]), (table, key, name)
                elif rule["kind"] != "text":
                    assert value in rule["kind"].split(), (table, key, name)
    assert fields > 30
