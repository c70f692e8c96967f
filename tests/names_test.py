#!/usr/bin/python3
"""The one-definition rule: no two files define a type or an inline variable of the same name, unnamed namespaces apart.

No compiler sees such a clash, nor does the linker: one of the two definitions is used for both. The sources are formatted, so
that what stands in a namespace begins its line."""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPENS = re.compile(r"namespace ?([\w:]*) ?\{")
CLOSES = re.compile(r"\}  // namespace")
DEFINES = re.compile(r"(?:template <.*> )?(?:struct|class|union|enum(?: class)?) ([\w:]+)(?:[^;]*$|.*\{)"
                     r"|inline [^(=]*?(k[A-Z]\w*)(?: =|\[|;| \{)")


def definitions(lines):
    """Qualified names of what `lines` define for every file that includes them."""
    spaces = []
    for line in lines:
        if opened := OPENS.match(line):
            spaces.append(opened[1])
        elif CLOSES.match(line):
            spaces.pop()
        elif (defined := DEFINES.match(line)) and "" not in spaces:
            yield "::".join([*spaces, defined[1] or defined[2]])


def clashes(files):
    """files: lines by name. Lists what is defined in more than one."""
    places = collections.defaultdict(set)
    for file, lines in files.items():
        for name in definitions(lines):
            places[name].add(file)
    return [f"{name} is defined in {' and in '.join(sorted(where))}" for name, where in places.items() if len(where) > 1]


def main():
    one = ["namespace grbm {", "struct A {", "enum class B { kC };", "inline constexpr int kD = 1;", "class E;", "}  // namespace grbm"]
    hidden = ["namespace grbm {", "namespace {", "struct A {", "}  // namespace", "}  // namespace grbm"]
    assert len(clashes({"1": one, "2": one})) == 3 and not clashes({"1": one, "2": hidden}), "this test sees nothing"
    folders = ["include", "src", "apps", "bench", "fuzz", "tests"]
    files = [file for folder in folders for end in ("h", "cc") for file in (ROOT / folder).rglob(f"*.{end}")]
    assert files, f"there are no sources in {ROOT}"
    found = clashes({str(file.relative_to(ROOT)): file.read_text().splitlines() for file in files})
    sys.exit("\n".join(found) or None)


main()
