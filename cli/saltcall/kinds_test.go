package saltcall

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/internal/test/need"
)

// ownRoot returns a tree with users' own plug-ins and further options of the minion, as JSON.
func ownRoot(t *testing.T, options string, files map[string]string) pluginRoot {
	t.Helper()
	need.Time(t, "it starts Python for each call")
	need.Program(t, "python3")
	g := pluginGroup{Files: files}
	g.Config.Minion = json.RawMessage(options)
	return newPluginRoot(t, g)
}

// answers makes calls, given as words, and compares the exit code and what is printed.
func (r pluginRoot) answers(t *testing.T, calls []ownCall) {
	t.Helper()
	for _, c := range calls {
		code, stdout, stderr := r.run(t, strings.Split(c.args, " "))
		got := strings.Join(strings.Fields(stdout), " ")
		if code != c.code || got != c.stdout {
			t.Errorf("%s: exit code %d, prints %s\nwant %d, %s\n%s", c.args, code, got, c.code, c.stdout, stderr)
		}
		if c.stderr != "" && !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: standard error is %s, which lacks %q", c.args, stderr, c.stderr)
		}
	}
}

type ownCall struct {
	args   string // words of the command line
	stdout string // with one space between words
	code   int
	stderr string // a part of it
}

func TestOwnMatchers(t *testing.T) {
	r := ownRoot(t, `{}`, map[string]string{
		"salt/_matchers/mk_match.py": "def match(tgt, opts=None, minion_id=None):\n" +
			"    return tgt == 'yes-' + (minion_id or __opts__['id'])\n",
		"salt/_matchers/glob_match.py": "def match(tgt, opts=None, minion_id=None):\n" +
			"    if tgt == 'broken':\n        raise ValueError('matcher broke')\n" +
			"    return tgt == 'own-' + (minion_id or __opts__['id'])\n",
		"salt/top.sls": "base:\n  yes-m1:\n    - match: mk\n    - r1\n  yes-m2:\n" +
			"    - match: mk\n    - r2\n",
		"pillar/top.sls": "base:\n  'own-m1 and G@id:m1':\n    - match: compound\n    - p\n",
		"pillar/p.sls":   "p: 1\n",
	})
	r.answers(t, []ownCall{
		// a top file with an unknown matcher, which the call fetches
		{args: "saltutil.sync_matchers", stdout: `{ "local": [ "matchers.glob_match", "matchers.mk_match" ] }`},
		{args: "state.show_top", stdout: `{ "local": { "base": [ "r1" ] } }`},
		{args: "match.glob own-m1", stdout: `{ "local": true }`},
		{args: "match.glob m1", stdout: `{ "local": false }`},
		{args: "match.glob own-x minion_id=x", stdout: `{ "local": true }`},
		{args: "match.compound not_own-m1_and_G@id:m1", stdout: `{ "local": false }`},
		{args: "match.glob broken", stdout: `{ "local": false }`},
		{args: "pillar.get p", stdout: `{ "local": 1 }`},
	})
}

func TestOwnTopMatcher(t *testing.T) {
	r := ownRoot(t, `{}`, map[string]string{
		"salt/_matchers/confirm_top.py": "def confirm_top(match, data, nodegroups=None):\n" +
			"    return match == 'chosen' and {'k': 1} in data\n",
		"salt/_matchers/compound_match.py": "import salt.loader\n\n\n" +
			"def match(tgt, opts=None, minion_id=None):\n" +
			"    return salt.loader.matchers(__opts__)['glob_match.match'](tgt[1:])\n",
		"salt/top.sls": "base:\n  chosen:\n    - k: 1\n    - r1\n  '*':\n    - r2\n",
	})
	r.answers(t, []ownCall{
		{args: "saltutil.sync_matchers", stdout: `{ "local": [ "matchers.compound_match", "matchers.confirm_top" ] }`},
		{args: "state.show_top", stdout: `{ "local": { "base": [ "r1" ] } }`},
		{args: "match.compound +m1", stdout: `{ "local": true }`},
		{args: "match.compound m1", stdout: `{ "local": false }`},
	})
}

