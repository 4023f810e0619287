package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestFindingsAreTracedToTheirLine(t *testing.T) {
	dir := tree(t, map[string]string{
		"master":           "peer:\n  web1:\n    - test.ping\n    - [a]\nengines:\n  - one\n",
		"master.d/a.conf":  "external_auth:\n  pam:\n    bob:\n      - x\n    eve: 5\nengines:\n  - two\n",
		"master.d/b.conf":  "external_auth:\n  pam:\n    ann: 7\nengines:\n  - three\n  - {a: 1,\n     b: 2}\n",
		"master.d/c.conf":  "timeout: 5\n",
		"master.d/_d.conf": "",
	})
	m, r, err := LoadMaster(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	engines, _ := m.Engines.([]any)
	for _, tt := range []struct {
		option string
		path   []any
		want   string
	}{
		{"peer", []any{"web1", Entry{1, []any{"a"}}}, "/master:4"},
		{"peer", []any{"web1"}, "/master:2"},
		{"external_auth", []any{"pam", "bob", Entry{0, "x"}}, "/master.d/a.conf:4"},
		{"external_auth", []any{"pam", "eve"}, "/master.d/a.conf:5"},
		{"external_auth", []any{"pam", "ann"}, "/master.d/b.conf:3"},
		{"external_auth", []any{"pam", "nobody"}, "/master.d/b.conf:2"},
		{"engines", []any{Entry{0, "two"}}, "/master.d/a.conf:7"},
		{"engines", []any{Entry{2, engines[2]}, "b"}, "/master.d/b.conf:7"},
		{"timeout", nil, "/master.d/c.conf:1"},
		{"reactor", nil, ""},
	} {
		if got := strings.TrimPrefix(r.At(tt.option, tt.path...).String(), dir); got != tt.want {
			t.Errorf("At(%s, %v) = %s, want %s", tt.option, tt.path, got, tt.want)
		}
	}
}

func TestJudge(t *testing.T) {
	dir := tree(t, map[string]string{"master": "peer:\n  web1:\n    - test.ping\n    - 5\n"})
	_, r, err := LoadMaster(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	entry := Entry{1, int64(5)}
	err = r.Judge("peer", errors.Join(
		Below("web1", errors.Join(Below(entry,
			Expected("a function", int64(5), "write - test.ping")), Doubt(errors.New("odd")))),
		nil, errors.New("as a whole")))
	want := dir + "/master:4: peer: web1: entry 2: expected a function, got the number 5; write - test.ping\n" + dir + "/master:1: peer: as a whole"
	if err == nil || err.Error() != want {
		t.Errorf("Judge = %v\nwant %s", err, want)
	}
	if len(r.Warnings) != 1 || r.Warnings[0] != dir+"/master:2: peer: web1: odd" {
		t.Errorf("warnings %q", r.Warnings)
	}
	if err := r.Judge("peer", nil); err != nil {
		t.Errorf("Judge(nil) = %v", err)
	}
}

// TestFindingsKeepWords checks that an error that wraps several others with its own words is one
// finding.
func TestFindingsKeepWords(t *testing.T) {
	wrapped := errors.Join(errors.New("a"), &About{"x", errors.New("b")})
	for _, err := range []error{Below("k", wrapped), Below("k", errors.Join(wrapped))} {
		if err.Error() != "k: a\nk: b" {
			t.Errorf("%q", err)
		}
	}
}

func TestNoSuch(t *testing.T) {
	there := []string{"pam", "file", "ldap"}
	for name, want := range map[string]string{
		"PAM":    "there is no system 'PAM'; is pam meant? There are file, ldap, pam",
		"ldpa":   "there is no system 'ldpa'; is ldap meant? There are file, ldap, pam",
		"zebra":  "there is no system 'zebra'; there are file, ldap, pam",
		"django": "Salt's system django is not built in; there are file, ldap, pam",
	} {
		if got := NoSuch("system", name, there, []string{"django"}).Error(); got != want {
			t.Errorf("NoSuch(%s) = %s, want %s", name, got, want)
		}
	}
}

func TestPathsShowNoPasswords(t *testing.T) {
	f := &Finding{Path: []any{"https://u:geheim@host/x", data.NewMap("a", 1)}, Text: "x"}
	if strings.Contains(f.Error(), "geheim") {
		t.Error(f)
	}
}

func TestLocate(t *testing.T) {
	dir := tree(t, map[string]string{"master": "timeout: 5\ninterface: 127.0.0.1\n"})
	_, r, err := LoadMaster(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("bound")
	if err := r.Locate(&About{"interface", cause}); !errors.Is(err, cause) || err.Error() != dir+
		"/master:2: bound" {
		t.Errorf("Locate = %v", err)
	}
	if err := r.Locate(&About{"ret_port", cause}); err.Error() != "bound" {
		t.Errorf("Locate of a default = %v", err)
	}
	if err := r.Locate(&About{"pki_dir", cause}); err.Error() != "bound" {
		t.Errorf("Locate of a default path below the default root = %v", err)
	}
	if r.Locate(nil) != nil {
		t.Error("Locate(nil) is an error")
	}
}

// TestPathsBelowRootDirHaveItsPlace checks the place of a path's error: the path's own if a file
// sets it, otherwise that of root_dir.
func TestPathsBelowRootDirHaveItsPlace(t *testing.T) {
	dir := tree(t, map[string]string{"master": "timeout: 5\nroot_dir: /srv/r\nlog_file: /x/log\n"})
	_, r, err := LoadMaster(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("pki_dir: read-only")
	for option, want := range map[string]string{
		"pki_dir":   dir + "/master:2: root_dir: pki_dir: read-only",
		"log_file":  dir + "/master:3: pki_dir: read-only",
		"interface": "pki_dir: read-only",
	} {
		if got := r.Locate(&About{option, cause}); got.Error() != want || !errors.Is(got, cause) {
			t.Errorf("Locate of %s = %v, want %s", option, got, want)
		}
	}
}

// Findings of a start are told with their places and options, and can still be recognized.
func TestLocateNamesWhatAFindingIsAbout(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "master")
	if err := os.WriteFile(file, []byte("timeout: 5\ncluster:\n  servers: [a]\n  tls:\n    ca: /x\n  key: /k\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, r, err := LoadMaster(dir, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("no such file")
	ca := Below("tls", Below("ca", &Finding{Text: "bad", Suggestion: "write another", Cause: cause}))
	for _, tt := range []struct {
		err  error
		want string
	}{
		{ca, file + ":5: cluster: tls: ca: bad; write another"},
		{errors.Join(ca, Below("key", cause)), file + ":5: cluster: tls: ca: bad; write another\n" +
			file + ":6: cluster: key: no such file"},
		{cause, file + ":2: no such file"},
	} {
		for _, err := range []error{&About{"cluster", tt.err}, errors.Join(&About{"cluster", tt.err}, nil)} {
			if got := r.Locate(err); got.Error() != tt.want || !errors.Is(got, cause) {
				t.Errorf("Locate = %v\nwant %s", got, tt.want)
			}
		}
	}
	if err := Faults(errors.Join(Doubt(ca), Below("key", cause))); err == nil || err.Error() != "key: no such file" {
		t.Errorf("Faults = %v", err)
	}
	if err := Faults(Doubt(ca)); err != nil {
		t.Errorf("Faults of a doubt = %v", err)
	}
}
