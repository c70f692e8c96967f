#!/usr/bin/python3
"""make_reference.py OUT: writes docs/python-reference.md from the docstrings of the package."""

import inspect
import pathlib
import re
import sys

import grbm
from grbm import convert, plot

CLASSES = ("GaussianBernoulliRBM", "GRBMClassifier", "Model", "Config", "Dataset", "Trainer", "Run", "Sampler", "Gibbs", "Partition", "LogLikelihood")

# A name with brackets, with brackets within and within these: Optional[Callable[[str], Any]].
ANNOTATION = r"[\w.]+(?:\[(?:[^][]|\[(?:[^][]|\[[^][]*\])*\])*\])?"


def split(name, value):
    """The signature and the help. The binding puts the former into the docstring's first line."""
    text = inspect.cleandoc(value.__doc__ or "")
    found = re.match(rf"{name}\((.*)\) -> .*", text)
    if found:
        arguments = re.sub(rf"(\w+): {ANNOTATION}", r"\1", found[1].replace("self: grbm._core.", "self: "))
        arguments = re.sub(r"\bself(?:, )?", "", arguments)
        return f"({arguments})", text.partition("\n")[2].strip()
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "", text
    parameters = [p.replace(annotation=inspect.Parameter.empty) for n, p in signature.parameters.items() if n not in ("self", "cls")]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)), text


def body(text):
    """Prose as it is, examples and tables of parameters as code."""
    lines, code = [], False
    for line in text.splitlines():
        example = line.startswith((">>> ", "... ")) or (code and line.strip() != "")
        if example != code:
            lines.append("```python" if example else "```")
            code = example
        lines.append(line)
    return "\n".join([*lines, "```"] if code else lines)


def entry(level, name, value, title):
    signature, text = split(name, value)
    return [f"{'#' * level} `{title}{signature}`", "", body(text), ""]


def members(value):
    """Its own, and those of the package that it inherits, but for what GaussianBernoulliRBM has shown before."""
    shown = set()
    for owner in value.__mro__:
        if not owner.__module__.startswith("grbm.") or (owner is not value and value is not grbm.GaussianBernoulliRBM):
            continue
        for name, item in vars(owner).items():
            function = getattr(item, "__func__", item)
            if name[0] != "_" and name not in shown and inspect.isroutine(function) and ">>>" in (function.__doc__ or ""):
                shown.add(name)
                yield name, function


def parameters(value):
    allowed = {name: (takes, help_text) for name, takes, help_text in grbm.Config().help()}
    defaults = inspect.signature(value).parameters
    others = {} if value is grbm.GaussianBernoulliRBM else inspect.signature(grbm.GaussianBernoulliRBM).parameters
    lines = ["| parameter | default | in TOML | takes | |", "| --- | --- | --- | --- | --- |"]
    keys = value._setting_names()
    for name in (name for name in defaults if name in keys and defaults[name] != others.get(name)):
        key = keys[name]
        takes, help_text = (text.replace("|", "\\|") for text in allowed[key])
        lines.append(f"| `{name}` | `{defaults[name].default!r}` | `{key}` | {takes} | {help_text} |")
    title = "Settings that are its own, or have another default than those of GaussianBernoulliRBM" if others else "Settings"
    return [f"### {title}", "", *lines, ""]


def main(out):
    text = ["# The Python package, name by name", "", "Made from the docstrings by `python/tools/make_reference.py`; the tests run the examples.", ""]
    for name in CLASSES:
        value = getattr(grbm, name)
        text += [f"## {name}", "", body(inspect.cleandoc(value.__doc__)), ""]
        if hasattr(value, "_setting_names"):
            text += parameters(value)
        for member, function in members(value):
            text += entry(3, member, function, f"{name}.{member}")
    text += ["## Functions", ""]
    for name in grbm.__all__:
        value = getattr(grbm, name)
        if inspect.isroutine(value):
            text += entry(3, name, value, f"grbm.{name}")
    for module in (plot, convert):
        text += [f"## {module.__name__}", "", inspect.cleandoc(module.__doc__), ""]
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_":
                text += entry(3, name, value, f"{module.__name__}.{name}")
    pathlib.Path(out).write_text("\n".join(text).rstrip() + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
