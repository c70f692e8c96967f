"""The command line, through the real program: cli_test.py PROGRAM."""

import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60)


class CommandLine(unittest.TestCase):
    def test_version_tells_version_target_and_blas(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^grbm \d+\.\d+\.\d+\ncpu target: \w+\nblas: BLIS [\d.]+.* \(serial\)\n$")

    def test_help_has_an_example(self):
        for arguments in (["--help"], []):
            result = run(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertIn("Example:", result.stdout)

    def test_wrong_words_get_one_line_and_code_64(self):
        for arguments in (["--nonsense"], ["frobnicate"]):
            result = run(*arguments)
            self.assertEqual(result.returncode, 64)
            self.assertEqual(result.stdout, "")
            self.assertTrue(re.fullmatch(r"grbm: .+see 'grbm --help'\n", result.stderr), result.stderr)


if __name__ == "__main__":
    unittest.main()
