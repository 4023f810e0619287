package saltmaster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
)

// judgeOwn reads a configuration of a master with users' own plug-ins, which are not loaded.
func judgeOwn(t *testing.T, conf string) (faults, warnings string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"master":               "extension_modules: " + dir + "/ext\n" + conf,
		"ext/pillar/epm.py":    "this is no Python",
		"ext/tops/mtop.py":     "",
		"ext/engines/eng.py":   "def __virtual__():\n    return 'engine_x'\n",
		"ext/returners/mjc.py": "",
		"ext/auth/oauth.py":    "",
		"ext/renderers/sh.py":  "",
	} {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700),
			os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	p := &program{o: &cli.MasterOptions{}}
	p.o.ConfigDir = dir
	p.in.Env = func(string) string { return "" }
	_, report, err := p.load()
	if err != nil {
		faults = strings.ReplaceAll(err.Error(), dir, "DIR")
	}
	return faults, strings.ReplaceAll(strings.Join(report.Warnings, "\n"), dir, "DIR")
}

// Options may name users' own plug-ins; the engine does so by a name that its file mentions.
func TestOwnPluginsAreKnown(t *testing.T) {
	faults, warnings := judgeOwn(t, "ext_pillar:\n  - epm: [1]\nmaster_tops: {mtop: 'on'}\n"+
		"engines: [eng, engine_x: {a: 1}]\nmaster_job_cache: mjc\next_job_cache: mjc\nevent_return: mjc\n"+
		"external_auth: {oauth: {ann: [.*]}}\nrenderer: jinja|sh|yaml\non_demand_ext_pillar: [epm]\n")
	if faults != "" || warnings != "" {
		t.Errorf("faults %s\nwarnings %s", faults, warnings)
	}
}

// A misspelt name of an own plug-in is reported with the right one.
func TestMisspeltOwnPlugins(t *testing.T) {
	for conf, want := range map[string]string{
		"ext_pillar:\n  - epn: [1]\n":     "DIR/master:3: ext_pillar: entry 1: there is no external pillar 'epn'; is epm meant?",
		"master_job_cache: mjd\n":         "DIR/master:2: master_job_cache: there is no returner 'mjd', which this option needs; is mjc meant?",
		"event_return: mjd\n":             "DIR/master:2: event_return: there is no returner 'mjd', which this option needs; is mjc meant?",
		"engines: [enh]\n":                "there is no engine 'enh'; is eng meant?",
		"master_tops: {mtop1: x}\n":       "there is no system of master_tops 'mtop1'; is mtop meant?",
		"renderer: jinja|shh|yaml\n":      "there is no renderer 'shh'",
		"external_auth: {oauht: {}}\n":    "there is no authentication system 'oauht'",
		"external_auth: {oauth: [ann]}\n": "external_auth: oauth: expected a mapping of users",
	} {
		faults, warnings := judgeOwn(t, conf)
		if got := faults + warnings; !strings.Contains(got, want) {
			t.Errorf("%s: got %s\nwant %s", conf, got, want)
		}
	}
}
