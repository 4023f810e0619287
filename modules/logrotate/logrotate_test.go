package logrotate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

const wtmp = `# who logged in
/var/log/wtmp /var/log/btmp {
    monthly
    rotate 1
    postrotate
        if true
        if false
    endscript
}
`

// site writes a configuration below root.
func site(t *testing.T, root string) {
	t.Helper()
	main := "# see man logrotate\nweekly\nrotate 4\n\ncreate\n#compress\ninclude " + root +
		"/etc/logrotate.d\n\n" +
		"/var/log/one {\n    daily\n    create 0664 root utmp\n}\n"
	for name, text := range map[string]string{
		"etc/logrotate.conf": main, "etc/logrotate.d/wtmp": wtmp, "etc/logrotate.d/plain": "dateext\nmaxage 9\n",
		"none.conf": "weekly\n", "odd.conf": "/a\n/b\n{\n  size 10k\n}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

// testdata/calls.json has the results of Salt 3006.18 for the configuration of site, which each call
// finds anew.
func TestCalls(t *testing.T) {
	root := t.TempDir()
	replay.Check(t, "testdata/calls.json", replay.Options{Root: root, Plugins: []loader.Plugin{Plugin()},
		Before: func(t *testing.T, _ int) { site(t, root) }})
}

// TestFiles checks what set writes: the one line, in the file that has the setting.
func TestFiles(t *testing.T) {
	root := t.TempDir()
	site(t, root)
	r, err := loader.NewRegistry(&loader.Env{Root: root}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(src)
	}
	conf := read("etc/logrotate.conf")
	for _, tt := range []struct {
		args      []any
		file      string
		old, text string
	}{
		{[]any{"rotate", int64(7)}, "etc/logrotate.conf", "rotate 4\n", "rotate 7\n"},
		{[]any{"create", false}, "etc/logrotate.conf", "create\n", ""},
		{[]any{"compress", true}, "etc/logrotate.conf", "# see", "compress\n# see"},
		{[]any{"maxage", int64(3)}, "etc/logrotate.d/plain", "maxage 9", "maxage 3"},
		{[]any{"/var/log/wtmp", "rotate", int64(2)}, "etc/logrotate.d/wtmp", "rotate 1", "rotate 2"},
		{[]any{"/var/log/btmp", "if", "x"}, "etc/logrotate.d/wtmp", "}", "    if x\n}"},
		{[]any{"/var/log/btmp", "monthly", false}, "etc/logrotate.d/wtmp", "    monthly\n", ""},
		{[]any{"/var/log/new", "daily", true}, "etc/logrotate.conf", "utmp\n}\n",
			"utmp\n}\n/var/log/new {\n    daily\n}\n"},
	} {
		site(t, root)
		want := strings.Replace(read(tt.file), tt.old, tt.text, 1)
		for i := range 2 {
			got, err := r.Invoke(t.Context(), "logrotate.set", tt.args, nil)
			if err != nil || got != true {
				t.Errorf("%s run %d gives %v, %v", data.Repr(tt.args), i, got, err)
			}
			if text := read(tt.file); text != want {
				t.Errorf("%s writes\n%s\nwant\n%s", data.Repr(tt.args), text, want)
			}
		}
		if tt.file != "etc/logrotate.conf" && read("etc/logrotate.conf") != conf {
			t.Errorf("%s changes the main file", data.Repr(tt.args))
		}
		if info, err := os.Stat(filepath.Join(root, tt.file)); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("the mode is %v, %v", info, err)
		}
	}
	for _, bad := range []string{"a\nb", "x }"} {
		if got, err := r.Invoke(t.Context(), "logrotate.set", []any{"size", bad}, nil); err == nil {
			t.Errorf("the value %q gives %v", bad, got)
		}
	}
}

// TestScripts has braces in scripts, and in the names of files: they open and end no block.
func TestScripts(t *testing.T) {
	const text = `/var/log/x.log /var/log/{a,b}.log {
    rotate 4
    postrotate
        kill -HUP $(cat ${PIDFILE})
        f() {
            rotate 9
        }
        }
    endscript
    daily
}
weekly
`
	conf := filepath.Join(t.TempDir(), "conf")
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	const name = "/var/log/x.log"
	for _, tt := range []struct {
		args      []any
		old, text string
	}{
		{[]any{name, "size", "1k"}, "    daily\n", "    daily\n    size 1k\n"},
		{[]any{name, "rotate", int64(2)}, "rotate 4", "rotate 2"},
		{[]any{name, "daily", false}, "    daily\n", ""},
		{[]any{"rotate", int64(3)}, "/var", "rotate 3\n/var"},
		{[]any{"weekly", false}, "weekly\n", ""},
	} {
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		kwargs := data.NewMap("conf_file", conf)
		for i := range 2 {
			got, err := r.Invoke(t.Context(), "logrotate.set", tt.args, kwargs)
			now, readErr := os.ReadFile(conf)
			if want := strings.Replace(text, tt.old, tt.text, 1); err != nil || got != true ||
				readErr != nil || string(now) != want {
				t.Errorf("%s run %d: %v, %v, %v\n%s\nwant\n%s", data.Repr(tt.args), i, got, err, readErr, now,
					want)
			}
		}
	}
}

// logrotate reads what set writes.
func TestProgram(t *testing.T) {
	need.Program(t, "logrotate")
	root := t.TempDir()
	conf, logs := filepath.Join(root, "conf"), filepath.Join(root, "log")
	for path, text := range map[string]string{conf: "", logs: "x\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := rewrite(conf, func(text string) string {
		return editedBlock(text, logs, "rotate",
			int64(3))
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := rewrite(conf, func(text string) string {
		return edited(text, "compress",
			true)
	}); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("logrotate")
	if err != nil {
		program = "/usr/sbin/logrotate"
	}
	out, err := exec.Command(program, "-d", "-s", filepath.Join(root, "state"), conf).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "(3 rotations)") {
		t.Errorf("logrotate: %v\n%s", err, out)
	}
}

// A file that includes itself is an error.
func TestCircle(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(conf, []byte("include "+conf+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := (&module{&loader.Env{}}).read(conf); err == nil {
		t.Errorf("it has %s", data.Repr(c.settings))
	}
}

func FuzzEdited(f *testing.F) {
	f.Add(wtmp, "/var/log/wtmp", "rotate", "3")
	f.Add("/a\n{\n}\nx {", "/a", "size", "1k")
	f.Fuzz(func(t *testing.T, text, key, name, v string) {
		if strings.Contains(text, "include") || len(strings.Fields(key)) != 1 ||
			strings.ContainsAny(key+name+v, "#{}\n\r") {
			return
		}
		after := editedBlock(text, key, name, v)
		c := &conf{settings: &data.Map{}, includes: &data.Map{}, from: map[string]string{}}
		if err := c.parse(after); err != nil {
			t.Errorf("%q: %v", after, err)
		}
	})
}
