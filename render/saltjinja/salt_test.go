package saltjinja

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

// minionEnv is the environment of a minion with a module test.
func minionEnv() *loader.Env {
	return &loader.Env{
		Opts:   data.NewMap("id", "web1", "nodegroups", data.NewMap("webs", "L@web1,web2")),
		Grains: func() *data.Map { return data.NewMap("os", "Debian", "roles", []any{"web"}) },
		Pillar: func() *data.Map { return data.NewMap("app", data.NewMap("port", int64(80))) },
	}
}

type echoArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

type textArgs struct {
	Text string
}

type putArgs struct{ Into, What *data.Map }

type getArgs struct {
	Key     string
	Default any `default:"''"`
}

func testPlugin() loader.Plugin {
	return loader.Plugin{Name: "test", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("arg", func(_ context.Context, a echoArgs) (any, error) {
				return data.NewMap("args", a.Args, "kwargs", a.Kwargs), nil
			}),
			loader.F("put", func(_ context.Context, a putArgs) (any, error) {
				data.Merge(a.Into, a.What, false)
				a.Into.Delete("gone")
				return a.Into, nil
			}).Changes("into"),
			loader.F("get", func(_ context.Context, a getArgs) (any, error) {
				if a.Key == "here" {
					return int64(1), nil
				}
				return a.Default, nil
			}),
			loader.F("fail", func(_ context.Context, a textArgs) (any, error) { return nil, loader.Execution("%s", a.Text) }),
			loader.F("raise", func(_ context.Context, a textArgs) (any, error) {
				return nil, loader.Exception("ValueError", "%s", a.Text)
			}),
		}}, nil
	}}
}

