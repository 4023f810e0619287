"""The renderers in Python: pyobjects, mako and pydsl."""

import importlib.util
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]

import fake  # noqa: E402

STATES = ["file.managed", "pkg.installed", "postgres_user.present", "service.running", "test.nop"]


def start(files=None, grains=None, pillar=None):
    """Return a worker whose templates may import files, by URL."""
    directory = tempfile.mkdtemp(prefix="brine")

    def template_file(url, saltenv):
        if url not in (files or {}):
            return None
        path = os.path.join(directory, os.path.basename(url))
        with open(path, "w", encoding="utf-8") as file:
            file.write(files[url])
        return path

    def invoke(kind, name, args, kwargs):
        return {"grains.item": {grain: (grains or {}).get(grain, "") for grain in args},
                "pillar.get": (pillar or {}).get(args[0] if args else "")}.get(name, name)

    known = ("cmd.run", "grains.get", "grains.item", "pillar.get", "mine.get", "config.get")
    made, channel = fake.start(
        opts={"id": "web1", "test": False, "grains": grains or {}, "pillar": pillar or {}},
        names=lambda kind: STATES, template_file=template_file, invoke=invoke,
        find=lambda kind, name: True if name in known else None)
    return made, channel


def pyobjects(text, files=None, grains=None, pillar=None):
    """Return the states of a text."""
    made, _ = start(files, grains, pillar)
    return made.do_render("pyobjects", "render", text,
                          {"saltenv": "base", "sls": "web", "tmplpath": "/x/web.sls", "context": {}})


class TestPyobjects(unittest.TestCase):
    def test_states(self):
        got = pyobjects("Service.running('x', enable=True)\nPostgresUser.present('u')\n"
                        "include('a', 'b')\nTest.nop(extend('e'), n=1)\n")
        self.assertEqual(got, {
            "x": {"service.running": [{"enable": True}]}, "u": {"postgres_user.present": []},
            "include": ["a", "b"], "extend": {"e": {"test.nop": [{"n": 1}]}}})
        self.assertEqual(list(got), ["x", "u", "include", "extend"])

    def test_with_statements(self):
        got = pyobjects(
            "with Pkg.installed('p'):\n with Service('s', 'watch_in'):\n"
            "  File.managed('f', require=Test('t'))\n Test.nop('g')\nTest.nop('h')\n")
        self.assertEqual(got["f"]["file.managed"], [
            {"require": [{"test": "t"}, {"pkg": "p"}]}, {"watch_in": [{"service": "s"}]}])
        self.assertEqual(got["g"]["test.nop"], [{"require": [{"pkg": "p"}]}])
        self.assertEqual(got["h"]["test.nop"], [])

    def test_a_fault_leaves_nothing_behind(self):
        for text in ("with Pkg.installed('p'):\n 1 / 0", "from salt://none.sls import X",
                     "Test.nop('a')\nTest.nop('a')"):
            with self.subTest(text), self.assertRaises(Exception):
                pyobjects(text)
            self.assertEqual(pyobjects("Test.nop('b')"), {"b": {"test.nop": []}})

    def test_errors(self):
        for text, words in (
                ("Test.none('a')",
                 "The function 'none' does not exist in the StateFactory for 'test'"),
                ("Test.nop('a')\nTest.nop('a')", "A state with id ''a'', type ''test.nop'' exists"),
                ("None_.x('a')", "name 'None_' is not defined"),
                ("from salt://a.sls import X", "Could not find the file 'salt://a.sls'"),
                ("from salt://lib.sls import X", "'X' was not found in 'salt://lib.sls'"),
                ("salt.no.such()", "'no.such' is not available.")):
            with self.subTest(text), self.assertRaisesRegex(Exception, "^" + words):
                pyobjects(text, {"salt://lib.sls": "Y = 1\n"})

    def test_imports(self):
        files = {"salt://lib.sls": "Test.nop('unseen')\nY = 1\ndef make(n):\n    Test.nop(n)\n",
                 "salt://deep.sls": "from salt://lib.sls import make as m\n"}
        got = pyobjects("if True:\n    from salt://lib.sls import Y, make\n    make('a')\n"
                        "import salt://lib.sls\nimport salt://deep.sls\nlib.make('b')\n"
                        "deep.m('c')\nTest.nop('d', y=Y, r=repr(lib))\n", files)
        self.assertEqual(list(got), ["a", "b", "c", "d"])
        self.assertEqual(got["d"]["test.nop"], [{"r": "<module 'lib' (pyobjects)>"}, {"y": 1}])

    def test_maps(self):
        text = ("class Web(Map):\n    merge = 'web'\n    priority = %s\n"
                "    class Any:\n        __grain__ = 'os'\n        __match__ = 'Ubuntu'\n"
                "        name = 'os'\n"
                "    class Debian:\n        name = 'family'\n        port = 1\n"
                "    class RedHat:\n        name = 'no'\n"
                "Test.nop(Web.name, p=Web.port)\n")
        grains = {"os": "Ubuntu", "os_family": "Debian"}
        self.assertEqual(pyobjects(text % "()", grains=grains),
                         {"family": {"test.nop": [{"p": 1}]}})
        self.assertEqual(pyobjects(text % "('os_family', 'os')", grains=grains,
                                   pillar={"web": {"port": 2}}), {"os": {"test.nop": [{"p": 2}]}})

    def test_a_rendering_within_another(self):
        made, channel = start()
        words = {"saltenv": "base", "sls": "web", "context": {}}
        channel.answers["invoke"] = lambda *_: made.do_render(
            "pyobjects", "render", "Test.nop('inner')", words)
        got = made.do_render("pyobjects", "render", "with Test.nop('outer'):\n"
                             "    Test.nop('made', inner=salt.cmd.run())\n", words)
        self.assertEqual(got["made"]["test.nop"], [
            {"inner": {"inner": {"test.nop": []}}}, {"require": [{"test": "outer"}]}])
        self.assertEqual(list(got), ["outer", "made"])


