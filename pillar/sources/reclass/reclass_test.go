package reclass

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/tops"
)

func ask(t *testing.T, id string, argument any) (*data.Map, error, string) {
	t.Helper()
	log, told := logtest.NewNullLogger()
	got, err := New().Pillar(t.Context(), pillar.Query{ID: id, Argument: argument, Opts: data.NewMap(), Log: log,
		Pillar: data.NewMap("given", int64(1))})
	text := ""
	for _, e := range told.AllEntries() {
		text += e.Message + "\n"
	}
	return got, err, text
}

// TestFunctionsAndErrors uses a small library with the functions of reclass.
func TestFunctionsAndErrors(t *testing.T) {
	need.Program(t, "python3")
	lib, err := filepath.Abs("../../../internal/pylibrary/testdata/lib")
	if err != nil {
		t.Fatal(err)
	}
	argument := data.NewMap("reclass_source_path", lib, "inventory_base_uri", "/inv")
	for id, want := range map[string]string{
		"gone":   "ext_pillar.reclass: Node 'gone' not found",
		"broken": "ext_pillar.reclass: please see the master's log",
	} {
		_, err, log := ask(t, id, argument)
		if err == nil || err.Error() != want || log == "" {
			t.Errorf("%s: %v, log %s", id, err, log)
		}
	}
	got, err, _ := ask(t, "web1", argument)
	if err != nil || data.Repr(got.Value("pillar")) != "{}" || got.Text("uri") != "/inv" {
		t.Errorf("%s, %v", data.Repr(got), err)
	}
	argument.Set("propagate_pillar_data_to_reclass", true)
	if got, err, _ = ask(t, "web1", argument); err != nil || data.Repr(got.Value("pillar")) != "{'given': 1}" {
		t.Errorf("%s, %v", data.Repr(got), err)
	}
	argument.Set("storage_typ", "x")
	if _, err, _ = ask(t, "web1", argument); err == nil || err.Error() != "ext_pillar.reclass: unexpected option: 'storage_typ'" {
		t.Errorf("%v", err)
	}
	if err := New().Check("x", data.NewMap()); err == nil {
		t.Error("a text was accepted")
	}
}

// TestInventory reads a small inventory with reclass itself.
func TestInventory(t *testing.T) {
	need.Program(t, "reclass")
	t.Setenv("PATH", "/usr/bin:"+os.Getenv("PATH")) // the python3 that has it
	dir := t.TempDir()
	for name, text := range map[string]string{
		"nodes/web1.yml":  "classes: [web]\napplications: [nginx]\nenvironment: prod\nparameters: {ports: {80: http}, x: '${name}', name: n}\n",
		"classes/web.yml": "applications: [base]\nparameters: {a: [1]}\n",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	argument := data.NewMap("storage_type", "yaml_fs", "inventory_base_uri", dir)
	got, err, log := ask(t, "web1", argument)
	if err != nil || data.Repr(got.Value("ports")) != "{'80': 'http'}" || got.Text("x") != "n" ||
		data.Repr(got.Value("a")) != "[1]" || !strings.Contains(data.Repr(got), "'nodename': 'web1'") {
		t.Errorf("%s, %v, log %s", data.Repr(got), err, log)
	}
	top, err := tops.Reclass{}.Top(t.Context(), tops.Query{Minion: tops.Minion{ID: "web1"}, Config: argument, Master: data.NewMap()})
	if err != nil || data.Repr(top) != "{'prod': ['base', 'nginx']}" {
		t.Errorf("%s, %v", data.Repr(top), err)
	}
}