func TestOwnExecutors(t *testing.T) {
	r := ownRoot(t, `{"module_executors": ["exa", "direct_call"], "executor_dirs": ["{ROOT}/more"]}`, map[string]string{
		"more/exa.py": "def execute(opts, data, func, args, kwargs):\n" +
			"    if data['fun'] == 'test.false':\n        return None\n" +
			"    got = __executors__['direct_call.execute'](opts, data, func, args, kwargs)\n" +
			"    return [opts['id'], opts['grains']['id'], got, data['arg'], data.get('executor_opts')]\n",
		"salt/_modules/mine.py": "def code():\n    __context__['retcode'] = 3\n    return 'x'\n",
		"more/exb.py": "def __virtual__():\n    return False, 'no machine'\n\n\n" +
			"def execute(opts, data, func, args, kwargs):\n    return 1\n",
		"more/exc.py": "def execute(opts, data, func, args, kwargs):\n" +
			"    raise ValueError('executor broke')\n",
	})
	r.answers(t, []ownCall{
		{args: "--module-executors=direct_call saltutil.sync_modules", stdout: `{ "local": [ "modules.mine" ] }`},
		{args: "test.echo hi", stdout: `{ "local": [ "m1", "m1", "hi", [ "hi" ], null ] }`},
		{args: "--executor-opts={\"a\":1} test.echo hi", stdout: `{ "local": [ "m1", "m1", "hi", [ "hi" ], { "a": 1 } ] }`},
		{args: "test.false", stdout: `{ "local": false }`},
		{args: "mine.code", stdout: `{ "local": [ "m1", "m1", "x", [], null ] }`, code: 1},
		{args: "--module-executors=[exb] mine.code", stdout: "None", code: 1, stderr: "Executor 'exb' is not available"},
		{args: "--module-executors=[exc] mine.code", code: 1, stderr: "ValueError: executor broke"},
	})
}

func TestOwnSDB(t *testing.T) {
	t.Setenv("BRINE_TEST_SDB", "found")
	r := ownRoot(t, `{"own": {"driver": "sd"}, "env": {"driver": "env"}, "via": {"list": ["sdb://own/key", 1]},
		"state_output": "sdb://env/BRINE_TEST_SDB", "other": "sdb://nothing/key"}`, map[string]string{
		"salt/_sdb/sd.py": "def get(key, profile=None):\n" +
			"    return {'key': key, 'driver': profile['driver']}\n\n\n" +
			"def set_(key, value, profile=None):\n    return [key, value]\n\n\n" +
			"def delete(key, profile=None):\n    return 'deleted ' + key\n\n\n" +
			"__func_alias__ = {'set_': 'set'}\n",
	})
	r.answers(t, []ownCall{
		{args: "-l warning config.get other", stdout: `{ "local": "sdb://nothing/key" }`,
			stderr: "via: sdb://own/key is not resolved: The sdb driver 'sd' does not exist. " +
				"Available drivers: "},
		{args: "saltutil.sync_sdb", stdout: `{ "local": [ "sdb.sd" ] }`},
		{args: "config.get via", stdout: `{ "local": { "list": [ { "key": "key", "driver": "sd" }, 1 ] } }`},
		{args: "config.get state_output", stdout: `{ "local": "found" }`},
		{args: "sdb.set sdb://own/k v", stdout: `{ "local": [ "k", "v" ] }`},
		{args: "sdb.delete sdb://own/a/b", stdout: `{ "local": "deleted a/b" }`},
	})
}

func TestOwnSerializers(t *testing.T) {
	r := ownRoot(t, `{}`, map[string]string{
		"salt/_serializers/sk.py": "def serialize(obj, **options):\n" +
			"    return 'SER %s %s' % (obj, options)\n\n\n" +
			"def deserialize(s, **options):\n    return {'read': str(s)}\n",
		"salt/_serializers/yaml.py": "def serialize(obj, **options):\n    return 'own yaml'\n",
		"salt/_serializers/bad.py": "def serialize(obj, **options):\n" +
			"    raise ValueError('serializer broke')\n",
		"salt/_states/ser.py": "def run(name):\n    return {'name': name, 'changes': {}, 'result': True, " +
			"'comment': __serializers__['json.serialize']([1]) + __serializers__['sk.serialize'](2)}\n",
		"salt/a.sls": "one:\n  ser.run\n",
		"salt/b.sls": "{ROOT}/f:\n  file.serialize:\n    - serializer: bad\n    - dataset: {a: 1}\n",
		"salt/c.sls": "{ROOT}/f:\n  file.serialize:\n    - serializer: none\n    - dataset: {a: 1}\n",
		"salt/d.sls": "{ROOT}/old:\n  file.serialize:\n    - serializer: sk\n" +
			"    - merge_if_exists: true\n    - dataset: {a: 1}\n",
		"old": "text",
	})
	r.answers(t, []ownCall{
		{args: "saltutil.sync_all", stdout: `{ "local": { "clouds": [], "beacons": [], "modules": [], "states": [ "states.ser" ], "sdb": [], ` +
			`"grains": [], "renderers": [], "returners": [], "output": [], "utils": [], "log_handlers": [], "executors": [], "proxymodules": [], ` +
			`"engines": [], "thorium": [], "serializers": [ "serializers.bad", "serializers.sk", "serializers.yaml" ], "matchers": [], "pillar": [] } }`},
		{args: "slsutil.serialize sk 1 indent=2", stdout: `{ "local": "SER 1 {'indent': 2}" }`},
		{args: "slsutil.deserialize sk text", stdout: `{ "local": { "read": "text" } }`},
		{args: "slsutil.serialize yaml 1", stdout: `{ "local": "own yaml" }`},
		{args: "slsutil.deserialize yaml 1", code: 1, stderr: "Serializer 'yaml' does not implement deserialize."},
		{args: "slsutil.serialize json 1", stdout: `{ "local": "1" }`},
		{args: "slsutil.serialize none 1", code: 1, stderr: "Serializer 'none' not found."},
	})
	for sls, want := range map[string]string{"a": "[1]SER 2 {}", "b": "ValueError: serializer broke",
		"c": "The none serializer could not be found.", "d": "updated"} {
		if _, stdout, stderr := r.run(t, []string{"state.apply", sls}); !strings.Contains(stdout, want) {
			t.Errorf("state.apply %s prints %s, which lacks %q\n%s", sls, stdout, want, stderr)
		}
	}
	if b, err := os.ReadFile(r.dir + "/old"); err != nil || !strings.Contains(string(b), "'read': 'text', 'a': 1") {
		t.Errorf("merged file: %s, %v", b, err)
	}
}

