//go:build linux

package testwine_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/testwine"
)

// served are the files that the master serves.
var served = map[string]string{
	`tree\app.ini`: "id={{ grains.id }}\n", `tree\sub\deep.txt`: "deep\n", `files\a.txt`: "a",
	"files.sls":    states,
	"regset.sls":   "HKCU\\SOFTWARE\\Brine:\n  reg.present:\n    - vname: version\n    - vdata: 0.15.3\n",
	"regunset.sls": "HKCU\\SOFTWARE\\Brine:\n  reg.absent:\n    - vname: version\n",
	"path.sls":     "C:\\tools\\:\n  win_path.exists:\n    - index: 0\n",
	"nopath.sls":   "C:\\tools:\n  win_path.absent: []\n",
	"reggone.sls":  "HKCU\\SOFTWARE\\Brine:\n  reg.key_absent: []\n",
}

// TestWindows runs all that needs a Windows in one, since each takes 700 MB.
func TestWindows(t *testing.T) {
	h := testwine.Start(t)
	for name, content := range served {
		h.Write(t, `C:\salt\srv\`+name, content)
	}
	h.Write(t, testwine.Config+`\minion`, "id: win\nfile_roots:\n  base:\n    - C:\\salt\\srv\n")
	for _, part := range []struct {
		name string
		test func(*testing.T, *testwine.Host)
	}{
		{"commands", commands},
		{"grains", grains},
		{"functions of files", fileFunctions},
		{"states of files", fileStates},
		{"copies from the file server", copies},
		{"registry", registryFunctions},
		{"states of the registry", registryState},
		{"environment", environment},
		{"PATH", programPath},
		{"services", services},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, h) })
	}
}

func commands(t *testing.T, h *testwine.Host) {
	if v := h.Call(t, "test.ping"); v != true {
		t.Errorf("test.ping: %v", v)
	}
	// templates use no shell unless they say so
	v := h.Batch(t, testwine.Call{Fun: "cmd.run", Args: []any{"ver"}, Kw: map[string]any{"python_shell": true}},
		testwine.Call{Fun: "cmd.run_all", Args: []any{"echo %GREETING%"},
			Kw: map[string]any{"python_shell": true, "env": map[string]any{"GREETING": "hello"}}})
	if !strings.Contains(fmt.Sprint(v[0]), "Microsoft Windows") {
		t.Errorf("cmd.run ver: %v", v[0])
	}
	if field(v[1], "stdout") != "hello" || field(v[1], "retcode") != 0.0 {
		t.Errorf("cmd.run_all: %v", v[1])
	}
}

// grains have Salt's names and forms (salt/grains/core.py). The values are those of Wine 8.0.
func grains(t *testing.T, h *testwine.Host) {
	g := asMap(h.Call(t, "grains.items"))
	for name, want := range map[string]any{
		"kernel": "Windows", "os": "Windows", "os_family": "Windows", "osmanufacturer": "Microsoft Corporation",
		"cpuarch": "AMD64", "osarch": "AMD64", "osfullname": "Microsoft Windows 7", "osrelease": "7",
		"osfinger": "Windows-7", "osservicepack": "SP1", "kernelversion": "6.1.7601",
		"kernelrelease": "6.1.7601", "osversion": "6.1.7601", "ps": "tasklist.exe", "init": "Windows",
		"shell": `C:\windows\system32\cmd.exe`, "id": "win",
	} {
		if g[name] != want {
			t.Errorf("grain %s is %v, want %v", name, g[name], want)
		}
	}
	for _, name := range []string{"biosversion", "cpu_model", "ipv4", "mem_total", "motherboard", "num_cpus",
		"serialnumber", "timezone", "username", "uuid", "virtual", "windowsdomain", "windowsdomaintype"} {
		if _, ok := g[name]; !ok {
			t.Errorf("there is no grain %s", name)
		}
	}
	for _, name := range []string{"kernelparams", "gid", "uid"} {
		if _, ok := g[name]; ok {
			t.Errorf("there is a grain %s", name)
		}
	}
}

func fileFunctions(t *testing.T, h *testwine.Host) {
	h.Write(t, `C:\work\a.txt`, "one\r\ntwo\r\n")
	h.Write(t, `C:\work\sub\b.log`, "b")
	var calls []testwine.Call
	table := []struct {
		words string
		kw    map[string]any
		want  any
	}{
		{`file.file_exists C:\work\a.txt`, nil, true},
		{`file.directory_exists C:/work/sub`, nil, true},
		{`file.basename C:\work\a.txt`, nil, "a.txt"},
		{`file.basename C:a.txt`, nil, "a.txt"},
		{`file.dirname C:\work\sub\b.log`, nil, `C:\work\sub`},
		{`file.dirname C:\a.txt`, nil, `C:\`},
		{`file.dirname //server/share/x`, nil, `//server/share/`},
		{`file.join C:\ work sub`, nil, `C:\work\sub`},
		{`file.join C:\work D:\sub`, nil, `D:\sub`},
		{`file.join C:\work \sub x`, nil, `C:\sub\x`},
		{`file.normpath C:/work/sub/..`, nil, `C:\work`},
		{`file.read C:\work\a.txt`, nil, "one\r\ntwo\r\n"},
		{`file.access C:\work\a.txt w`, nil, true},
		{`file.access C:\work\none f`, nil, false},
		{`file.get_mode C:\work\a.txt`, nil, nil},
		{`file.path_exists_glob C:\work\*.txt`, nil, true},
		{`file.path_exists_glob C:\work\*.ini`, nil, false},
		{`file.contains C:\work\a.txt two`, nil, true},
		{`file.search C:\work\a.txt ^tw`, nil, true},
		{`file.append C:\work\a.txt three`, nil, `Wrote 1 lines to "C:\work\a.txt"`},
		{`file.read C:\work\a.txt`, nil, "one\r\ntwo\r\nthree\r\n"},
		{`file.copy C:\work\a.txt C:\work\c.txt`, nil, true},
		{`file.rename C:\work\c.txt C:\work\d.txt`, nil, true},
		{`file.set_attributes C:\work\d.txt`, map[string]any{"readonly": true}, true},
		{`file.access C:\work\d.txt w`, nil, false},
		{`file.set_attributes C:\work\d.txt`, map[string]any{"normal": true}, true},
		{`file.remove C:\work\d.txt`, nil, true},
		{`file.makedirs C:\work\x\y\z\`, nil, nil},
		{`file.rmdir C:\work\x\y\z`, nil, true},
		{`file.user_to_uid S-1-5-18`, nil, "S-1-5-18"},
		{`file.user_to_uid nobody-of-that-name`, nil, ""},
		{`file.chgrp C:\work\a.txt Administrators`, nil, nil},
	}
	for _, tt := range table {
		c := testwine.Words(tt.words)
		c.Kw = tt.kw
		calls = append(calls, c)
	}
	for i, v := range h.Batch(t, calls...) {
		if v != table[i].want {
			t.Errorf("%s: %#v, want %#v", table[i].words, v, table[i].want)
		}
	}
	v := h.Batch(t, testwine.Call{Fun: "file.find", Args: []any{`C:\work`}, Kw: map[string]any{"type": "f", "name": "*.*"}},
		testwine.Words(`file.stats C:\work\a.txt`), testwine.Words(`file.get_attributes C:\work\sub`))
	if want := `[C:\work\a.txt C:\work\sub\b.log]`; fmt.Sprint(v[0]) != want {
		t.Errorf("file.find: %v, want %s", v[0], want)
	}
	st := v[1]
	for name, want := range map[string]any{"size": 17.0, "type": "file", "mode": "0666",
		"target": `C:\work\a.txt`, "uid": field(st, "gid"), "user": field(st, "group")} {
		if field(st, name) != want {
			t.Errorf("file.stats: %s is %v, want %v", name, field(st, name), want)
		}
	}
	if sid := fmt.Sprint(field(st, "uid")); !strings.HasPrefix(sid, "S-1-") {
		t.Errorf("the owner is %q, no SID", sid)
	}
	if at := v[2]; field(at, "directory") != true || field(at, "readonly") != false {
		t.Errorf("file.get_attributes: %v", at)
	}
	if _, errs := h.Try(t, "file.remove", `C:\work\none`); !strings.Contains(errs, `Path not found: C:\work\none`) {
		t.Errorf("file.remove of nothing: %s", errs)
	}
}

// states has a state of each kind that makes sense on Windows.
const states = `
C:\state\new.ini:
  file.managed:
    - source: salt://tree/app.ini
    - makedirs: True
    - template: jinja
    - mode: '0640'
C:\state\text.txt:
  file.managed:
    - contents:
      - first
      - "port = 80"
      - "key: old"
      - last
dir:
  file.directory:
    - name: C:\state\dir\below
    - makedirs: True
gone:
  file.absent:
    - name: C:\state\old
more:
  file.append:
    - name: C:\state\text.txt
    - text: appended
before:
  file.prepend:
    - name: C:\state\text.txt
    - text: prepended
port:
  file.replace:
    - name: C:\state\text.txt
    - pattern: "port = .*?(\r?)$"
    - repl: "port = 8080\\1"
    - flags: [MULTILINE]
line:
  file.line:
    - name: C:\state\text.txt
    - mode: ensure
    - after: first
    - content: second
pair:
  file.keyvalue:
    - name: C:\state\text.txt
    - key_values:
        key: new
    - separator: ': '
block:
  file.blockreplace:
    - name: C:\state\text.txt
    - marker_start: '# begin'
    - marker_end: '# end'
    - content: managed
    - append_if_not_found: True
out:
  file.comment:
    - name: C:\state\text.txt
    - regex: ^last
back:
  file.uncomment:
    - name: C:\state\commented
    - regex: ^three
copy:
  file.copy:
    - name: C:\state\copy.txt
    - source: C:\state\text.txt
rename:
  file.rename:
    - name: C:\state\renamed
    - source: C:\state\unnamed
tree:
  file.recurse:
    - name: C:\state\tree
    - source: salt://tree
    - clean: True
data:
  file.serialize:
    - name: C:\state\data.json
    - dataset: {a: [1, 2]}
    - serializer: json
exists:
  file.exists:
    - name: C:\state\text.txt
missing:
  file.missing:
    - name: C:\state\nothing
`

func fileStates(t *testing.T, h *testwine.Host) {
	h.Write(t, `C:\state\old\below\file`, "old")
	h.Write(t, `C:\state\tree\surplus`, "surplus")
	h.Write(t, `C:\state\unnamed`, "name")
	h.Write(t, `C:\state\commented`, "#three\r\n")
	before := tree(t, h, `C:\state`)

	apply(t, h, "files", "test=True")
	if after := tree(t, h, `C:\state`); !maps.Equal(before, after) {
		t.Errorf("test mode changed the files: %v, before %v", after, before)
	}
	first := apply(t, h, "files")
	if len(first) != strings.Count(states, "  file.") {
		t.Errorf("%d states ran, want %d", len(first), strings.Count(states, "  file."))
	}
	for id, v := range first {
		changed := len(asMap(field(v, "changes"))) > 0
		_, check, _ := strings.Cut(id, "_|-")
		if field(v, "result") != true || !changed && !strings.HasPrefix(check, "exists") &&
			!strings.HasPrefix(check, "missing") {
			t.Errorf("%s: %v", id, v)
		}
	}
	want := map[string]string{
		`new.ini`: "id=win\n",
		`text.txt`: "prepended\n" + "first\r\nsecond\r\nport = 8080\r\nkey: new\r\n#last\r\nappended\r\n" +
			"# begin\nmanaged\n# end\n",
		`commented`: "three\r\n", `renamed`: "name", `data.json`: "{\n  \"a\": [\n    1,\n    2\n  ]\n}\n",
		`tree/app.ini`: "id={{ grains.id }}\n", `tree/sub/deep.txt`: "deep\n", `dir`: "", `dir/below`: "",
		`tree`: "", `tree/sub`: "",
	}
	want[`copy.txt`] = want[`text.txt`]
	want[`commented.bak`] = "#three\r\n"
	want[`text.txt.bak`] = strings.Replace(want[`text.txt`], "#last", "last", 1)
	after := tree(t, h, `C:\state`)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if text, ok := want[name]; !ok || text != after[name] {
			t.Errorf("%s has %q, want %q", name, after[name], text)
		}
	}
	for name := range want {
		if _, ok := after[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}

	for id, v := range apply(t, h, "files") {
		// file.managed and the states that edit its file undo one another
		shared := strings.Contains(id, "text.txt_|")
		if field(v, "result") != true || len(asMap(field(v, "changes"))) > 0 && !shared {
			t.Errorf("the second run: %s: %v", id, v)
		}
	}
}

// apply applies an SLS and returns the results of its states.
func apply(t *testing.T, h *testwine.Host, sls string, more ...string) map[string]any {
	t.Helper()
	v, errs := h.Try(t, append([]string{"state.apply", sls}, more...)...)
	results, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("state.apply %s: %v\n%s", sls, v, errs)
	}
	return results
}

func copies(t *testing.T, h *testwine.Host) {
	table := []struct{ words, want string }{
		{`cp.get_dir salt://files C:\copies`, `[C:\copies\files\a.txt]`},
		{`cp.get_file salt://files/a.txt C:\copies\a.txt`, `C:\copies\a.txt`},
		{`cp.get_file_str salt://files/a.txt`, "a"},
		{`cp.get_url salt://files/a.txt C:\copies\b.txt`, `C:\copies\b.txt`},
		{`cp.cache_file salt://files/a.txt`,
			`C:\ProgramData\Salt Project\Salt\var\cache\salt\minion\files\base\files\a.txt`},
	}
	var calls []testwine.Call
	for _, tt := range table {
		calls = append(calls, testwine.Words(tt.words))
	}
	for i, v := range h.Batch(t, calls...) {
		if fmt.Sprint(v) != table[i].want {
			t.Errorf("%s: %v, want %s", table[i].words, v, table[i].want)
		}
	}
	if body := h.Read(t, `C:\copies\b.txt`); body != "a" {
		t.Errorf("the copy has %q", body)
	}
}

// tree returns the contents of the files below a directory by their names; directories have none.
func tree(t *testing.T, h *testwine.Host, path string) map[string]string {
	t.Helper()
	top, all := h.File(path), map[string]string{}
	err := filepath.WalkDir(top, func(at string, e os.DirEntry, err error) error {
		if err != nil || at == top {
			return err
		}
		name, _ := filepath.Rel(top, at)
		all[name] = ""
		if !e.IsDir() {
			body, err := os.ReadFile(at)
			all[name] = string(body)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func field(v any, name string) any { return asMap(v)[name] }
