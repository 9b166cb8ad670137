#!/usr/bin/env python3
"""Checks every #include of the tree: that it points down the layers, is written from the
repository root, names a file that exists, and keeps slow third-party headers out of our headers.

usage: check_layers.py [ROOT]
"""
import pathlib
import re
import sys

# Which folders each folder may include besides itself. A new folder needs a row.
BELOW_ENGINE = {
    "sim/base", "sim/config", "sim/kernel", "sim/stats", "workloads/models",
    "workloads/traffic", "hwmodels", "sim/policies",
}
EVERYTHING = BELOW_ENGINE | {"sim/engine", "sim/report", "calib", "tools", "tests"}
MAY_INCLUDE = {
    "sim/base": set(),
    "sim/config": {"sim/base"},
    "sim/kernel": {"sim/base"},
    "sim/stats": {"sim/base"},
    "workloads/models": {"sim/base", "sim/config"},
    "workloads/traffic": {"sim/base", "sim/config", "sim/stats"},
    "hwmodels": {"sim/base", "sim/config", "workloads/models"},
    "sim/policies": {"sim/base", "sim/config", "sim/stats"},
    "sim/engine": BELOW_ENGINE,
    "sim/report": {"sim/base", "sim/config", "sim/stats", "sim/engine"},
    "calib": {"sim/base", "sim/config", "hwmodels"},
    "tools": EVERYTHING - {"tests"},
    "tests": EVERYTHING,
}
TOP_FOLDERS = sorted({folder.split("/")[0] for folder in MAY_INCLUDE})
SOURCES = {".hpp", ".cpp", ".h", ".cu", ".cuh", ".def"}
# Heavy to compile: behind plain headers, in .cpp files only.
CPP_ONLY = ("yaml-cpp/", "nlohmann/", "boost/graph/")
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


def layer(path):
    """The row of the table that `path` belongs to, or None."""
    for folder in MAY_INCLUDE:
        if path.startswith(folder + "/"):
            return folder
    return None


def problem(root, name, quote, target):
    """What is wrong with one include of the file `name`, or None."""
    if quote == "<":
        if target.split("/")[0] in TOP_FOLDERS:
            return f'own header <{target}> needs quotes'
        if target.startswith(CPP_ONLY) and not name.endswith(".cpp"):
            return f"<{target}> belongs in a .cpp file"
        return None
    if not (root / target).is_file():
        return f'"{target}" is not a file seen from the repository root'
    ours, theirs = layer(name), layer(target)
    if theirs is None:
        return f'"{target}" is in no folder of the table in tools/check_layers.py'
    if theirs != ours and theirs not in MAY_INCLUDE[ours]:
        allowed = ", ".join(sorted(MAY_INCLUDE[ours])) or "nothing of ours"
        return f'"{target}": {ours} may include {allowed}'
    return None


def check(root):
    """All violations below `root` as `file:line: message`, sorted."""
    found = []
    for path in sorted(p for top in TOP_FOLDERS for p in (root / top).rglob("*")):
        if path.suffix not in SOURCES:
            continue
        name = path.relative_to(root).as_posix()
        if layer(name) is None:
            found.append(f"{name}:1: no row for this folder in tools/check_layers.py")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            wrong = match and problem(root, name, *match.groups())
            if wrong:
                found.append(f"{name}:{number}: {wrong}")
    return found


def main(arguments):
    if len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[1])
    violations = check(root)
    print("\n".join(violations) if violations else "every include points down the layers")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
