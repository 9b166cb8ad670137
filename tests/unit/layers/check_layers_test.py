"""The layer check itself: each forbidden include in a small tree is found, with its line."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "tools"))
import check_layers  # noqa: E402


class CheckLayers(unittest.TestCase):
    def violations(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check_layers.check(root)

    def assert_one(self, files, expected):
        found = self.violations(files)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(expected), found)

    def test_includes_down_the_layers_pass(self):
        self.assertEqual([], self.violations({
            "sim/base/time.hpp": "#pragma once\n#include <chrono>\n",
            "sim/kernel/simulation.hpp": '#include "sim/base/time.hpp"\n',
            "sim/kernel/simulation.cpp": '#include "sim/kernel/simulation.hpp"\n',
            "tests/unit/kernel/simulation_test.cpp": '#include "sim/kernel/simulation.hpp"\n',
        }))

    def test_an_include_up_the_layers_is_found_at_its_line(self):
        self.assert_one({
            "sim/engine/instance.hpp": "#pragma once\n",
            "hwmodels/gpu.hpp": '#pragma once\n\n#include "sim/engine/instance.hpp"\n',
        }, 'hwmodels/gpu.hpp:3: "sim/engine/instance.hpp": hwmodels may include')

    def test_folders_of_equal_rank_do_not_see_each_other(self):
        self.assert_one({
            "sim/kernel/simulation.hpp": "#pragma once\n",
            "sim/stats/histogram.cpp": '#include "sim/kernel/simulation.hpp"\n',
        }, "sim/stats/histogram.cpp:1:")

    def test_the_product_does_not_include_tests(self):
        self.assert_one({
            "tests/support/builders.hpp": "#pragma once\n",
            "tools/cli/main.cpp": '#include "tests/support/builders.hpp"\n',
        }, "tools/cli/main.cpp:1:")

    def test_an_include_relative_to_the_file_is_found(self):
        self.assert_one({
            "sim/base/time.hpp": "#pragma once\n",
            "sim/base/time.cpp": '#include "time.hpp"\n',
        }, 'sim/base/time.cpp:1: "time.hpp" is not a file seen from the repository root')

    def test_own_headers_need_quotes(self):
        self.assert_one({
            "sim/base/time.hpp": "#pragma once\n",
            "sim/base/time.cpp": "#  include <sim/base/time.hpp>\n",
        }, "sim/base/time.cpp:1: own header")

    def test_heavy_headers_stay_in_cpp_files(self):
        for header in ("yaml-cpp/yaml.h", "nlohmann/json.hpp", "boost/graph/adjacency_list.hpp"):
            text = f"#include <{header}>\n"
            self.assertEqual([], self.violations({"sim/config/node.cpp": text}))
            self.assert_one({"sim/config/node.hpp": text}, "sim/config/node.hpp:1:")

    def test_a_folder_without_a_row_is_found(self):
        self.assert_one({"sim/magic/wand.hpp": "#pragma once\n"}, "sim/magic/wand.hpp:1: no row")


if __name__ == "__main__":
    unittest.main()
