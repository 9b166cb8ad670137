#!/usr/bin/env python3
"""The fifteen questions of the README: each command runs, and prints what the README quotes.

usage: questions_test.py TOKENLINE README
"""
import pathlib
import re
import subprocess
import sys
import unittest

ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| `tools/run ([^`|]+)` \| (.+) \|$", re.MULTILINE)


def words(text):
    """Columns are as wide as their table needs; a quote leaves them out."""
    return " ".join(text.split())


class Questions(unittest.TestCase):
    def test_there_are_fifteen(self):
        self.assertEqual([int(row[1]) for row in ROWS], list(range(1, 16)))

    def test_every_command_prints_what_is_quoted(self):
        for row in ROWS:
            with self.subTest(question=row[2]):
                ran = subprocess.run([BINARY, *row[3].split()], cwd=ROOT, capture_output=True,
                                     text=True, check=False)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                quotes = re.findall(r"`([^`]+)`", row[4])
                self.assertTrue(quotes, "an answer quotes its output")
                for quote in quotes:
                    self.assertIn(words(quote), words(ran.stdout))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    BINARY, readme = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:])
    ROOT = pathlib.Path(readme).parent
    ROWS = list(ROW.finditer(pathlib.Path(readme).read_text()))
    unittest.main(argv=sys.argv[:1])