func TestOwnOutputters(t *testing.T) {
	r := ownRoot(t, `{}`, map[string]string{
		"salt/_output/one.py": "def output(data, **kwargs):\n" +
			"    return 'ONE %s %s' % (data, sorted(kwargs))\n",
		"salt/_output/strict.py": "def output(data):\n    return 'x'\n",
		"salt/_output/none.py":   "def output(data, **kwargs):\n    return None\n",
		"salt/_output/number.py": "def output(data, **kwargs):\n    return 1\n",
		"salt/_output/inner.py": "import salt.output\n\n\ndef output(data, **kwargs):\n" +
			"    return __salt__['json'](data) + str('yaml' in __salt__) + salt.output.out_format(data, 'one')\n",
		"salt/_modules/mo.py": "__outputter__ = {'a': 'one', 'b': 'strict', 'c': 'missing'}\n\n\n" +
			"def a():\n    return 1\n\n\ndef b():\n    return 1\n\n\ndef c():\n    return 1\n",
	})
	r.run(t, []string{"saltutil.sync_all"})
	r.answers(t, []ownCall{
		{args: "--out=one test.ping", stdout: "ONE {'local': True} ['_retcode']"},
		{args: "--out=strict test.ping", code: 1, stderr: "TypeError: output() got an unexpected " +
			"keyword argument '_retcode'"},
		{args: "--out=none test.ping"},
		{args: "--out=number test.ping", code: 1, stderr: "AttributeError: 'int' object has no attribute 'rstrip'"},
		{args: "--out=inner test.ping", stdout: `{ "local": true }TrueONE {'local': True} []`},
	})
	for fun, want := range map[string]string{
		"mo.a": "ONE {'local': 1} ['_retcode']\n",
		"mo.b": "local:\n    1\n", // nested takes over
		"mo.c": "local:\n    1\n",
	} {
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), cli.Invocation{Args: []string{"-c", r.dir + "/etc", "--local", fun}, Dir: r.dir, Env: os.Getenv},
			&stdout, &stderr)
		if code != exitOK || stdout.String() != want {
			t.Errorf("%s: exit code %d, prints %q, want %q\n%s", fun, code, stdout.String(), want, stderr.String())
		}
		if fun == "mo.c" && !strings.Contains(stderr.String(), "Invalid outputter missing specified, fall back to nested") {
			t.Errorf("%s: standard error is %s", fun, stderr.String())
		}
	}
}

func TestOwnReturners(t *testing.T) {
	r := ownRoot(t, `{"returner_dirs": ["{ROOT}/more"], "return": "stored", "stored.file": "{ROOT}/stored"}`, map[string]string{
		"more/store.py": "import json\nimport salt.returners\n\n__virtualname__ = 'stored'\n\n\n" +
			"def __virtual__():\n    return __virtualname__\n\n\n" +
			"def _file(ret=None):\n" +
			"    return salt.returners.get_returner_options(__virtualname__, ret, {'file': 'file'}, " +
			"__salt__=__salt__, __opts__=__opts__)['file']\n\n\n" +
			"def returner(ret):\n    with open(_file(ret), 'w') as f:\n" +
			"        json.dump({ret['id']: ret['return']}, f)\n\n\n" +
			"def get_jid(jid):\n    with open(_file()) as f:\n        return [jid, json.load(f)]\n",
	})
	r.answers(t, []ownCall{
		{args: "test.echo first", stdout: `{ "local": "first" }`},
		{args: "ret.get_jid stored 2026", stdout: `{ "local": [ "2026", { "m1": "first" } ] }`},
		{args: "sys.list_returner_functions stored", stdout: `{ "local": [ "stored.get_jid", "stored.returner" ] }`},
	})
}
