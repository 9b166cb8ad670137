"""The examples of README.md do what it says."""

import doctest
import pathlib

import tokenline


def test_the_examples_of_the_readme_run(root):
    readme = pathlib.Path(__file__).parents[1] / "README.md"
    done = doctest.testfile(str(readme), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert done.attempted > 5
    assert done.failed == 0


def test_the_package_has_the_version_of_the_program(cli):
    assert cli("--version") == f"tokenline {tokenline.__version__}\n"
