"""The parts of the library that need Brine."""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]

import cases  # noqa: E402
import fake  # noqa: E402


class TestMissing(unittest.TestCase):
    def test_says_the_way_out(self):
        import salt.utils.path  # noqa: F401

        for statement in ("import salt.nope", "from salt.utils import nope",
                          "from salt.utils.path import nope", "import salt.utils.path.nope",
                          "from salt.ext.six.moves import nope"):
            with self.subTest(statement), self.assertRaisesRegex(
                    ImportError, r"^salt\.\S*nope is not part of Brine's library; install Salt's "
                                 "and set python_salt: auto$"):
                exec(statement)
        with self.assertRaisesRegex(AttributeError, "salt.utils.path.nope is not part of Brine's"):
            import salt

            salt.utils.path.nope
        self.assertFalse(hasattr(salt.utils, "nope"))
        self.assertFalse(hasattr(salt.utils.files, "nope"))

    def test_what_modules_of_salt_import(self):
        import salt.exceptions
        import salt.utils.files

        self.assertIs(salt.utils.files.CommandExecutionError,
                      salt.exceptions.CommandExecutionError)
        from salt.utils.data import OrderedDict

        self.assertEqual(OrderedDict.__module__, "salt.utils.odict")

    def test_submodules_load_when_they_are_used(self):
        code = "import salt.utils; print(salt.utils.files.fopen.__name__, salt.exceptions.__name__)"
        self.assertEqual(python(code), "fopen salt.exceptions\n")

    def test_old_names(self):
        import salt.utils

        for names in salt.utils._OLD.values():
            for pair in names.split():
                self.assertTrue(hasattr(salt.utils, pair.partition(":")[0]), pair)
        self.assertEqual(salt.utils.which("/bin/sh"), "/bin/sh")
        from salt._compat import subprocess as found
        from salt.utils.decorators import path, which

        self.assertIs(which, path.which)
        self.assertIs(found, subprocess)

    def test_six(self):
        from salt.ext import six
        from salt.ext.six.moves import StringIO, configparser, range  # noqa: F401
        from salt.ext.six.moves.urllib.parse import urlparse
        import salt.ext.six.moves.http_client as client

        self.assertEqual(urlparse("http://a/b").path, "/b")
        self.assertEqual(six.string_types, (str,))
        self.assertTrue(client.HTTPConnection)
        self.assertEqual(list(six.iteritems({1: 2})), [(1, 2)])
        import urllib.parse

        self.assertEqual(urllib.parse.__name__, "urllib.parse")


def python(code):
    return subprocess.run(
        [sys.executable, "-I", "-c", "import sys; sys.dont_write_bytecode = True; "
         "sys.path.insert(0, %r)\n%s" % (os.path.dirname(HERE), code)],
        stdout=subprocess.PIPE, check=True).stdout.decode()


class TestCheap(unittest.TestCase):
    HEAVY = ("logging", "inspect", "yaml", "urllib.request", "urllib.parse", "json", "re",
             "subprocess", "socket", "tempfile", "shutil", "hashlib", "datetime", "threading")
    LIGHT = (
        "salt", "salt._brine", "salt.exceptions", "salt.utils", "salt.utils.path",
        "salt.utils.files", "salt.utils.odict", "salt.utils.json", "salt.utils.platform",
        "salt.utils.dictupdate", "salt.utils.dictdiffer", "salt.utils.data", "salt.utils.versions",
        "salt.utils.stringutils", "salt.utils.hashutils", "salt.utils.http", "salt.utils.args",
        "salt.utils.url", "salt.utils.jid", "salt.utils.validate.net", "salt.utils.templates",
        "salt.utils.user", "salt.utils.systemd", "salt.utils.immutabletypes", "salt.utils.context",
        "salt.utils.beacons", "salt.utils.state", "salt.utils.event", "salt.config", "salt.loader",
        "salt.client", "salt.runner", "salt.wheel", "salt.fileclient", "salt.returners",
        "salt.pillar", "salt.cache", "salt.template", "salt.payload", "salt.serializers.json",
        "salt.output.nested", "salt.grains.core", "salt.modules.cmdmod", "salt.version",
        "salt.syspaths", "salt.defaults.exitcodes", "salt.utils.decorators.path", "salt.crypt",
        "salt.state",
    )

    def test_imports(self):
        base = set(python("print('\\n'.join(sys.modules))").split())
        code = ("for name in %r:\n    before = set(sys.modules)\n    __import__(name)\n"
                "    print(name, *sorted(set(sys.modules) - before))" % (self.LIGHT,))
        for line in python(code).splitlines():
            name, *loaded = line.split()
            with self.subTest(name):
                self.assertEqual([m for m in loaded if m in self.HEAVY and m not in base], [])