func minionEngine(t testing.TB, files render.Files) *render.Engine {
	t.Helper()
	reg, err := loader.NewRegistry(minionEnv(), []loader.Plugin{testPlugin()})
	if err != nil {
		t.Fatal(err)
	}
	e, err := render.New(render.Options{Env: reg.Env(), Files: files,
		Renderers: []render.Renderer{New(), render.YAML{}}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func renderSLS(t testing.TB, e *render.Engine, text string) (any, error) {
	t.Helper()
	return e.Render(t.Context(), render.Input{Text: text, Path: "/srv/salt/web/site/init.sls",
		SaltEnv: "base", SLS: "web.site", Default: "jinja"})
}

func TestTemplates(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a function by item", `{{ salt["test.arg"](1, k="v") }}`, "{'args': [1], 'kwargs': {'k': 'v'}}"},
		{"by attributes", `{{ salt.test.arg([1, {"b": 2}]).args[0][1].b }}`, "2"},
		{"by both", `{{ salt.test["arg"]().args }} {{ salt["test"].arg().args }}`, "[] []"},
		{"in salt", `{{ "test.arg" in salt }} {{ "test.nope" in salt }} {{ "test" in salt }}`,
			"True False False"},
		{"salt.get", `{{ salt.get("test.arg")().kwargs }} {{ salt.get("no.such") }} {{ salt.get("no.such", 5) }}`, "{} None 5"},
		{"whether a function is there",
			`{{ salt.test.nope is defined }} {{ salt["no.such"] is defined }} {{ salt.test.arg is callable }}`, "False False True"},
		{"chance with a seed, as Python has it",
			`{{ [1, 2, 3, 4, 5] | random_shuffle(seed="quick") }} {{ ["a", "b", "c"] | random_sample(2, seed="quick") }}`, "[4, 5, 3, 2, 1] ['c', 'b']"},
		{"a dict that a function changes",
			`{% set d = {"a": {"b": [1]}, "gone": 1} %}{% set inner = d.a %}{% set l = d.a.b %}{% do salt["test.put"](d, {"a": {"c": 2}}) %}` +
				`{% do l.append(3) %}{{ d }} {{ inner }}`,
			"{'a': {'b': [1, 3], 'c': 2}} {'b': [1, 3], 'c': 2}"},
		{"and returns", `{% set d = {} %}{% set e = salt.test.put(what={"x": [1]}, into=d) %}{% do e.update({"y": 2}) %}{{ d }}`, "{'x': [1], 'y': 2}"},
		{"but not what it only reads",
			`{% set d = {} %}{% set w = {"x": {"y": 1}} %}{% do salt.test.put(d, w) %}{% do d.x.update({"z": 2}) %}{{ w }}`, "{'x': {'y': 1}}"},
		{"a default that is undefined",
			`{{ salt.test.get("here", nope) }} {{ salt.test.get("gone", default=nope) is defined }}`, "1 False"},
		{"grains, pillar and opts", `{{ grains.os }} {{ pillar.app.port }} {{ pillar.get("x", "y") }} {{ opts.id }} {{ saltenv }}`, "Debian 80 y web1 base"},
		{"the place of an SLS", `{{ sls }} {{ slspath }} {{ slsdotpath }} {{ slscolonpath }} {{ sls_path }} {{ tplpath }} {{ tplfile }} {{ tpldir }} {{ tpldot }}`,
			"web.site web/site web.site web:site web_site /srv/salt/web/site/init.sls web/site/init.sls web/site web.site"},
		{"an import sees its own place",
			`{% from "web/lib/m.j" import place %}{{ place }} {{ tpldir }}`,
			"web/lib web/lib/m.j web.lib web/site"},
		{"an import with context sees that of the SLS",
			`{% from "web/lib/m.j" import place with context %}{{ place }}`,
			"web/site web/site/init.sls web.site"},
		{"a relative import counts from the SLS",
			`{% from "./near.j" import v %}{% from "../lib/m.j" import place %}{{ v }} {{ place }}`,
			"near web/site ../lib/m.j web.site"},
		{"an import from afar moves the place that relative ones count from",
			`{% from "web/lib/far.j" import q %}{{ q }}`, "web/lib ./m.j web.lib"},
		{"a map file", `{% from tpldir ~ "/map.j" import app with context %}{{ app | json }}`,
			`{"name": "nginx", "port": 80}`},
		{"ifelse", `{{ ifelse("db*", 1, "G@os:Debian and N@webs", 2, 3) }} {{ ifelse("db*", 1, 3) }} {{ ifelse(true, 1, 3) }}`, "2 3 1"},
		{"an ordered dict keeps its order as YAML",
			`{{ odict([("z", 1), ("a", {"c": 1, "b": 2})]) | yaml }}`, "{z: 1, a: {b: 2, c: 1}}"},
		{"the caller's pillar is not changed",
			`{% do pillar.app.update({"port": 1}) %}{{ pillar.app.port }}`, "1"},
		{"json sorted, tojson not", `{{ {"b": "<é>", "a": 1} | json }} {{ {"b": "<é>", "a": 1} | tojson }} {{ [1, {"a": []}] | tojson(indent=1, sort_keys=True) }}`,
			"{\"a\": 1, \"b\": \"<é>\"} {\"b\": \"\\u003c\\u00e9\\u003e\", \"a\": 1} [\n 1,\n {\n  \"a\": []\n }\n]"},
		{"quotes of YAML", `{{ "é\t\\x" | yaml_dquote }} {{ "a\nb'" | yaml_squote }}`,
			`"\xE9\t\\x" 'a` + "\n\n" + `b'''`},
		{"addresses", `{{ ["10.0.0.1", "8.8.8.8", "fe80::1"] | ipaddr("private") }} {{ "10.0.0.5/29" | network_hosts | length }} {{ "2001:db8::/64" | network_size }} {{ "::ffff:1.2.3.4" | ipv6 }}`,
			"['10.0.0.1', 'fe80::1'] 6 18446744073709551616 ::ffff:102:304"},
		{"networks", `{{ {"eth0": ["10.1.1.1", "192.168.0.1"]} | filter_by_networks(["10.0.0.0/8"]) }}`, "{'eth0': ['10.1.1.1']}"},
		{"a replacement with groups", `{{ "key=value" | regex_replace("(?P<k>\\w+)=(\\w+)", "\\2=\\g<k>\\n") }}`, "value=key\n"},
		{"sizes", `{{ "1.5K" | human_to_bytes }} {{ "2 MB" | human_to_bytes(handle_metric=True) }} {{ "x" | human_to_bytes }}`, "1536 2000000 0"},
		{"dates", `{{ 1000000000 | strftime("%y %e %U %W %V %u %%") }}`, "01  9 36 36 36 7 %"},
		{"entries", `{{ {"a": 1} | to_entries }} {{ [{"Key": "a", "value": 1}] | from_entries }}`,
			"[{'key': 'a', 'value': 1}] {'a': 1}"},
		{"whole sets", `{{ [1, 2, [3]] | union([[3], 4]) }} {{ [3, 1] | difference([1]) }} {{ [1, 2] | symmetric_difference([2, 3]) }}`, "[1, 2, [3], 4] [3] [1, 3]"},
		{"pairs", `{{ [1, 2] | combinations_with_replacement(2) | list }} {{ [0, 1] | product(repeat=2) | list }} {{ "abc" | permutations(2) | list | length }}`,
			"[(1, 1), (1, 2), (2, 2)] [(0, 0), (0, 1), (1, 0), (1, 1)] 6"},
		{"a table of mysql", `{{ ["+--+", "| a | b |", "| x | 1 |"] | mysql_to_dict("a") }}`,
			"{'x': {'a': 'x', 'b': 1}}"},
		{"words", `{{ "HTTPServerName" | to_snake_case }} {{ "a_b" | to_camelcase }} {{ "10" | to_num + 1 }} {{ "zz" | is_hex }} {{ "-0xfF" | is_hex }}`, "http_server_name aB 11 False True"},
		{"a number and lists", `{{ 5 | check_whitelist_blacklist(whitelist=[5, 6]) }} {{ 5 | check_whitelist_blacklist(blacklist=[5, 6]) }}`, "False True"},
		{"bytes", `{{ "00:1A:ff:00:00:01" | mac_str_to_bytes }} {{ "aGk" | base64_encode }}`,
			`b'\x00\x1a\xff\x00\x00\x01' YUdr`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TZ", "UTC")
			e := minionEngine(t, roots(t, data.NewMap(
				"web/lib/m.j", `{% set place = tpldir ~ " " ~ tplfile ~ " " ~ tpldot %}`,
				"web/lib/far.j", `{% from "./m.j" import place %}{% set q = place %}`,
				"web/site/near.j", `{% set v = "near" %}`,
				"web/site/map.j", `{% import_yaml tpldir ~ "/defaults.yaml" as app %}{% do app.update(pillar.app) %}`,
				"web/site/defaults.yaml", "name: nginx\nport: 1\n",
			)))
			got, err := renderSLS(t, e, tt.text)
			if err != nil || got != tt.want {
				t.Errorf("%s\ngot  %q, %v\nwant %q", tt.text, got, err, tt.want)
			}
			if port := e.Env().PillarNow().Value("app").(*data.Map).Value("port"); port != int64(80) {
				t.Errorf("the pillar now has %v", port)
			}
		})
	}
}

func TestTemplateErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no such function", `{{ salt["test.nope"]() }}`,
			"Jinja variable 'salt.utils.templates.AliasedLoader object' has no attribute 'test.nope'; line 1\n\n---\n"},
		{"no such module", `{{ salt.nope.x() }}`,
			"Jinja variable 'salt.utils.templates.AliasedLoader object' has no attribute 'nope'; line 1\n"},
		{"no such function of a module", `{{ salt.test.nope() }}`,
			"Jinja variable 'salt.loader.lazy.LoadedMod object' has no attribute 'nope'; line 1\n"},
		{"no such pillar", `{{ pillar.nope }}`,
			"Jinja variable 'salt.utils.context.NamespacedDictWrapper object' has no attribute 'nope'; line 1\n"},
		{"no such pillar below", `{{ pillar.app.nope }}`,
			"Jinja variable 'dict object' has no attribute 'nope'; line 1\n"},
		{"no such grain", `{{ grains.nope }}`,
			"Jinja variable 'dict object' has no attribute 'nope'; line 1\n"},
		{"a function that fails", "\n{{ salt.test.fail('it broke') }}",
			"Problem running salt function in Jinja template: it broke; line 2\n\n---\n\n{{ salt.test.fail('it broke') }}    <======================\n---"},
		{"a function that raises", `{{ salt.test.raise("odd") }}`,
			"Jinja error: odd\nTraceback (most recent call last):\n  File \"<template>\", line 1, in template\nValueError: odd\n"},
		{"a default that is undefined", `{{ salt.test.get("gone", nope) }}`,
			"Jinja variable 'nope' is undefined; line 1\n"},
		{"an argument that is undefined", `{{ salt.test.get(nope) }}`,
			"Jinja variable 'nope' is undefined; line 1\n"},
		{"no such template", `{% include "nope.j" %}`,
			"Jinja error: nope.j\nTraceback (most recent call last):\n  File \"<template>\", line 1, in template\njinja2.exceptions.TemplateNotFound: nope.j\n"},
		{"a call that does not fit", `{{ salt.test.fail() }}`,
			"Jinja error: fail() missing 1 required positional argument: 'text'\n"},
		{"a template above the roots", `{% include "../../../etc/passwd" %}`,
			"Jinja error: ../../../etc/passwd\n"},
		{"an absolute one", `{% include "/etc/passwd" %}`, "Jinja error: /etc/passwd\n"},
		{"a name that is not exported", `{% from "lib.j" import nope %}{{ nope }}`,
			"Jinja variable the template 'lib.j' (imported on line 1) does not export the requested name 'nope'; line 1\n"},
		{"a macro of another file", "{% from 'lib.j' import m %}\n\n{{ m({}) }}",
			"Jinja variable 'dict object' has no " +
				"attribute 'x'\nROOT/lib.j(2):\n---\n{% macro m(a) %}\n{{ a.x }}    " +
				"<======================\n{% endmacro %}\n---"},
		{"a relative import after one from afar",
			`{% from "sub/lib.j" import m %}{% from "./lib2.j" import m %}`, "Jinja error: ./lib2.j\n"},
		{"a block", "{% extends 'base.j' %}{% block a %}\n{{ 1 / 0 }}{% endblock %}",
			"Jinja error: division by zero\nROOT/base.j(3):\n---\nx\ny\n{% block a %}{% endblock %}    <======================\n---\nTraceback (most recent call last):\n"},
		{"YAML that is broken", "{% load_yaml as x %}\na: b: c\n{% endload %}",
			"Jinja error: 'NoneType' object has no attribute 'splitlines'\nTraceback (most recent call last):\n" +
				"yaml.scanner.ScannerError: mapping values are not allowed in this context\n  in \"<unicode string>\", line 2, column 5\n\n" +
				"During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File"},
		{"a macro of itself", "{% macro f() %}{{ f() }}{% endmacro %}\n{{ f() }}",
			"Jinja error: more than 200 templates, blocks and macros within one another\n" +
				"Traceback (most recent call last):\n  File \"<template>\", line 2, in template\n" +
				strings.Repeat("  File \"<template>\", line 1, in template\n", 3) +
				"  [Previous line repeated 197 more times]\nLimitError: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := roots(t, data.NewMap("lib.j", "{% macro m(a) %}\n{{ a.x }}\n{% endmacro %}\n",
				"sub/lib.j", "{% macro m() %}{% endmacro %}", "web/site/lib2.j", "", "base.j",
				"x\ny\n{% block a %}{% endblock %}\n"))
			got, err := renderSLS(t, minionEngine(t, files), tt.text)
			want := strings.ReplaceAll(tt.want, "ROOT", files["base"][0])
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s\ngot  %q, %v\nwant %s", tt.text, got, err, want)
			}
		})
	}
}

