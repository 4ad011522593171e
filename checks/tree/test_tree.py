"""Tests of the rules of the tree: each finds what is planted against it, and nothing else."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import bans
import circles
import files
import layers
import tidy
from tree import ROOT, Source, contents, tracked, walk


def crate(name: str) -> str:
    return name if name in ("shallop", "xtask") else f"shallop-{name}"


def workspace(package: str, name: str, kind: str | None) -> list[dict[str, Any]]:
    """The workspace of the rule, where `package` has one more dependency."""
    packages = {
        crate(known): [{"name": crate(it), "kind": None} for it in layers.below(known)] for known in layers.RULE
    }
    packages.setdefault(package, []).append({"name": name, "kind": kind})
    return [{"name": name, "dependencies": of} for name, of in packages.items()]


class Layers(unittest.TestCase):
    def test_a_dependency_against_the_rule_is_found(self) -> None:
        other, belongs, unknown = "{0}: uses {1}; it ", "{0}: uses {1}, which belongs to ", "{0}: is not in the rule"
        for kind, of_tree, expected, pairs in [
            (None, True, "", "sim>switch"),
            (None, True, other, "core>control switch>proto control>switch shallop>sim xtask>core core>elsewhere"),
            (None, True, other, "kernel>testing sim>control"),
            # Tests may use what is below, and nothing else.
            ("dev", True, "", "sim>control kernel>testing"),
            ("dev", True, other, "proto>switch xtask>transfer"),
            (None, False, belongs, "measure>parquet sim>arrow-array proto>rayon store>clap measure>tempfile"),
            (None, False, belongs, "core>getrandom"),
            (None, False, "", "workbench>rayon core>arrowhead"),
            ("dev", False, "", "measure>tempfile"),
            (None, False, unknown, "new>serde"),
        ]:
            for package, name in (pair.split(">") for pair in pairs.split()):
                package, name = crate(package), crate(name) if of_tree else name
                found = list(layers.compare(workspace(package, name, kind)))
                assert len(found) == bool(expected), (package, name, kind, found)
                assert not expected or found[0].startswith(expected.format(package, name)), found
        assert len(list(layers.compare([]))) == len(layers.RULE)

    def test_every_crate_lies_above_what_it_builds_on(self) -> None:
        places = layers.places()
        for name, (_, y) in places.items():
            assert all(y < places[other][1] for other in layers.below(name)), name


class Circles(unittest.TestCase):
    def test_a_circle_of_four_files_is_found_and_one_of_three_is_not(self) -> None:
        four = {
            "lib.rs": "mod a; mod b; mod c; mod d; pub use a::A;",
            "a.rs": "use crate::b::B;",
            "b.rs": "use super::c::C;",
            "c.rs": "fn f() -> crate::d::D {}",
            "d.rs": "use crate::a::{self, A};",
        }
        for changed, count in [
            ({}, 4),
            # Through a re-export.
            ({"d.rs": "use crate::A;"}, 4),
            ({"c.rs": "pub use crate::{d::*};"}, 4),
            ({"c.rs": "use crate::a::A;"}, None),
            ({"c.rs": "pub(super) fn f() {}"}, None),
            ({"c.rs": "#[cfg(test)] mod tests { use crate::d::D; }"}, None),
        ]:
            texts = {**four, **changed}
            planted = [Source(f"crates/x/src/{path}", text) for path, text in texts.items()]
            found = list(circles.circles("crates/x", planted))
            expected = [f"crates/x: {count} files import each other: "] if count else []
            assert len(found) == len(expected), (changed, found)
            assert all(map(str.startswith, found, expected)), found

    def test_every_way_to_write_a_path_is_read(self) -> None:
        for code in [
            "use std::fs::read;",
            "use ::std::fs::read as open;",
            "use std::{fmt as text, fs::{read, write}};",
            "pub use {std::fs::{self, read}};",
            "fn f() { let r = std::fs::read; }",
            'fn f() { assert!(matches!(std::fs::read("x"), Ok(_))); }',
            'macro_rules! m { () => { ::std::fs::read("x") }; }',
            "struct S<'a, T = fn() -> r#std::fs::read>(T, &'a u8);",
            "fn f() -> impl Sized + use<> { std :: fs :: /* why */ read }",
            "fn f() { '\"'; '\\''; std::fs::read; '\"' }",
        ]:
            assert "std::fs::read" in paths(code), (code, paths(code))

    def test_comments_strings_and_tests_mention_nothing_and_only_they(self) -> None:
        for code in [
            '//! a::b\n/// a::b\nfn f() { /* a::b */ let _ = ("a::b", r#"a"::b"#); }',
            'fn f() { b"\\"a::b"; br#"a\\"#; "a::b"; }',
            "#[cfg(test)] mod tests { use a::b; }",
            '#[doc = "x"] #[cfg(all(test, unix))] use a::b;',
            "#[test] fn t() { a::b(); }",
            "impl S { #[cfg(test)] fn t() { a::b(); } }",
            "#![cfg(test)] use a::b;",
            '#[cfg(test)] #[doc = "x"] fn t(x: u8, y: a::b) { a::b(); }',
        ]:
            assert paths(code) == [], (code, paths(code))
        for code in [
            'const A: &str = "/*"; use a::b; const B: &str = "*/";',
            "#[cfg(not(test))] use a::b;",
            "#[cfg(any(test, unix))] use a::b;",
            "struct S { #[cfg(test)] x: u8, y: a::b }",
            "#[cfg(test)] mod tests {} use a::b;",
            "fn f() { #[cfg(test)] let x = 1; a::b(); }",
        ]:
            assert paths(code) == ["a::b"], (code, paths(code))

    def test_a_crate_that_holds_most_lines_is_found(self) -> None:
        for most, expected in [(10, []), (12, ["crates/a: 12 of 72 lines, more than 16 %: cut it"])]:
            lines = {name: most if name == "a" else 10 for name in "abcdefg"}
            of = [Source(f"crates/{name}/src/lib.rs", "//\n" * lines[name]) for name in lines]
            assert list(circles.too_large(of)) == expected


def paths(code: str) -> list[str]:
    return [path for path, _ in circles.mentions(code) if "::" in path]


class Files(unittest.TestCase):
    def test_contents_decide_what_is_binary_and_a_text_has_a_limit(self) -> None:
        for content, expected in [
            (b"\x7fELF\x02\x01\x01\0", "is binary (8 bytes)"),
            (b"\x1f\x8b\x08", "is binary (3 bytes)"),
            ("text with µ\r\n".encode(), None),
            (b"", None),
            (b"x" * files.BYTES, None),
            (b"x" * (files.BYTES + 1), "has 300001 bytes, more than 300000"),
        ]:
            assert files.objection(content) == expected

    def test_wanted_files_pass_until_they_are_gone(self) -> None:
        for planted, wanted, count in [
            ({"a.so": b"\0"}, {}, 1),
            ({"a.so": b"\0"}, {"a.so": "why"}, 0),
            ({"a.so": b"text"}, {"a.so": "why"}, 1),
            ({}, {"a.so": "why"}, 1),
        ]:
            assert len(list(files.compare(planted, wanted))) == count, (planted, wanted)


class Tidy(unittest.TestCase):
    def check(self, planted: Iterable[tuple[str, str]], expected: str) -> None:
        for path, text in planted:
            found = list(tidy.objections(Source(path, text)))
            assert len(found) == bool(expected), (path, text, found)
            assert not found or found[0].startswith(f"{path}{expected}"), (path, text, found)

    def test_an_untidy_line_is_found(self) -> None:
        long = "x" * (tidy.COLUMNS + 1)
        lines = [("a.rs", "let x = 1; "), ("a.py", "\tx = 1"), (".ci/run", "make \r"), ("a.rs", long), ("a.md", long)]
        for end in ["TO" + "DO", "FIX" + "ME", "to" + "do!", "unimple" + "mented!"]:
            lines += [("a.py", f"# {end} later"), ("a.rs", f"    {end}()")]
        for machine in ["/wo" + "rk/", "/tmp" + "/wt", "../sh" + "ared", "arti" + "factory"]:
            lines += [("a.json", f'"{machine}"'), ("Makefile", f"cd {machine}")]
        self.check([(path, f"# first\n{line}\n") for path, line in lines], ":2: ")

    def test_lines_that_only_look_untidy_pass(self) -> None:
        long = "µ" * tidy.COLUMNS
        lines = [
            ("a.rs", long),
            ("a.md", f"| {long} |"),
            ("a.md", f"[text](https://example.org/{long})"),
            ("a.toml", f"# {long}{long}"),
            ("Makefile", "\tmake"),
            ("a.snap", "text "),
            ("LICENSE", "text "),
            ("a.rs", "MASTO" + "DON and frame/wo" + "rk/x"),
            ("a.rs", "mod x; // ../sh" + "ared_buffer.rs"),
        ]
        self.check(lines, "")

    def test_files_are_short_and_say_what_they_are(self) -> None:
        package = '[package]\nname = "x"\n'
        self.check([("a.py", "x = 1\n" * tidy.LINES), ("a.csv", "1\n" * tidy.LINES * 2)], "")
        self.check([("a.py", "x = 1\n" * (tidy.LINES + 1))], ": has 501 lines, more than 500: split")
        self.check([("crates/core/src/a.rs", "//! Words.\n"), ("crates/core/tests/a.rs", "use a;\n")], "")
        self.check([("crates/core/src/a.rs", "use std::fmt;\n"), ("xtask/src/a.rs", "")], ": does not")
        for lints in ["", "[lints]\nworkspace = false\n", "# [lints]\n# workspace = true\n"]:
            self.check([("crates/x/Cargo.toml", package + lints)], ": does not take over the lints")
        for whole in [f"{package}[lints]\nworkspace = true\n", "[workspace]\n"]:
            self.check([("crates/x/Cargo.toml", whole)], "")

    def test_c_names_the_licence_of_its_place(self) -> None:
        kernel = "// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause\n"
        user = "/* SPDX-License-Identifier: Apache-2.0 */\n"
        places = [("crates/bpf/c/x.h", kernel), ("a/tests/x.bpf.c", kernel), ("a/agent/x.c", user)]
        self.check([*places, ("a/x.py", "x = 1\n")], "")
        for path, text in places:
            wrong = [user if text == kernel else kernel, "", "int x;\n", f"int x;\n{text}"]
            self.check([(path, other) for other in wrong], ":1: is not ")


class Bans(unittest.TestCase):
    def test_a_crate_that_could_lift_a_ban_is_found(self) -> None:
        whole = {
            "Makefile": "A = b\nPURE = core control\n",
            "crates/core/src/lib.rs": f"//! Core.\n\n{bans.FORBID}",
            "crates/control/src/lib.rs": f"//! Control.\n\n{bans.OF_CONTROL}",
            "crates/control/src/added.rs": "#[expect(clippy::disallowed_types)]\n",
        }
        planted = "#[allow(clippy::disallowed_types)] mod a;\n"
        for path, text, count in [
            ("Makefile", whole["Makefile"], 0),
            ("crates/core/src/lib.rs", "//! Core.\n", 1),
            ("crates/core/src/lib.rs", f"//! Core.\n// {bans.FORBID}", 1),
            ("crates/core/clippy.toml", "", 1),
            ("crates/core/.clippy.toml", "", 1),
            ("crates/control/src/lib.rs", f"{whole['crates/control/src/lib.rs']}{planted}", 1),
            ("crates/control/src/added.rs", planted * 2, 1),
            ("crates/control/src/bbr.rs", planted, 1),
        ]:
            found = list(bans.compare({**whole, path: text}))
            assert len(found) == count, (path, found)
            assert all(of.startswith(f"{path}: ") for of in found), found

    def test_clippy_finds_a_planted_breach_of_each_kind_and_no_other(self) -> None:
        planted = Path(__file__).with_name("breaches.txt").read_text()
        breaches, fine, lifts = (part.split("\n") for part in planted.strip().split("\n\n"))
        by_lints = clippy([*breaches, *fine])
        for line, code in enumerate([*breaches, *fine]):
            lints = [lint for at, lint in by_lints if at == line]
            is_found = any(lint.startswith("clippy::disallowed_") for lint in lints)
            assert is_found == (line < len(breaches)), (code, lints)
        refused = clippy(lifts)
        for line, code in enumerate(lifts):
            assert (line, "E0453") in refused, f"{code} lifts a ban"


def clippy(planted: list[str]) -> set[tuple[int, str]]:
    """The lines of a module to which Clippy objects, each with the lint, under the root's bans.

    Another file than the root has the module, so that it could bring in lifted bans.
    """
    manifest = (ROOT / "Cargo.toml").read_text()
    lints = manifest.partition("[workspace.lints.clippy]\n")[2].partition("\n[")[0]
    package = '[package]\nname = "planted"\nedition = "2024"\n[workspace]\n[lints.clippy]\n'
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "src").mkdir()
        for path, text in [
            ("Cargo.toml", package + lints),
            ("src/lib.rs", f'{bans.FORBID}#[path = "planted.txt"]\npub mod planted;'),
            ("src/planted.txt", "\n".join(planted)),
        ]:
            (Path(folder) / path).write_text(text)
        command = "cargo clippy --offline --quiet --message-format json".split()
        target = str(Path(folder) / "target")
        environment = {**os.environ, "CLIPPY_CONF_DIR": str(ROOT), "CARGO_TARGET_DIR": target}
        said = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    messages = [json.loads(line).get("message") for line in said.stdout.splitlines()]
    return {
        (span["line_start"] - 1, message["code"]["code"])
        for message in messages
        if message and message["level"] == "error" and message["code"]
        for span in message["spans"]
        if span["file_name"] == "src/planted.txt"
    }


class Tree(unittest.TestCase):
    def test_the_tree_without_git_holds_all_that_is_tracked(self) -> None:
        listed = tracked(ROOT)
        assert not listed or contents().keys() <= set(walk(ROOT))
        with tempfile.TemporaryDirectory() as folder:
            assert tracked(Path(folder)) == []

    def test_a_verb_that_is_none_has_exit_code_2(self) -> None:
        for words in ([], ["al"], ["all", "x"]):
            command = [sys.executable, str(Path(__file__).parent), *words]
            ended = subprocess.run(command, capture_output=True, text=True)
            assert ended.returncode == 2 and "figures-of PAGE" in ended.stderr, words


if __name__ == "__main__":
    unittest.main()
