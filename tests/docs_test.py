#!/usr/bin/env python3
"""README.md, CONTRIBUTING.md and docs/ agree with the repository and the program: links lead somewhere, files that are named exist, and every command
that is shown has flags, keys and configuration files that exist."""
import functools
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = sys.argv.pop(1)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE_FILE = re.compile(r"`(?:[\w/.-]*/)?([\w-]+\.(?:hpp|cpp|py|proto))`")
CONFIG_KEY = re.compile(r"`(?:--set )?((?:cluster|device|model|framework|collectives|engine)\.[a-z0-9_.]*[a-z0-9_])\b")
COMMAND = re.compile(r"^(?:    )?(?:\./)?distsim (.*)$", re.M)
WRONG_ON_PURPOSE = re.compile(r"^<!-- exit code [1-9]\d* -->\n```sh\n.*?^```$", re.M | re.S)
CODE_BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)


def text_of(page: pathlib.Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors_of(page: pathlib.Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", CODE_BLOCK.sub("", text_of(page)), re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@functools.cache
def file_names() -> frozenset[str]:
    return frozenset(p.name for folder in ("base", "topology", "opmodels", "collectives", "traces", "sim", "mpi_bench", "scripts", "tests")
                     for p in (ROOT / folder).rglob("*") if p.is_file())


@functools.cache
def help_of(*words: str) -> str | None:
    done = subprocess.run([BINARY, *words, "--help"], capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else None


def subcommand_of(words: list[str]) -> list[str]:
    """The leading words that name a subcommand: [cost, op] of `cost op --gpu ...`."""
    taken: list[str] = []
    for word in words:
        if not re.fullmatch(r"[a-z]+", word) or not re.search(rf"^  {word} ", help_of(*taken) or "", re.M):
            break
        taken.append(word)
    return taken or ["predict"]


def commands_of(page: pathlib.Path):
    """Indented commands, and those in code blocks, without comments."""
    text = WRONG_ON_PURPOSE.sub("", text_of(page))
    blocks = "\n".join(CODE_BLOCK.findall(text))
    indented = "\n".join(line for line in CODE_BLOCK.sub("", text).splitlines() if line.startswith("    "))
    for line in COMMAND.findall(blocks + "\n" + indented):
        yield re.split(r"\s#", line)[0]


class Docs(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in PAGES:
            for link in LINK.findall(text_of(page)):
                if link.startswith("https://"):
                    continue
                path, _, anchor = link.partition("#")
                target = (page.parent / path).resolve() if path else page
                with self.subTest(page=page.name, link=link):
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, anchors_of(target))

    def test_every_page_is_linked_from_the_readme(self):
        linked = set(LINK.findall(text_of(ROOT / "README.md")))
        for page in PAGES[1:]:
            with self.subTest(page=page.name):
                self.assertIn(str(page.relative_to(ROOT)), linked)

    def test_source_files_that_are_named_exist(self):
        for page in PAGES:
            for name in SOURCE_FILE.findall(text_of(page)):
                with self.subTest(page=page.name, file=name):
                    self.assertIn(name, file_names())

    def test_configuration_keys_that_are_named_exist(self):
        reference = subprocess.run([BINARY, "list", "config", "--markdown"], capture_output=True, text=True, check=True, timeout=60).stdout
        known = {key.replace("[]", "") for key in re.findall(r"^\| `([^`]+)`", reference, re.M)}
        self.assertGreater(len(known), 100)
        serving = subprocess.run([BINARY, "list", "serving"], capture_output=True, text=True, check=True, timeout=60).stdout
        known |= {key.replace("[]", "") for key in re.findall(r"^  ([a-z][\w.\[\]]*)  \(", serving, re.M)}
        for page in PAGES:
            in_commands = [key for command in commands_of(page) for key in re.findall(r"--set '?([a-z][\w.]*)=", command)]
            for key in [*CONFIG_KEY.findall(text_of(page)), *in_commands]:
                with self.subTest(page=page.name, key=key):
                    self.assertTrue(re.sub(r"\.\d+", "", key) in known, "no such key")  # an item of a list is named by its number

    def test_commands_have_flags_that_exist(self):
        seen = 0
        for page in PAGES:
            for command in commands_of(page):
                words = command.split()
                known = help_of(*subcommand_of(words)) or ""
                for flag in re.findall(r"(?<!\S)\[?(--[a-z][a-z-]*)", command):
                    seen += 1
                    with self.subTest(page=page.name, command=command, flag=flag):
                        self.assertRegex(known + "--help --version", rf"{flag}(?![\w-])")
        self.assertGreater(seen, 50, "the pattern no longer finds the commands")

    def test_commands_name_configuration_files_that_exist(self):
        seen = 0
        for page in PAGES:
            for command in commands_of(page):
                for path in re.findall(r"\bconfigs/[\w/]+\.yaml", command):
                    seen += 1
                    with self.subTest(page=page.name, command=command):
                        self.assertTrue((ROOT / path).is_file())
        self.assertGreater(seen, 20, "the pattern no longer finds the commands")

    def test_what_the_page_of_contention_sets_has_an_effect(self):
        commands = list(commands_of(ROOT / "docs" / "contention.md"))
        self.assertGreater(len(commands), 3, "the pattern no longer finds the commands")
        for command in commands:
            with self.subTest(command=command):
                done = subprocess.run([BINARY, *shlex.split(command), "--json", "-"], capture_output=True, text=True, timeout=120, cwd=ROOT)
                self.assertEqual(done.returncode, 0, done.stderr)
                for line in (done.stdout + done.stderr).splitlines():
                    if "no effect" in line:
                        self.assertNotIn("(--set)", line)


if __name__ == "__main__":
    unittest.main()
