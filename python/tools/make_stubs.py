#!/usr/bin/python3
"""make_stubs.py OUT: writes the type stubs of grbm._core from the signatures that the binding itself gives."""

import inspect
import pathlib
import re
import sys

import grbm._core as core

KEPT = ("__init__", "__getitem__", "__setitem__", "__len__", "__eq__")
TYPES = {
    r"grbm\._core\.": "",
    r"numpy\.ndarray\[[^\]]*\]": "numpy.ndarray",
    r"(?<![\w.'])array(?![\w(])": "numpy.ndarray",
    r"(?<![\w.])function\b": "Callable[..., Any]",
    r"(?<![\w.])object\b": "Any",
    r"(?<![\w.])handle\b": "Any",
    r"<[^>]*>": "...",
}


def plain(text):
    for pattern, name in TYPES.items():
        text = re.sub(pattern, name, text)
    return text


def signature(name, value, indent, method):
    """The first line of a docstring is the signature; what follows is the help."""
    lines = (value.__doc__ or "").strip().splitlines()
    found = re.match(rf"{name}\((.*)\) -> (.*)$", lines[0]) if lines else None
    if not found:
        return []
    # What is asked for is converted; what is given is exactly that.
    arguments = plain(found[1]).replace("numpy.ndarray", "ArrayLike").replace("List[", "Sequence[").replace("Dict[", "Mapping[")
    result = plain(found[2])
    arguments = re.sub(r"\bself: \w+", "self", arguments)
    arguments = re.sub(r"\barg0: \w+", "other: Any" if name == "__eq__" else "arg0: Any", arguments)
    if method == "static":
        prefix = [f"{indent}@staticmethod"]
    else:
        prefix = []
        if method and not arguments.startswith("self"):
            arguments = "self" + (", " + arguments.split(", ", 1)[1] if ", " in arguments else "")
    help_text = next((line.strip() for line in lines[1:] if line.strip()), "")
    body = [f'{indent}    """{help_text}"""'] if help_text and not name.startswith("__") else [f"{indent}    ..."]
    return [*prefix, f"{indent}def {name}({arguments}) -> {result}:", *body]


def class_stub(name, value):
    bases = ", ".join(base.__name__ for base in value.__bases__ if base.__name__ not in ("object", "pybind11_object"))
    lines = [f"class {name}({bases}):" if bases else f"class {name}:"]
    help_text = (value.__doc__ or "").strip().splitlines()
    lines.append(f'    """{help_text[0] if help_text else name}"""')
    for member, item in sorted(vars(value).items()):
        if isinstance(item, property):
            doc = (item.fget.__doc__ or "").strip().splitlines()
            found = re.match(r".*-> (.*)$", doc[0]) if doc else None
            text = (item.__doc__ or "").strip().splitlines()
            lines += ["    @property", f"    def {member}(self) -> {plain(found[1]) if found else 'Any'}:"]
            lines.append(f'        """{text[0]}"""' if text else "        ...")
        elif isinstance(item, staticmethod):
            lines += signature(member, item.__func__, "    ", "static")
        elif member in KEPT or (member[0] != "_" and inspect.isroutine(item)):
            lines += signature(member, item, "    ", "method")
    return lines


def main(out):
    text = ['"""Made by python/tools/make_stubs.py from the binding."""', ""]
    text += ["from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple", ""]
    text += ["import numpy", "from numpy.typing import ArrayLike", "", "__version__: str"]
    classes = [(n, v) for n, v in vars(core).items() if inspect.isclass(v)]
    for name, value in sorted(classes, key=lambda pair: (len(pair[1].__mro__), pair[0])):
        text += ["", *class_stub(name, value)]
    for name, value in sorted(vars(core).items()):
        if inspect.isroutine(value):
            text += ["", *signature(name, value, "", "")]
    pathlib.Path(out).write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
