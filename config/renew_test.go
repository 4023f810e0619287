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

// loadText reads a master's configuration from text.
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
	if want := []string{"auto_accept", "keep_jobs_seconds", "mysql.host", "mysql.user",
		"nodegroups"}; !slices.Equal(change.Applied, want) {
		t.Errorf("applied %q, want %q", change.Applied, want)
	}
	if want := []string{"ret_port"}; !slices.Equal(change.Restart, want) {
		t.Errorf("restart %q, want %q", change.Restart, want)
	}
	if !renewed.AutoAccept || renewed.KeepJobsSeconds != 2*time.Minute || renewed.RetPort != 4506 ||
		renewed.Nodegroups.Text("web") != "L@a" {
		t.Errorf("renewed = %+v", renewed)
	}
	if old.AutoAccept || old.KeepJobsSeconds != time.Minute {
		t.Error("the old configuration has changed")
	}
	opts := renewed.Map()
	if opts.Value("ret_port") != int64(4506) || opts.Text("mysql.host") != "c" ||
		opts.Has("mysql.user") || opts.Value("auto_accept") != true {
		t.Errorf("options: %s", data.Repr(opts))
	}
	if _, change := renewed.Renew(next); len(change.Applied) != 0 ||
		!slices.Equal(change.Restart, []string{"ret_port"}) {
		t.Errorf("the same again: %+v", change)
	}
	if renewed.loaded.loaded != nil {
		t.Error("the configuration before is kept")
	}
}

func TestExplain(t *testing.T) {
	m, report := loadText(t, "key_pass: swordfish\nmysql.pass: swordfish\nuser: root\nnodegroups:\n  web: 'L@a'\nfoo: {password: swordfish}\n")
	var out bytes.Buffer
	if err := Explain(&out, m.Map(), report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"key_pass: '**********'  # ", "mysql.pass: '**********'  # ",
		"master:4\n", "nodegroups: {web: L@a}  # ", "ret_port: 4506  # default\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "swordfish") {
		t.Error("a password is shown")
	}
	if got := strings.Join(Secrets(data.NewMap("a", []any{data.NewMap("password", "x"), "y"},
		"token", "z")), ","); got != "x,z" {
		t.Errorf("Secrets = %s", got)
	}
}

func TestExplainHidesSecrets(t *testing.T) {
	const text = `auth.ldap.bindpw: marker-bindpw
s3.key: marker-s3
s3.keyid: shown-keyid
private_key: /marker-private
secret_key: {a: marker-below, b: [marker-list]}
gitfs_remotes: ['https://u:marker-url@host/a', {'https://v:marker@name@host/b': [{password: marker-nested}, {user: shown-user}]}]
redis: 'redis://:marker-redis@h1:6379/0,redis://w:marker-second@h2'
sdb: {driver: x, auth: {method: shown-below, secret_id: marker-approle}}
ext_pillar: [{s3: {bucket: shown-bucket, keyid: shown-id, key: marker-pillar}}]
auth: [marker-auth]
my_credentials: {user: someone, login: marker-login}
azure.account_key: marker-account
slack: {api_key: marker-api, Client-Secret: marker-client}
slack_webhook.webhook: marker-webhook
rest.password: 12345678
ssl_key: /shown/ssl.key
gitfs_privkey: /shown/git.key
my.keyfile: /shown/keyfile
external_auth: {pam: {shown-eauth: [.*]}}
git_pillar_insecure_auth: true
gitfs_root: 'http://shown-host:8080/a@b'
`
	m, report := loadText(t, text)
	var out bytes.Buffer
	if err := Explain(&out, m.Map(), report); err != nil {
		t.Fatal(err)
	}
	shown := func(text string) bool { return strings.Contains(out.String(), text) }
	for _, hidden := range []string{"marker", "12345678"} {
		if shown(hidden) {
			t.Errorf("%q is shown:\n%s", hidden, out.String())
		}
	}
	for _, plain := range []string{"shown-keyid", "https://u:**********@host/a",
		"https://v:**********@host/b", "redis://w:**********@h2", "shown-user", "shown-bucket",
		"/shown/ssl.key", "/shown/git.key", "/shown/keyfile", "shown-eauth",
		"git_pillar_insecure_auth: true", "http://shown-host:8080/a@b"} {
		if !shown(plain) {
			t.Errorf("%q is not shown:\n%s", plain, out.String())
		}
	}
	got := Secrets(m.Map())
	slices.Sort(got)
	want := []string{"/marker-private", "12345678", "marker-account", "marker-api",
		"marker-approle", "marker-auth", "marker-below", "marker-bindpw", "marker-client",
		"marker-list", "marker-login", "marker-nested", "marker-pillar", "marker-redis",
		"marker-s3", "marker-second", "marker-url", "marker-webhook", "marker@name"}
	if !slices.Equal(got, want) {
		t.Errorf("Secrets =\n%q, want\n%q", got, want)
	}
}

func TestEmptyPathIsNoFile(t *testing.T) {
	m, _ := loadText(t, "root_dir: /srv/x\nlog_file: ''\npidfile: ''\n")
	if m.LogFile != "" || m.PidFile != "" || m.CacheDir != "/srv/x/var/cache/salt/master" {
		t.Errorf("log_file %q, pidfile %q, cachedir %q", m.LogFile, m.PidFile, m.CacheDir)
	}
}

func TestFaultsBetweenOptions(t *testing.T) {
	for conf, want := range map[string]string{
		"ret_port: 4505\n":                      "master:1: ret_port: publish_port and ret_port are both 4505",
		"id: a\npublish_port: 9\nret_port: 9\n": "master:3: ret_port: publish_port and ret_port are both 9",
		"cachedir: ''\n":                        "master:1: cachedir: must not be empty",
		"pki_dir: ''\nsock_dir: ''\n":           "master:2: sock_dir: must not be empty",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "master"), []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := LoadMaster(dir, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", conf, err, want)
		}
	}
}