class TestMirrors(unittest.TestCase):
    def setUp(self):
        for name in [n for n in sys.modules if n.startswith("salt.modules.")]:
            del sys.modules[name]
        self.worker, self.channel = fake.start()

    def test_functions(self):
        import salt.modules.cmdmod as cmd
        from salt.modules import file
        from salt.modules.yumpkg import list_repos

        self.assertEqual(cmd.run("ls"), ("modules", "cmd.run", ["ls"], {}))
        self.assertEqual(file.chown("a", "b", "c")[1], "file.chown")
        self.assertEqual(file.set_("x")[1], "file.set")
        self.assertEqual(list_repos()[1], "pkg.list_repos")
        self.assertEqual(cmd._run_all_quiet("ls", cwd="/")[1:], (
            "cmd.run_all", ["ls"], {"cwd": "/", "output_loglevel": "quiet"}))
        self.assertEqual(cmd._run_quiet("ls", "/", python_shell=True)[3]["python_shell"], True)
        self.assertEqual(cmd.DEFAULT_SHELL, "/bin/sh")
        import salt.states.file

        self.assertEqual(salt.states.file.chown()[0], "states")

    def test_missing(self):
        with self.assertRaisesRegex(ImportError, "salt.modules.nosuch is not part of Brine's"):
            import salt.modules.nosuch  # noqa: F401
        import salt.modules.file

        with self.assertRaisesRegex(AttributeError, "salt.modules.file.nope is not part of"):
            salt.modules.file.nope
        with self.assertRaisesRegex(AttributeError, "salt.modules.file._private is not part of"):
            salt.modules.file._private

    def test_dunder(self):
        from salt.loader.context import NamedLoaderContext
        from salt.loader.dunder import __grains__, __opts__, __salt__

        self.assertIsInstance(__salt__, NamedLoaderContext)
        self.assertEqual((__opts__["id"], __grains__["os"]), ("web1", "Debian"))

    def test_loader(self):
        import salt.loader

        self.assertIs(salt.loader.minion_mods({}), self.worker.functions("modules"))
        some = salt.loader.minion_mods({}, whitelist=["cmd"])
        self.assertEqual(sorted(some), ["cmd.run", "cmd.run_all"])
        self.assertNotIn("test.ping", some)
        self.assertEqual(sorted(salt.loader.raw_mod({}, "file", {})),
                         ["file.chown", "file.file_exists", "file.set"])
        self.assertEqual(salt.loader.grains({})["os"], "Debian")
        self.worker.loading = True
        self.worker.fetched.clear()
        self.channel.answers["builtin_grains"] = {"os": "built in"}
        self.assertEqual(salt.loader.grains({})["os"], "built in")
        import salt.grains.core

        self.assertEqual(salt.grains.core.os_data(), {"os": "built in"})


class TestDepends(unittest.TestCase):
    def test_functions_without_what_they_need(self):
        source = (
            "from salt.utils.decorators import depends\n"
            "import json\n"
            "try:\n    import no_such_thing\n    HAS = True\nexcept ImportError:\n    HAS = False\n"
            "def _instead(*args):\n    return 'instead'\n"
            "@depends('json')\ndef a():\n    return 'a'\n"
            "@depends('no_such_thing')\ndef b():\n    return 'b'\n"
            "@depends(HAS, fallback_function=_instead)\ndef c():\n    return 'c'\n"
            "@depends('later')\ndef d():\n    return 'd'\n"
            "later = 1\n"
            "@depends('true', retcode=0)\ndef e():\n    return 'e'\n"
            "@depends('false', retcode=0)\ndef f():\n    return 'f'\n"
            "from salt.utils.decorators import memoize\n"
            "@depends('no_such_thing')\n@memoize\ndef h():\n    return 'h'\n"
            "@memoize\n@depends('no_such_thing')\ndef i():\n    return 'i'\n"
            "@depends('json', 'no_such_thing')\ndef g():\n    return 'g'\n")
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "dep.py"), "w", encoding="utf-8") as file:
                file.write(source)
            worker, _ = fake.start({"modules": [directory]})
            functions = worker.loader("modules").plugin("dep").functions
            self.assertEqual({n: f() for n, f in functions.items() if n not in ("depends", "memoize")},
                             {"a": "a", "c": "instead", "d": "d", "e": "e"})


