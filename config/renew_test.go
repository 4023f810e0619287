package config

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
)

// load reads a master's configuration from text.
func loadText(t *testing.T, text string) (*Master, *Report) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, report, err := LoadMaster(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.ConfFile, m.loaded.ConfFile = "", ""
	m.opts.Delete("conf_file")
	return m, report
}

func TestRenew(t *testing.T) {
	old, _ := loadText(t, "auto_accept: false\nkeep_jobs_seconds: 60\nret_port: 4506\nmysql.host: a\nmysql.user: b\n")
	next, _ := loadText(t, "auto_accept: true\nkeep_jobs_seconds: 120\nret_port: 4606\nmysql.host: c\nnodegroups: {web: 'L@a'}\n")
	renewed, change := old.Renew(next)
	if want := []string{"auto_accept", "keep_jobs_seconds", "mysql.host", "mysql.user", "nodegroups"}; !slices.Equal(change.Applied, want) {
		t.Errorf("applied %q, want %q", change.Applied, want)
	}
	if want := []string{"ret_port"}; !slices.Equal(change.Restart, want) {
		t.Errorf("restart %q, want %q", change.Restart, want)
	}
	if !renewed.AutoAccept || renewed.KeepJobsSeconds != 2*time.Minute || renewed.RetPort != 4506 || renewed.Nodegroups.Text("web") != "L@a" {
		t.Errorf("renewed = %+v", renewed)
	}
	if old.AutoAccept || old.KeepJobsSeconds != time.Minute {
		t.Error("the old configuration has changed")
	}
	opts := renewed.Map()
	if opts.Value("ret_port") != int64(4506) || opts.Text("mysql.host") != "c" || opts.Has("mysql.user") || opts.Value("auto_accept") != true {
		t.Errorf("options: %s", data.Repr(opts))
	}
	if _, change := renewed.Renew(next); len(change.Applied) != 0 || !slices.Equal(change.Restart, []string{"ret_port"}) {
		t.Errorf("the same again: %+v", change)
	}
}

func TestExplain(t *testing.T) {
	m, report := loadText(t, "key_pass: swordfish\nmysql.pass: swordfish\nuser: root\nnodegroups:\n  web: 'L@a'\nfoo: {password: swordfish}\n")
	var out bytes.Buffer
	if err := Explain(&out, m.Map(), report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"key_pass: '**********'  # ", "mysql.pass: '**********'  # ", "master:4\n", "nodegroups: {web: L@a}  # ", "ret_port: 4506  # default\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "swordfish") {
		t.Error("a password is shown")
	}
	if got := strings.Join(Secrets(data.NewMap("a", []any{data.NewMap("password", "x"), "y"}, "token", "z")), ","); got != "x,z" {
		t.Errorf("Secrets = %s", got)
	}
}

func TestNoPathIsNoFile(t *testing.T) {
	m, _ := loadText(t, "root_dir: /srv/x\nlog_file: ''\npidfile: ''\n")
	if m.LogFile != "" || m.PidFile != "" || m.CacheDir != "/srv/x/var/cache/salt/master" {
		t.Errorf("log_file %q, pidfile %q, cachedir %q", m.LogFile, m.PidFile, m.CacheDir)
	}
}
