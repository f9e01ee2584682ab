#!/usr/bin/env python3
"""What cmake/Hardening.cmake asks for is in the program: read from its ELF headers with readelf.

hardening_test.py BINARY
"""
import re
import subprocess
import sys
import unittest

BINARY = sys.argv.pop(1)


def readelf(*flags: str) -> str:
    return subprocess.run(["readelf", "-W", *flags, BINARY], capture_output=True, text=True, check=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


class Hardening(unittest.TestCase):
    def test_position_independent(self):
        self.assertRegex(readelf("-h"), r"Type:\s+DYN ")
        self.assertRegex(readelf("-d"), r"\bPIE\b")

    def test_relocations_are_read_only_from_the_start(self):
        self.assertRegex(readelf("-l"), r"GNU_RELRO")
        self.assertRegex(readelf("-d"), r"BIND_NOW|\bNOW\b")

    def test_the_stack_is_not_executable(self):
        flags = re.search(r"GNU_STACK\s+(?:0x\w+\s+){5}(\S+)", readelf("-l"))
        self.assertIsNotNone(flags)
        self.assertNotIn("E", flags[1])

    def test_no_segment_is_written_and_executed(self):
        for flags in re.findall(r"^\s+LOAD\s+(?:0x\w+\s+){5}(.*?)\s+0x", readelf("-l"), re.M):
            self.assertFalse("W" in flags and "E" in flags, flags)

    def test_stack_protector(self):
        self.assertIn("__stack_chk_fail", readelf("--dyn-syms"))

    def test_no_way_out(self):
        """`distsim serve` takes connections; nothing makes any, or looks up names. A reader that was taken over would have to bring its own."""
        imported = set(re.findall(r"\bUND (\w+)", readelf("--dyn-syms")))
        self.assertIn("read", imported)
        ways_out = {"connect", "sendto", "sendmmsg", "getaddrinfo", "getnameinfo", "gethostbyname", "gethostbyname_r", "res_query", "dlmopen"}
        self.assertEqual(imported & ways_out, set())

    def test_fortified_functions(self):
        self.assertRegex(readelf("--dyn-syms"), r"__(mem\w+|str\w+|\w*printf|read|realpath)_chk\b")


if __name__ == "__main__":
    unittest.main()