class TestClients(unittest.TestCase):
    def setUp(self):
        self.worker, self.channel = fake.start()

    def test_local_client(self):
        import salt.client

        self.channel.answers["order"] = [
            ("web1", {"ret": True, "retcode": 0, "jid": "1"}), ("web2", None)]
        client = salt.client.get_local_client()
        self.assertEqual(client.cmd("web*", "test.ping"), {"web1": True})
        self.assertEqual(len(self.channel.calls[-1][1].pop("jid")), 20)
        self.assertEqual(self.channel.calls[-1], ("order", {
            "tgt": "web*", "fun": "test.ping", "tgt_type": "glob", "arg": [],
            "expect_minions": False}))
        self.assertEqual(client.cmd("*", "f.g", ["x"], kwarg={"a": 1}, timeout=3, tgt_type="list",
                                    jid="7", full_return=True), {"web1": {"ret": True, "retcode": 0,
                                                                 "jid": "1"}})
        self.assertEqual(self.channel.calls[-1][1], {
            "tgt": "*", "fun": "f.g", "tgt_type": "list", "timeout": 3, "jid": "7",
            "arg": ["x", {"__kwarg__": True, "a": 1}], "expect_minions": False})
        self.assertEqual(list(client.cmd_iter("*", "test.ping")),
                         [{"web1": {"ret": True, "retcode": 0, "jid": "1"}}])
        self.channel.answers["order"] = [("web3", {"failed": True})]
        self.assertEqual(client.cmd("web3", "test.ping", tgt_type="list", jid="7")["web3"],
                         salt.client.NO_RESPONSE % "7")
        self.channel.answers["order"] = [
            ("web1", {"ret": True, "retcode": 0, "jid": "1"}), ("web2", None)]
        self.assertEqual(list(client.cmd_iter_no_block("*", "test.ping"))[-1], None)
        self.assertEqual(list(client.cmd_batch("*", "test.ping", batch="1")), [{"web1": True}])
        self.assertEqual(self.channel.calls[-1][1]["batch"], "1")
        client.cmd("*", ["test.ping", "test.echo"], [[], ["x"]])
        self.assertEqual(self.channel.calls[-1][1]["arg"], [[], ["x"]])

    def test_asynchronous(self):
        import salt.client

        self.channel.answers["publish"] = {"jid": "9", "minions": ["a", "b"]}
        client = salt.client.LocalClient()
        self.assertEqual(client.cmd_async("*", "test.ping"), "9")
        self.assertEqual(client.run_job("*", "test.ping")["minions"], ["a", "b"])
        answers = iter([{}, {"a": {"ret": 1}}, {"a": {"ret": 1}, "b": {"ret": 2}}])
        self.channel.answers["returns"] = lambda jid: next(answers)
        self.assertEqual(list(client.get_iter_returns("9", ["a", "b"], timeout=30)),
                         [{"a": {"ret": 1}}, {"b": {"ret": 2}}])
        self.channel.answers["publish"] = None
        self.assertEqual(client.cmd_async("*", "test.ping"), 0)
        self.assertEqual(client.run_job("*", "test.ping"), {})

    def test_caller(self):
        import salt.client

        caller = salt.client.Caller()
        self.assertEqual(caller.function("cmd.run", "x", a=1)[2:], (["x"], {"a": 1}))
        self.assertEqual(caller.cmd("cmd.run", "1", "b=2")[2:], ([1], {"b": 2}))

    def test_runner_and_wheel(self):
        import salt.runner
        import salt.wheel

        self.channel.answers["control"] = {"return": {"x": 1}, "success": True}
        self.assertEqual(salt.runner.RunnerClient({}).cmd("jobs.active", ["a", "k=1"],
                                                          kwarg={"b": 2}), {"x": 1})
        self.assertEqual(self.channel.calls[-1],
                         ("control", "runner", "jobs.active", ["a"], {"k": 1, "b": 2}, True))
        self.assertEqual(salt.wheel.WheelClient({}).cmd_sync(
            {"fun": "key.accept", "match": "x", "eauth": "pam"}, full_return=True)["data"],
            {"return": {"x": 1}, "success": True})
        self.assertEqual(self.channel.calls[-1],
                         ("control", "wheel", "key.accept", [], {"match": "x"}, False))
        self.channel.answers["control_async"] = {"jid": "1", "tag": "salt/run/1"}
        self.assertEqual(salt.runner.RunnerClient({}).cmd_async({"fun": "a.b"})["jid"], "1")


