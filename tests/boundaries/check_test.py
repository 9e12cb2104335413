#!/usr/bin/env python3
"""Each rule of check.py: a small tree that keeps it, and the same tree with one line that breaks it."""

import pathlib
import tempfile
import unittest

import check

GOOD = {
    "sdk/include/cordon/sdk/a.h": '#include "absl/status/status.h"\n#include <string>\n',
    "sdk/src/a.cc": '#include "cordon/sdk/a.h"\n#include <nlohmann/json.hpp>\n',
    "sdk/CMakeLists.txt": "cordon_library(NAME sdk HEADERS include/cordon/sdk/a.h)\n",
    "gate/include/cordon/gate/b.h": '#include "cordon/sdk/a.h"\n',
    "gate/src/inner.h": "",
    "gate/src/b.cc": '#include "cordon/gate/b.h"\n#include "inner.h"\n#include <openssl/evp.h>\n',
    "gate/src/b_test.cc": 'TEST_CASE("a case, with [brackets]") {}\n',
    "tools/bash/src/c.cc": '#include "cordon/sdk/a.h"\n#include "cordon/bash/c.h"\n',
    "tools/bash/include/cordon/bash/c.h": "",
    "tools/cli/main.cc": '#include "cordon/gate/b.h"\n#include <CLI/CLI.hpp>\n',
    "tests/fuzz/b_fuzz.cc": '#include "inner.h"\n',
}


class CheckTest(unittest.TestCase):
    def found_in(self, change, listed=True):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for path, text in {**GOOD, **change}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            (root / check.LIST).parent.mkdir(parents=True, exist_ok=True)
            if listed:
                check.update(root)
            return list(check.violations(root))

    def expect(self, change, *words):
        found = self.found_in(change)
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_the_good_tree_has_no_violation(self):
        self.assertEqual(self.found_in({}), [])

    def test_sdk_includes_nothing_of_its_neighbours(self):
        self.expect({"sdk/src/x.cc": '#include "cordon/gate/b.h"\n'}, "sdk/src/x.cc", "cordon/gate/b.h")

    def test_siblings_do_not_include_each_other(self):
        self.expect({"gate/src/x.cc": "#include <cordon/bash/c.h>\n"}, "gate/src/x.cc", "cordon/bash/c.h")
        self.expect({"tools/bash/src/x.cc": '# include "cordon/gate/b.h"\n'}, "tools/bash/src/x.cc")

    def test_a_relative_path_is_no_way_around(self):
        self.expect({"gate/src/x.cc": '#include "../../sdk/src/y.h"\n'}, "way around")
        self.expect({"tools/cli/x.cc": '#include "gate/src/inner.h"\n'}, "way around")

    def test_a_library_stays_in_its_module(self):
        self.expect({"gate/src/x.cc": "#include <seccomp.h>\n"}, "seccomp.h")
        self.expect({"sandbox/src/x.cc": "#include <openssl/evp.h>\n"}, "openssl/evp.h")

    def test_a_public_header_shows_no_third_library(self):
        self.expect({"sdk/include/cordon/sdk/a.h": "#include <nlohmann/json.hpp>\n"}, "nlohmann", "public header")

    def test_a_public_header_includes_no_private_one(self):
        self.expect({"gate/include/cordon/gate/b.h": '#include "inner.h"\n'}, "inner.h", "not public")

    def test_a_public_header_stands_where_it_is_included_from(self):
        self.expect({"gate/include/b.h": ""}, "gate/include/b.h")

    def test_a_public_header_is_declared(self):
        self.expect({"sdk/include/cordon/sdk/z.h": ""}, "sdk/include/cordon/sdk/z.h", "HEADERS")

    def test_wiring_uses_no_private_header(self):
        self.expect({"tests/integration/x.cc": '#include "inner.h"\n'}, "private")

    def test_a_test_name_has_no_semicolon(self):
        self.expect({"gate/src/b_test.cc": 'TEST_CASE("one; two") {}\n'}, "semicolon")

    def test_what_compiles_a_view_asks_the_host_in_one_way(self):
        tree = {"sandbox/src/view.cc": '#include "rules.h"\n#include "place_memory.h"\n', "sandbox/src/rules.h": "",
                "sandbox/src/place_memory.h": "", "sandbox/src/place_memory.cc": "x = readlink(path);\n",
                "sandbox/src/other.cc": "x = readlink(path);\n"}
        self.assertEqual(self.found_in({**tree, "sandbox/src/rules.cc": "x = LinkAt(path);\n"}), [])
        self.expect({**tree, "sandbox/src/rules.cc": "x = readlink(path);\n"}, "rules.cc:1", "readlink(")

    def test_a_new_public_header_must_be_listed(self):
        found = self.found_in({}, listed=False)
        self.assertEqual(len(found), 3, found)
        self.assertIn("--update", found[0])


if __name__ == "__main__":
    unittest.main()