class TestMako(unittest.TestCase):
    def render(self, text, files=None, function="render", **words):
        made, _ = start(files, {"role": "web"}, {"who": "me"})
        given = {"saltenv": "base", "tmplpath": "/x/web/init.sls", "context": {}}
        if function == "render":
            given["sls"] = "web"
        given.update(words)
        return made.do_render("mako", function, text, given)

    @unittest.skipUnless(importlib.util.find_spec("mako"), "this Python has no Mako")
    def test_templates(self):
        for text, want in (
                ("${grains['role']} ${pillar['who']} ${opts['id']} ${sls}", "web me web1 web"),
                ("${tplfile} ${slspath}", "web/init.sls web"),
                ('<%include file="part.mako"/>', "part web"),
                ('<%include file="salt://part.mako"/>', "part web"),
                ('<%namespace name="n" file="/deep/fun.mako"/>${n.f("x")}', "f-x part web")):
            with self.subTest(text):
                self.assertEqual(self.render(text, {
                    "salt://part.mako": "part ${grains['role']}",
                    "salt://deep/part.mako": "part ${grains['role']}",
                    "salt://deep/fun.mako": '<%def name="f(x)">f-${x} <%include file="part.mako"/>'
                                            "</%def>"}), want)
        self.assertEqual(self.render("${who} ${saltenv}", function="render_file",
                                     context={"who": "you"}), "you base")

    @unittest.skipUnless(importlib.util.find_spec("mako"), "this Python has no Mako")
    def test_faults(self):
        from salt.exceptions import SaltRenderError

        for text, words in (("${nothing}", "NameError: 'nothing' is not defined"),
                            ("% for x in y:", "SyntaxException"),
                            ('<%include file="none.mako"/>', "Cant locate template for uri"),
                            ('<%include file="ftp://x"/>', r"Unsupported URL scheme\(ftp\)")):
            with self.subTest(text), self.assertRaisesRegex(SaltRenderError, words):
                self.render(text)

    @unittest.skipIf(importlib.util.find_spec("mako"), "this Python has Mako")
    def test_a_python_without_mako(self):
        from salt.exceptions import SaltRenderError

        with self.assertRaisesRegex(SaltRenderError, "needs the Python library Mako: install it"):
            self.render("x")


class TestPydsl(unittest.TestCase):
    def render(self, text):
        made, _ = start(grains={"role": "web"})
        return made.do_render("pydsl", "render", text,
                              {"saltenv": "base", "sls": "web", "tmplpath": "/x/web.sls"})

    def test_states(self):
        got = self.render(
            "include('a')\nextend(state('e').test.nop(1))\n"
            "n = state('n')\nn.pkg.installed()\n"
            "n.service.running(enable=True).require(n.pkg).watch(file='/f')\n"
            "state('/f').file('managed', '/f', mode=__grains__['role'])\n")
        del got["_slsmod_web"]
        self.assertEqual(got, {
            "include": [{"base": "a"}], "extend": {"e": {"test": ["nop", {"name": 1}]}},
            "n": {"pkg": ["installed"], "service": [
                "running", {"enable": True}, {"require": [{"pkg": "n"}]},
                {"watch": [{"file": "/f"}]}]},
            "/f": {"file": ["managed", {"name": "/f"}, {"mode": "web"}]}})

    def test_ordered(self):
        got = self.render("__pydsl__.set(ordered=True)\nfor i in 'ab':\n state(i).test.nop()\n")
        self.assertEqual(got["b"], {"test": ["nop", {"require": [{"test": "a"}]}]})

    def test_errors(self):
        for text, words in (
                ("state('a').test", "has no attribute|NoneType"),
                ("state('a').test.nop()\nstate('a').test.x()", r"Multiple state functions\(x\)"),
                ("state('a').test.require(test='b')", "No state function specified for module"),
                ("state('a').cmd.call(len, 'x')", "cmd.call of a Python function is not supported"),
                ("__pydsl__.set(ordered=True)\nextend(state('a').test.nop())", "Cannot extend")):
            with self.subTest(text), self.assertRaisesRegex(Exception, words):
                self.render(text)


if __name__ == "__main__":
    unittest.main()