class TestEvents(unittest.TestCase):
    def test_bus(self):
        import salt.utils.event

        events = iter([("salt/a", {"x": 1}), None, ("b", {})])
        _, channel = fake.start(subscribe=True, fire=True)
        channel.answers["await"] = lambda *a: next(events)
        with salt.utils.event.get_event("minion", opts={"sock_dir": "/run"}) as bus:
            self.assertEqual(channel.calls[-1], ("subscribe", "minion", "/run"))
            self.assertEqual(bus.get_event(tag="salt"), {"x": 1})
            self.assertEqual(channel.calls[-1][:4], ("await", "minion", "/run", "salt"))
            self.assertTrue(4 < channel.calls[-1][4] <= 5)
            self.assertIsNone(bus.get_event(no_block=True))
            self.assertEqual(channel.calls[-1][-1], 0)
            self.assertEqual(next(bus.iter_events(full=True)), {"tag": "b", "data": {}})
            self.assertEqual(channel.calls[-1][-1], None)
            self.assertTrue(bus.fire_event({"a": 1}, "my/tag"))
            self.assertEqual(channel.calls[-1], ("fire", "minion", "my/tag", {"a": 1}))
            with self.assertRaisesRegex(ValueError, "Empty tag."):
                bus.fire_event({}, "")
            with self.assertRaisesRegex(ValueError, "Dict object expected, not 'x'."):
                bus.fire_event("x", "t")
        salt.utils.event.get_master_event({}, "/x", listen=False).fire_event({}, "t")
        self.assertEqual(channel.calls[-1], ("fire", "master", "t", {}))

    def test_matching(self):
        import salt.utils.event

        for match_type, tag, want in (
            ("startswith", "my/", "my/end"), ("endswith", "end", "my/end"), ("find", "y/", "my/end"),
            ("regex", "m.*d$", "my/end"), ("fnmatch", "*/e?d", "my/end"),
        ):
            events = iter([("other", {}), ("my/end", {})])
            fake.start(subscribe=True, **{"await": lambda *a: next(events)})
            with salt.utils.event.get_event("master", opts={}) as bus:
                self.assertEqual(bus.get_event(tag=tag, match_type=match_type, full=True)["tag"],
                                 want)


class TestOptions(unittest.TestCase):
    def test_running(self):
        import salt.config

        _, channel = fake.start()
        opts = salt.config.minion_config("/etc/salt/minion")
        self.assertEqual(opts["id"], "web1")
        opts["x"] = 1
        self.assertNotIn("x", salt.config.minion_config(None))
        channel.answers["configuration"] = {"id": "m", "timeout": 7}
        self.assertEqual(salt.config.master_config("/etc/salt/master")["timeout"], 7)
        self.assertEqual(channel.calls[-1], ("configuration", "master", "/etc/salt/master"))

    @unittest.skipUnless(cases.HAS_YAML, "needs PyYAML")
    def test_file(self):
        import salt.config

        fake.start(configuration=None)
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "minion")
            os.mkdir(os.path.join(directory, "minion.d"))
            for name, text in (("minion", "id: 5\nmaster: a\n"),
                               ("minion.d/a.conf", "master: b\n")):
                with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                    file.write(text)
            opts = salt.config.minion_config(path)
            self.assertEqual((opts["id"], opts["master"], opts["conf_file"]), ("5", "b", path))
            self.assertEqual(opts["hash_type"], "sha256")
            self.assertEqual(salt.config.load_config(path, "NO_SUCH_VARIABLE")["master"], "a")
            self.assertEqual(salt.config.include_config("minion.d/*.conf", path, False),
                             {"master": "b"})
        self.assertEqual(salt.config.DEFAULT_MINION_OPTS["master"], "salt")

    def test_returners(self):
        from salt.returners import get_returner_options

        opts = {"redis.host": "h", "alt.redis.host": "ah", "redis": {"user": "u"}}

        def option(name, default=""):
            return opts.get(name, default)

        attrs = {"host": "host", "port": "port", "user": "user"}

        def get(ret=None, **kwargs):
            return get_returner_options("redis", ret, attrs, __salt__={"config.option": option},
                                        __opts__=opts, **kwargs)

        self.assertEqual(get(), {"host": "h", "user": "u"})
        self.assertEqual(get({"ret_config": "alt"}), {"host": "ah", "user": "u"})
        self.assertEqual(get(defaults={"host": "d", "port": 1}),
                         {"host": "h", "port": 1, "user": "u"})
        self.assertEqual(get({"ret_kwargs": {"host": "k", "z": 1}}),
                         {"host": "k", "user": "u", "z": 1})


