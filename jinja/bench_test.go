package jinja

import (
	"os"
	"testing"

	"github.com/brineproject/brine/data"
)

// mapFile is a typical map.jinja of a formula.
const mapFile = `# -*- coding: utf-8 -*-
# vim: ft=jinja

{#- Get the tplroot from tpldir #}
{%- set tplroot = tpldir.split("/")[0] %}
{%- from tplroot ~ "/defaults.jinja" import defaults with context %}
{%- set os_family_map = {
    "Debian": {"pkg": "nginx", "service": {"name": "nginx", "enable": true}, "conf": "/etc/nginx", "user": "www-data"},
    "RedHat": {"pkg": "nginx", "service": {"name": "nginx", "enable": true}, "conf": "/etc/nginx", "user": "nginx"},
    "Suse": {"pkg": "nginx", "conf": "/etc/nginx", "user": "wwwrun", "group": "www"},
} %}
{%- set settings = defaults.copy() %}
{%- do settings.update(os_family_map.get(grains.os_family, {})) %}
{%- set over = pillar.get("nginx", {}).get("lookup", {}) %}
{%- for key, value in over.items() if value is not none %}
{%-   if value is mapping and settings.get(key) is mapping %}
{%-     do settings[key].update(value) %}
{%-   else %}
{%-     do settings.update({key: value}) %}
{%-   endif %}
{%- endfor %}
{%- macro option(name, default="") -%}
{{ settings.get(name, default) }}
{%- endmacro %}
`

// stateFile is an SLS that uses it.
const stateFile = `{%- set tplroot = tpldir.split('/')[0] %}
{%- from tplroot ~ "/map.jinja" import settings, option with context %}
{%- set sites = pillar.get('nginx', {}).get('sites', {}) %}

nginx-package:
  pkg.installed:
    - name: {{ settings.pkg }}

{% for name, site in sites | dictsort %}
{%- if site.get('enabled', true) and name not in settings.get('skip', []) %}
{{ settings.conf }}/sites-available/{{ name }}.conf:
  file.managed:
    - source: salt://{{ tplroot }}/files/site.conf
    - template: jinja
    - user: {{ option('user', 'root') }}
    - mode: '0644'
    - context:
        name: {{ name | lower }}
        listen: {{ site.listen | default(80) | int }}
        aliases: {{ site.get('aliases', []) | join(' ') }}
        index: {{ loop.index0 }}
    - require:
      - pkg: nginx-package
{%- if loop.last %}
    - watch_in:
      - service: {{ settings.service.name }}
{%- endif %}
{%- endif %}
{% endfor %}
`

func benchNames() map[string]any {
	sites := &data.Map{}
	for _, n := range []string{"www.example.org", "blog", "Shop", "api", "static"} {
		sites.Set(n, data.NewMap("listen", "8080", "enabled", true,
			"aliases", []any{n + ".example.net", "alias." + n}))
	}
	return map[string]any{
		"tpldir": "nginx/config",
		"grains": data.NewMap("os_family", "Debian", "os", "Debian", "id", "web1"),
		"pillar": data.NewMap("nginx",
			data.NewMap("sites", sites, "lookup",
				data.NewMap("user", "web", "service", data.NewMap("enable", false)))),
	}
}

func benchOptions() Options {
	return Options{Undefined: Strict, Loader: MapLoader{
		"nginx/map.jinja":      mapFile,
		"nginx/defaults.jinja": `{% set defaults = {"pkg": "nginx", "service": {"name": "nginx"}, "conf": "/etc/nginx", "skip": ["none"]} %}`,
	}}
}

// TestFormula compares the benchmark's template with the result of Python's jinja2.
func TestFormula(t *testing.T) {
	want, err := os.ReadFile("testdata/formula.txt")
	if err != nil {
		t.Fatal(err)
	}
	mustRender(t, stateFile, benchNames(), benchOptions(), string(want))
}

// BenchmarkFormula renders an SLS with its map file: parsed each time, and from the cache.
func BenchmarkFormula(b *testing.B) {
	names := benchNames()
	run := func(b *testing.B, o Options) {
		env := environment(b, o)
		b.ReportAllocs()
		for b.Loop() {
			tpl, err := env.Parse("nginx/init.sls", stateFile)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := tpl.Render(b.Context(), names); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(3*float64(b.N)/b.Elapsed().Seconds(), "templates/s")
	}
	b.Run("parsed", func(b *testing.B) { run(b, benchOptions()) })
	b.Run("cached", func(b *testing.B) {
		o := benchOptions()
		o.Cache = NewCache(100, 1<<20)
		run(b, o)
	})
}

// pillarFile is a pillar SLS that is mostly text.
const pillarFile = `{% set env = grains.id.split('-')[0] %}
{% for i in range(50) %}
user{{ i }}:
  name: user{{ i }}
  home: /home/user{{ i }}
  groups: [users, {{ 'wheel' if i % 10 == 0 else 'staff' }}]
  host: {{ env }}.example.org
{% endfor %}
`

func BenchmarkPillar(b *testing.B) {
	env := environment(b, Options{Undefined: Strict, Cache: NewCache(10, 1<<20)})
	names := map[string]any{"grains": data.NewMap("id", "web-1")}
	b.ReportAllocs()
	for b.Loop() {
		tpl, err := env.Parse("users.sls", pillarFile)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := tpl.Render(b.Context(), names); err != nil {
			b.Fatal(err)
		}
	}
}