// TestTemplateOfSelf renders a template that includes itself, which ends with an error.
func TestTemplateOfSelf(t *testing.T) {
	files := roots(t, data.NewMap("a.j", `{% include "a.j" %}`))
	if got, err := renderSLS(t, minionEngine(t, files), `{% include "a.j" %}`); err == nil {
		t.Errorf("got %q", got)
	}
}

// TestFiltersAreSalts compares the names with those that Salt 3006 to 3008 mark, and those of its
// extension.
func TestFiltersAreSalts(t *testing.T) {
	want := strings.Fields(`append_dict_key_value avg base64_decode base64_encode check_whitelist_blacklist combinations
		combinations_with_replacement compare_dicts compare_lists compress contains_whitespace date_format dict_to_sls_yaml_params
		difference dns_check exactly_n_true exactly_one_true extend_dict_key_value file_hashsum filter_by_networks flatten from_entries
		gen_mac get_uid hmac hmac_compute http_query human_to_bytes intersect ip_host ipaddr ipv4 ipv6 ipwrap is_bin_file is_empty is_hex
		is_ip is_ipv4 is_ipv6 is_iter is_list is_text_file json json_decode_dict json_decode_list json_encode_dict json_encode_list
		json_query list_files load_json load_text load_yaml mac_str_to_bytes max md5 method_call min mysql_to_dict network_hosts
		network_size path_join permutations product python quote rand_str random_hash random_sample random_shuffle random_str
		regex_escape regex_match regex_replace regex_search sequence set_dict_key_value sha1 sha256 sha512 skip sorted_ignorecase
		str_to_num strftime substring_in_list symmetric_difference to_bool to_bytes to_camelcase to_entries to_num to_snake_case tojson
		traverse union unique update_dict_key_value uuid which xml yaml yaml_dquote yaml_encode yaml_squote zip zip_longest`)
	got := slices.Sorted(maps.Keys(filters()))
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func BenchmarkRender(b *testing.B) {
	e := minionEngine(b, roots(b, data.NewMap("map.j",
		`{% set app = {"name": "nginx"} %}{% do app.update(pillar.app) %}`)))
	text := `{% from "map.j" import app with context %}
{% for i in range(10) %}
site{{ i }}:
  file.managed:
    - name: /etc/{{ app.name }}/{{ i }}
    - contents: {{ {"b": i, "a": grains.roles} | json }}
{% endfor %}
`
	b.ReportAllocs()
	for b.Loop() {
		if _, err := renderSLS(b, e, text); err != nil {
			b.Fatal(err)
		}
	}
}