class TestFiles(unittest.TestCase):
    def test_client(self):
        import salt.fileclient

        _, channel = fake.start()

        def invoke(kind, name, args, kwargs):
            return {"cp.cache_file": "/c/x" if "salt://a/init.sls" in args else "",
                    "cp.list_master": ["d/f"], "cp.list_master_dirs": ["d", "e"],
                    "cp.get_file": "/d"}[name]

        channel.answers["invoke"] = invoke
        with salt.fileclient.get_file_client({}) as client:
            self.assertEqual(client.cache_file("salt://no"), "")
            self.assertEqual(client.get_state("a", "base"),
                             {"source": "salt://a/init.sls", "dest": "/c/x"})
            self.assertEqual(client.file_list_emptydirs(), ["e"])
            self.assertEqual(client.get_file("salt://x", "/d", makedirs=True), "/d")
            self.assertEqual(channel.calls[-1], (
                "invoke", "modules", "cp.get_file", ("salt://x", "/d"),
                {"saltenv": "base", "makedirs": True}))


class TestServices(unittest.TestCase):
    def test_pillar(self):
        import salt.pillar

        _, channel = fake.start(compile_pillar={"a": 1})
        made = salt.pillar.get_pillar({}, {"os": "x"}, "web1", "base", pillar_override={"o": 1})
        self.assertEqual(made.compile_pillar(), {"a": 1})
        self.assertEqual(channel.calls[-1], ("compile_pillar", "", "base", None, {"o": 1}, None))
        salt.pillar.get_pillar({}, {"os": "x"}, "web2").compile_pillar()
        self.assertEqual(channel.calls[-1],
                         ("compile_pillar", "web2", None, None, None, {"os": "x"}))

    def test_cache(self):
        import salt.cache

        values = {}
        _, channel = fake.start(
            data_get=lambda _, bank, key: values.get((bank, key)),
            data_set=lambda _, bank, key, value: values.update({(bank, key): value}),
            data_list=lambda _, bank: [k for b, k in values if b == bank],
            data_time=lambda _, bank, key: 4102444800 if (bank, key) in values else None,
            data_flush=lambda _, bank, key: values.clear())
        cache = salt.cache.factory({"cachedir": "/c"})
        self.assertEqual(cache.fetch("b", "k"), {})
        self.assertFalse(cache.contains("b", "k"))
        cache.store("b", "k", [1])
        self.assertEqual((cache.fetch("b", "k"), cache.list("b")), ([1], ["k"]))
        self.assertTrue(cache.contains("b", "k") and cache.contains("b"))
        self.assertEqual(cache.cache("b", "k", lambda: 5), [1])
        self.assertEqual(cache.cache("b", "n", lambda x: x, x=7), 7)
        cache.flush("b")
        self.assertEqual(cache.list("b"), [])
        self.assertEqual(channel.calls[-1], ("data_list", "/c", "b"))

    def test_templates(self):
        import salt.template
        from salt.utils.templates import TEMPLATE_REGISTRY

        _, channel = fake.start(compile_template=lambda pipe, text, *rest: (pipe, text) + rest)
        self.assertEqual(
            salt.template.compile_template(":string:", {}, "jinja|yaml", None, None, "dev", "a.b",
                                           "#!yaml\na: 1", context={"x": 1, "f": len}),
            ("jinja|yaml", "#!yaml\na: 1", "", "dev", "a.b", {"x": 1}))
        channel.answers["compile_template"] = "made"
        self.assertEqual(TEMPLATE_REGISTRY["jinja"]("x", from_str=True, to_str=True, salt={},
                                                    context={"a": 1}),
                         {"result": True, "data": "made"})
        self.assertEqual(channel.calls[-1], ("compile_template", "jinja", "x", "", "base", "", {"a": 1}))


if __name__ == "__main__":
    unittest.main()
