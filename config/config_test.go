package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

// tree writes files, named relative to a new directory, and returns the directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// loadMasterOf loads one file with an id, so that no name is looked up.
func loadMasterOf(t *testing.T, content string) (*Master, *Report, string, error) {
	t.Helper()
	dir := tree(t, map[string]string{"master": content, "master.d/zz.conf": "id: m\n"})
	m, r, err := LoadMaster(dir, nil)
	return m, r, dir, err
}

func TestDefaults(t *testing.T) {
	m, mi := DefaultMaster(), DefaultMinion()
	for _, tt := range []struct {
		option    string
		got, want any
	}{
		{"interface", m.Interface, "0.0.0.0"},
		{"publish_port", m.PublishPort, 4505},
		{"ret_port", m.RetPort, 4506},
		{"pki_dir", m.PKIDir, localPath("/etc/salt/pki/master")},
		{"timeout", m.Timeout, 5 * time.Second},
		{"autosign_timeout", m.AutosignTimeout, 2 * time.Hour},
		{"keep_jobs_seconds", m.KeepJobsSeconds, 24 * time.Hour},
		{"minimum_auth_version", m.MinimumAuthVersion, 3},
		{"event_return", len(m.EventReturn), 0},
		{"nodegroups", m.Nodegroups.Len(), 0},
		{"master", mi.Master, []string{"salt"}},
		{"master_port", mi.MasterPort, 4506},
		{"master_tries", mi.MasterTries, -1},
		{"retry_dns", mi.RetryDNS, 30 * time.Second},
		{"retry_dns_count", mi.RetryDNSCount, -1},
		{"recon_max", mi.ReconMax, 10 * time.Second},
		{"mine_interval", mi.MineInterval, time.Hour},
		{"acceptance_wait_time", mi.AcceptanceWaitTime, 10 * time.Second},
		{"request_channel_timeout", mi.RequestChannelTimeout, time.Minute},
		{"encryption_algorithm", mi.EncryptionAlgorithm, "OAEP-SHA1"},
		{"publish_port of a minion", mi.PublishPort, 0},
		{"return", len(mi.Return), 0},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("default of %s = %v, want %v", tt.option, tt.got, tt.want)
		}
	}
}

// TestFieldsAreKnownOptions checks that every option with a field in options.yaml has exactly one
// field in the struct, and that the option applies to the role.
func TestFieldsAreKnownOptions(t *testing.T) {
	src, err := os.ReadFile("options.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := readOptions(src)
	if err != nil {
		t.Fatal(err)
	}
	for r, ptr := range map[role]any{masterRole: &Master{}, minionRole: &Minion{}} {
		var got, want []string
		for _, f := range fields(ptr) {
			got = append(got, f.name)
		}
		for _, e := range list {
			if e.roles[r].Has("field") {
				want = append(want, e.name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%T has fields for %v, want %v", ptr, got, want)
		}
	}
}

func TestDefaultsFitTheirKinds(t *testing.T) {
	for _, o := range known().options {
		for _, r := range []role{masterRole, minionRole} {
			u := o.of(r)
			if u == nil || !u.set {
				continue
			}
			ok := u.value == nil || fits(u.value, o.kinds)
			if u.value == nil {
				ok = slices.Contains(o.kinds, "none") || slices.Contains(o.kinds, "any")
			}
			if !ok {
				t.Errorf("default of %s for the %s is %s, of the kinds %v", o.name, r,
					describe(u.value), o.kinds)
			}
		}
	}
	if n := len(known().options); n < 700 {
		t.Errorf("%d options are known, want 700 or more", n)
	}
}

// A faultCase is a configuration of a master and its error, in which DIR stands for the directory.
type faultCase struct{ name, conf, want string }

func TestFaults(t *testing.T) {
	checkFaults(t, []faultCase{
		{"text for a number", "timeout: abc\n",
			`DIR/master:1: timeout: expected a whole number, or a number, got the text "abc"`},
		{"a unit", "# c\nworker_threads: 5s\n",
			`DIR/master:2: worker_threads: expected a whole number, got the text "5s"; write the number alone: worker_threads: 5`},
		{"hours for seconds", "token_expire: 12h\n",
			`DIR/master:1: token_expire: expected a whole number, got the text "12h"; write the number of seconds: token_expire: 43200`},
		{"days for seconds", "token_expire: 7d\n",
			`DIR/master:1: token_expire: expected a whole number, got the text "7d"; write the number of seconds: token_expire: 604800`},
		{"hours for minutes", "autosign_timeout: 2 hours\n",
			`DIR/master:1: autosign_timeout: expected a whole number, got the text "2 hours"; write the number of minutes: autosign_timeout: 120`},
		{"a unit of no time", "token_expire: 100MB\n",
			`DIR/master:1: token_expire: expected a whole number, got the text "100MB"; write the number of seconds alone, such as token_expire: 60`},
		{"a size", "max_event_size: 100MB\n",
			`DIR/master:1: max_event_size: expected a whole number, got the text "100MB"; write a number alone, in the unit of the option`},
		{"an m that is no time", "worker_threads: 1m\n",
			`DIR/master:1: worker_threads: expected a whole number, got the text "1m"; write a number alone, in the unit of the option`},
		{"a fraction", "worker_threads: 5.5\n",
			`DIR/master:1: worker_threads: expected a whole number, got the number 5.5; write worker_threads: 6`},
		{"quoted true", "auto_accept: 'True'\n",
			`DIR/master:1: auto_accept: expected true or false, got the text "True"; write auto_accept: true, without quotes`},
		{"one for true", "open_mode: 1\n",
			`DIR/master:1: open_mode: expected true or false, got the number 1; write open_mode: true`},
		{"true for a number", "publish_port: yes\n",
			`DIR/master:1: publish_port: expected a whole number, got true; write a number, such as publish_port: 1`},
		{"text for a list", "fileserver_backend: roots\n",
			`DIR/master:1: fileserver_backend: expected a list, got the text "roots"; write fileserver_backend: [roots]`},
		{"a map for a list", "reactor:\n  a: b\n",
			`DIR/master:1: reactor: expected a list, got a mapping of 1; write it as lines that begin with a dash below reactor`},
		{"a list for a map", "file_roots:\n  - /srv\n",
			`DIR/master:1: file_roots: expected a mapping, got a list of 1; write it as NAME: VALUE lines below file_roots, without the dashes`},
		{"a list for a secret", "gitfs_password: [hunter2]\n", "DIR/master:1: gitfs_password: expected text"},
		{"a list for text", "interface: [10.0.0.1]\n",
			`DIR/master:1: interface: expected text, got a list of 1; write interface: 10.0.0.1`},
		{"port out of range", "ret_port: 70000\n",
			`DIR/master:1: ret_port: 70000 is out of range; it must be from 1 to 65535`},
		{"small key", "keysize: 1024\n",
			`DIR/master:1: keysize: 1024 is out of range; it must be from 2048 to 16384`},
		{"negative time", "timeout: -1\n", `DIR/master:1: timeout: -1 is out of range; the minimum is 0`},
		{"other sockets", "ipc_mode: foo\n",
			`DIR/master:1: ipc_mode: "foo" is not supported; values are ipc, tcp`},
		{"other transport", "transport: ws\n",
			`DIR/master:1: transport: "ws" is not supported; values are zeromq, tcp`},
		{"log level", "log_level: warn\n",
			`DIR/master:1: log_level: "warn" is not supported; values are all, garbage, trace, debug, profile, info, warning, error, critical, quiet`},
		{"misspelt log level", "log_level: debgu\n",
			`DIR/master:1: log_level: "debgu" is not supported; is debug meant? Values are all, garbage, trace, debug, profile, info, warning, error, critical, quiet`},
		{"a cluster by another name", "clsuter: {servers: ['nats://a']}\nclusterd: {b: c}\n",
			"DIR/master:1: clsuter: unknown option; is cluster meant? Without it this master would start alone"},
		{"two faults", "ret_port: 0\nopen_mode: 1\n",
			"DIR/master:2: open_mode: expected true or false, got the number 1; write open_mode: true\n" +
				"DIR/master:1: ret_port: 0 is out of range; it must be from 1 to 65535"},
	})
}

func TestFaultsOfForm(t *testing.T) {
	checkFaults(t, []faultCase{
		{"not options", "- a\n", `DIR/master:1: expected options, one NAME: VALUE a line, got a list of 1`},
		{"only text", "interface\n", `DIR/master:1: expected options, one NAME: VALUE a line, got the text "interface"`},
		{"colon", "interface: a: b\n", "DIR/master:1: mapping values are not allowed in this context; " +
			"put a value that holds a colon in quotes, or check the indentation\n" +
			"    interface: a: b\n" +
			"                ^"},
		{"tab", "file_roots:\n\tbase: []\n",
			"DIR/master:2: while scanning for the next token: found character that cannot start any token; " +
				"indent with spaces, not with tabs\n" +
				"     base: []\n" +
				"    ^"},
		{"twice", "timeout: 1\ntimeout: 2\n",
			"DIR/master:2: while constructing a mapping that begins in line 1: found conflicting ID 'timeout'; " +
				"an option can be set once in a file\n" +
				"    timeout: 2\n" +
				"    ^"},
		{"jinja", "file_roots: {{ roots }}\n",
			"DIR/master:1: while constructing a mapping: found unacceptable key " +
				"[(ScalarNode(tag='tag:yaml.org,2002:str', value='roots'), ScalarNode(tag='tag:yaml.org,2002:null', value=''))]\n" +
				"    file_roots: {{ roots }}\n" +
				"                 ^"},
		{"control character", "user: \x07\n",
			"DIR/master:1: unacceptable character #x0007: control characters are not allowed\n" +
				"    user:  \n" +
				"          ^"},
		{"include of itself", "include: master\n",
			"DIR/master: include: more than 16 levels of includes; does a file include itself?"},
	})
}

func checkFaults(t *testing.T, cases []faultCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			_, r, dir, err := loadMasterOf(t, tt.conf)
			if err == nil {
				t.Fatalf("LoadMaster(%q) has no error; warnings %v", tt.conf, r.Warnings)
			}
			if diff := cmp.Diff(tt.want, strings.ReplaceAll(err.Error(), dir, "DIR")); diff != "" {
				t.Errorf("LoadMaster(%q) (-want +got):\n%s", tt.conf, diff)
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%v is no *Error", err)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for _, tt := range []struct{ name, conf, want string }{
		{"misspelt", "intreface: 10.0.0.1\n", "DIR/master:1: intreface: unknown option; is interface meant?"},
		{"with a dash", "worker-threads: 3\n",
			"DIR/master:1: worker-threads: unknown option; is worker_threads meant?"},
		{"of one's own", "our_site_code: x\n",
			"DIR/master:1: our_site_code: unknown option; it is kept for modules and templates"},
		{"an old name", "client_acl_blacklist: {users: [x]}\n",
			"DIR/master:1: client_acl_blacklist: is not used any more, as in Salt; the option is called publisher_acl_blacklist now"},
		{"folders that are no list", "file_roots:\n  base: [/srv/salt]\n  dev: /srv/dev\n",
			`DIR/master:3: file_roots: dev: expected a list of directories, got the text "/srv/dev"; it has none; write dev: [/srv/salt]`},
		{"no value", "timeout:\n", "DIR/master:1: timeout: has no value; the default is used"},
		{"no for text", "user: no\n",
			`DIR/master:1: user: expected text, got false, which is used as the text "False"; put the value in quotes`},
		{"a number for text", "state_top: 5\n",
			`DIR/master:1: state_top: expected text, got the number 5, which is used as the text "5"; put the value in quotes`},
		{"a fraction for text", "gitfs_base: 1.10\n",
			`DIR/master:1: gitfs_base: expected text, got the number 1.1, which is used as the text "1.1"; put the value in quotes`},
		{"a number for a secret", "gitfs_password: 4711\n",
			"DIR/master:1: gitfs_password: expected text; put the value in quotes"},
		{"old name", "environment: dev\n",
			"DIR/master:1: environment: the option is now called saltenv; dev is used as saltenv"},
		{"few threads", "worker_threads: 1\npeer: {a: [b]}\n",
			"DIR/master:1: worker_threads: 1 is too few for peer; 3 are used"},
		{"include matches nothing", "include: none/*.conf\n",
			"DIR/master:1: include: DIR/none/*.conf matches no files"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, r, dir, err := loadMasterOf(t, tt.conf)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.want}, replaceAll(r.Warnings, dir)); diff != "" {
				t.Errorf("warnings of %q (-want +got):\n%s", tt.conf, diff)
			}
		})
	}
}

func replaceAll(list []string, dir string) []string {
	var out []string
	for _, s := range list {
		out = append(out, strings.ReplaceAll(s, dir, "DIR"))
	}
	return out
}

func TestSettingsOfModulesAreNotWarnedAbout(t *testing.T) {
	m, r, _, err := loadMasterOf(t,
		"mysql.host: db\nrest_cherrypy: {port: 8000}\nreactor: []\n_x: 1\nsecrets: {driver: yaml}\nreactr: {driver: env}\n")
	if err != nil || len(r.Warnings) != 0 {
		t.Fatalf("LoadMaster: %v, warnings %v", err, r.Warnings)
	}
	if got := m.Map().Text("mysql.host"); got != "db" {
		t.Errorf("mysql.host = %q", got)
	}
}

func TestIncludes(t *testing.T) {
	dir := tree(t, map[string]string{
		"master":             "id: m\ntimeout: 1\nnodegroups: {main: a}\ninclude: extra/*.conf\nworker_threads: 9\n",
		"master.d/10.conf":   "timeout: 2\nexternal_auth: {pam: {a: [x]}}\nreactor: [{t1: [a]}]\n",
		"master.d/20.conf":   "timeout: 3\nexternal_auth: {pam: {b: [y]}}\nreactor: [{t2: [b]}, {t1: [a]}]\n",
		"master.d/.30.conf":  "timeout: 30\n",
		"master.d/_40.conf":  "gather_job_timeout: 40\n",
		"master.d/50.sls":    "timeout: 50\n",
		"extra/a.conf":       "nodegroups: {extra: b}\ninclude: deeper.yml\n",
		"extra/deeper.yml":   "ret_port: 5506\n",
		"extra/zz.conf":      "",
		"extra/comment.conf": "# nothing\n",
	})
	m, r, err := LoadMaster(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Timeout != 3*time.Second || m.GatherJobTimeout != 40*time.Second || m.RetPort != 5506 ||
		m.WorkerThreads != 9 {
		t.Errorf("timeout %v, gather_job_timeout %v, ret_port %d", m.Timeout, m.GatherJobTimeout, m.RetPort)
	}
	if want := data.NewMap("extra", "b"); !data.Equal(m.Nodegroups, want) {
		t.Errorf("nodegroups = %v, want those of the include alone", data.Repr(m.Nodegroups))
	}
	want := "{'pam': {'a': ['x'], 'b': ['y']}}"
	if got := data.Repr(m.ExternalAuth); got != want {
		t.Errorf("external_auth = %s, want %s", got, want)
	}
	if got, want := data.Repr(m.Map().Value("reactor")), "[{'t1': ['a']}, {'t2': ['b']}]"; got != want {
		t.Errorf("reactor = %s, want %s", got, want)
	}
	for option, want := range map[string]string{"timeout": "master.d/20.conf:1",
		"ret_port":       "extra/deeper.yml:1",
		"worker_threads": "master:5"} {
		if got := r.Sources[option].String(); got != filepath.Join(dir, want) {
			t.Errorf("source of %s = %s, want %s", option, got, want)
		}
	}
	if _, ok := r.Sources["interface"]; ok {
		t.Error("a default has a source")
	}
	if m.ConfFile != filepath.Join(dir, "master") {
		t.Errorf("conf_file = %s", m.ConfFile)
	}
}

func TestMissingFileLeavesDefaults(t *testing.T) {
	m, r, err := LoadMaster(filepath.Join(t.TempDir(), "none"), nil)
	if err != nil || len(r.Files) != 0 || len(r.Warnings) != 0 {
		t.Fatalf("LoadMaster: %v, %v", err, r)
	}
	if m.RetPort != 4506 || !strings.HasSuffix(m.ID, "_master") {
		t.Errorf("ret_port %d, id %s", m.RetPort, m.ID)
	}
}

func TestEnvironment(t *testing.T) {
	dir := tree(t, map[string]string{"master": "id: m\nret_port: 5000\n", "other": "ret_port: 6000\n"})
	env := func(vars map[string]string) func(string) string { return func(k string) string { return vars[k] } }
	m, _, err := LoadMaster("", env(map[string]string{"SALT_CONFIG_DIR": dir}))
	if err != nil || m.RetPort != 5000 {
		t.Errorf("with SALT_CONFIG_DIR: %v, %v", m, err)
	}
	other := env(map[string]string{"SALT_MASTER_CONFIG": filepath.Join(dir, "other")})
	if main, over := mainFile(masterRole, "", other); main != filepath.Join(DefaultDir(),
		"master") || over != filepath.Join(dir, "other") {
		t.Errorf("with SALT_MASTER_CONFIG: %s, %s", main, over)
	}
	if _, over := mainFile(masterRole, dir, other); over != "" {
		t.Errorf("SALT_MASTER_CONFIG wins over a folder that was asked for: %s", over)
	}
}

func TestRootDir(t *testing.T) {
	for _, tt := range []struct{ path, root, want string }{
		{"/etc/salt/pki", "/", "/etc/salt/pki"},
		{"/etc/salt/pki", "/srv/root", "/srv/root/etc/salt/pki"},
		{"/srv/root/pki", "/srv/root", "/srv/root/pki"},
		{"pki", "/srv/root", "/srv/root/pki"},
		{"pki", "/", "/pki"},
	} {
		if got := underRoot(tt.path, tt.root, "/"); got != tt.want {
			t.Errorf("underRoot(%q, %q) = %q, want %q", tt.path, tt.root, got, tt.want)
		}
	}
	m, _, _, err := loadMasterOf(t,
		"root_dir: /x\nlog_file: udp://h:514\nkey_logfile: file:///k\nautosign_file: as\n")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{m.PKIDir, m.SockDir, m.TokenDir, m.LogFile, m.AutosignFile}
	want := []string{"/x/etc/salt/pki/master", "/x/var/run/salt/master",
		"/x/var/cache/salt/master/tokens", "udp://h:514", "/x/as"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDerivedOptions(t *testing.T) {
	m, _, _, err := loadMasterOf(t, strings.Join([]string{
		"log_dir: /logs", "cachedir: /c", "fileserver_backend: [git, roots]", "hash_type: SHA512",
		"keep_jobs: 2", "nodegroups: [{a: x}, {b: y}]", "external_auth: {rest: {}}",
		"event_return: mysql", "file_ignore_glob: '*.pyc'",
		"timeout: '7'", "ipc_write_buffer: 4096", "syndic_wait: 3", ""}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	opts := m.Map()
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"log_file", m.LogFile, "/logs/master"},
		{"sock_dir", m.SockDir, "/c/.salt-unix"},
		{"fileserver_backend", data.Repr(opts.Value("fileserver_backend")), "['gitfs', 'roots']"},
		{"hash_type", m.HashType, "sha512"},
		{"keep_jobs", m.KeepJobsSeconds, 2 * time.Hour},
		{"nodegroups", data.Repr(m.Nodegroups), "{'a': 'x', 'b': 'y'}"},
		{"keep_acl_in_token", m.KeepACLInToken, true},
		{"event_return", m.EventReturn, []string{"mysql"}},
		{"file_ignore_glob", data.Repr(opts.Value("file_ignore_glob")), "['*.pyc']"},
		{"timeout", m.Timeout, 7 * time.Second},
		{"__role", opts.Text("__role"), "master"},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s = %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestMapShowsChangedFields(t *testing.T) {
	m := DefaultMaster()
	m.RetPort, m.Timeout, m.EventReturn = 1234, 1500*time.Millisecond, []string{"x"}
	opts := m.Map()
	if opts.Value("ret_port") != int64(1234) || opts.Value("timeout") != 1.5 ||
		data.Repr(opts.Value("event_return")) != "['x']" {
		t.Errorf("Map = %s", data.Repr(opts))
	}
	opts.Set("ret_port", 1)
	if m.Map().Value("ret_port") != int64(1234) {
		t.Error("Map gives away its own map")
	}
	if got := m.Map().Value("publish_port"); got != int64(4505) {
		t.Errorf("publish_port = %v", got)
	}
}

func testHost(files map[string]string) host {
	return host{
		name:    func() (string, error) { return "Web1", nil },
		full:    func(context.Context, string) string { return "Web1.example.com" },
		address: func() []string { return []string{"10.0.0.7"} },
		file: func(name string) ([]byte, error) {
			if s, ok := files[name]; ok {
				return []byte(s), nil
			}
			return nil, os.ErrNotExist
		},
	}
}

func TestMinionID(t *testing.T) {
	cached := map[string]string{filepath.Join("/r", DefaultDir(), "minion_id"): "old.example.org\n"}
	for _, tt := range []struct {
		name, conf string
		files      map[string]string
		want       string
	}{
		{"configured", "id: web\n", cached, "web"},
		{"number", "id: 10\n", nil, "10"},
		{"cached", "", cached, "old.example.org"},
		{"not cached", "minion_id_caching: false\n", cached, "Web1.example.com"},
		{"cached localhost", "", map[string]string{filepath.Join("/r", DefaultDir(),
			"minion_id"): "localhost"}, "Web1.example.com"},
		{"lower case", "minion_id_lowercase: true\n", nil, "web1.example.com"},
		{"no domain", "minion_id_remove_domain: true\n", nil, "Web1"},
		{"one domain", "minion_id_remove_domain: EXAMPLE.com\n", nil, "Web1"},
		{"another domain", "minion_id_remove_domain: example.org\n", nil, "Web1.example.com"},
		{"append", "id: web\nappend_domain: x.org\n", nil, "web.x.org"},
		{"append what is there", "id: web.x.org\nappend_domain: x.org\n", nil, "web.x.org"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"minion": "root_dir: /r\n" + tt.conf})
			m, _, err := loadMinion(dir, nil, testHost(tt.files))
			if err != nil || m.ID != tt.want {
				t.Fatalf("ID = %v, %v; want %s", m, err, tt.want)
			}
			if m.Map().Text("id") != tt.want {
				t.Errorf("id in Map = %v", m.Map().Value("id"))
			}
		})
	}
}

func TestGuess(t *testing.T) {
	local := func(context.Context, string) string { return "localhost.localdomain" }
	name := func() (string, error) { return "localhost", nil }
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"of /etc/hostname", map[string]string{"/etc/hostname": "# c\nlocalhost\nbox\n"}, "box"},
		{"of /etc/hosts", map[string]string{"/etc/hosts": "10.1.1.1 other\n127.0.1.1 box.lan box # me\n"}, "box.lan"},
		{"an address", nil, "10.0.0.7"},
	} {
		h := testHost(tt.files)
		h.full, h.name = local, name
		if got := h.guess(time.Second); got != tt.want {
			t.Errorf("guess %s = %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestBadID(t *testing.T) {
	dir := tree(t, map[string]string{"minion": "id: ../x\n"})
	_, _, err := loadMinion(dir, nil, testHost(nil))
	want := dir + `/minion:1: id: "../x" cannot be an id: ` + errID.Error()
	if err == nil || err.Error() != want {
		t.Errorf("LoadMinion = %v\nwant %s", err, want)
	}
}

func TestCacheID(t *testing.T) {
	root := t.TempDir()
	dir := tree(t, map[string]string{"minion": "root_dir: " + root +
		"\nappend_domain: x.org\nminion_id_lowercase: true\n"})
	m, _, err := loadMinion(dir, nil, testHost(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.CacheID(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, DefaultDir(), "minion_id"))
	if string(b) != "web1.example.com" || m.ID != "web1.example.com.x.org" {
		t.Errorf("cached %q, %v; ID %s", b, err, m.ID)
	}
}

// TestDefaultsWrittenOutAreReadBack checks that every default, written to a file, is read back as
// the same option without a warning.
func TestDefaultsWrittenOutAreReadBack(t *testing.T) {
	for _, r := range []role{masterRole, minionRole} {
		opts := known().defaults(r)
		opts.Delete("default_include")
		opts.Set("id", "me")
		src, err := yaml.Dump(opts, yaml.DumpOptions{Flow: yaml.Leaves})
		if err != nil {
			t.Fatal(err)
		}
		dir := tree(t, map[string]string{string(r): string(src)})
		got, _, report, err := load(r, dir, nil, testHost(nil))
		if err != nil || len(report.Warnings) > 0 {
			t.Fatalf("%s: %v, %v", r, err, report.Warnings)
		}
		want, _, _, err := load(r, tree(t, map[string]string{string(r): "id: me\n"}), nil, testHost(nil))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range want.All() {
			if have := got.Value(k); k != "conf_file" && !data.Equal(have, v) {
				t.Errorf("%s: %v = %s, want %s", r, k, data.Repr(have), data.Repr(v))
			}
		}
	}
}

func TestDynamicBufferAndCaseOfLevels(t *testing.T) {
	m, _, _, err := loadMasterOf(t, "ipc_write_buffer: dynamic\nlog_level: INFO\n")
	if err != nil || m.IPCWriteBuffer < 5<<20 || m.LogLevel != "info" {
		t.Errorf("LoadMaster = %+v, %v", m, err)
	}
	_, _, dir, err := loadMasterOf(t, "ipc_write_buffer: much\n")
	want := dir + `/master:1: ipc_write_buffer: expected a number, got the text "much"`
	if err == nil || err.Error() != want {
		t.Errorf("LoadMaster = %v, want %s", err, want)
	}
}

func TestMinionOptions(t *testing.T) {
	dir := tree(t, map[string]string{"minion": strings.Join([]string{"id: web",
		"master: [a, 'b:4507']", "retry_dns: 0", "append_minionid_config_dirs: [cachedir, pidfile]",
		"random_reauth_delay: 60", "grains: {roles: [web]}",
		"mine_functions: {network.ip_addrs: []}", "return: mysql,redis", "recon_default: 1500",
		"open_mode: false", "startup_states: highstate", "my_password: sdb://vault/x",
		"auth_tries: sdb://vault/y", ""}, "\n")})
	m, r, err := loadMinion(dir, nil, testHost(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"master", m.Master, []string{"a", "b:4507"}},
		{"retry_dns", m.RetryDNS, time.Duration(0)},
		{"cachedir", m.CacheDir, "/var/cache/salt/minion/web"},
		{"pidfile", m.PidFile, "/var/run/salt/web/salt-minion.pid"},
		{"random_reauth_delay", m.RandomReauthDelay, time.Minute},
		{"grains", data.Repr(m.Grains), "{'roles': ['web']}"},
		{"return", m.Return, []string{"mysql", "redis"}},
		{"recon_default", m.ReconDefault, 1500 * time.Millisecond},
		{"beacons", data.Repr(m.Map().Value("beacons")), "{}"},
	} {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s = %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if len(r.Unknown) != 1 || r.Unknown[0] != "my_password" {
		t.Errorf("unknown = %v", r.Unknown)
	}
}

// TestAggregateOfSomeModules sets the option to a list of modules whose states are joined.
func TestAggregateOfSomeModules(t *testing.T) {
	for text, want := range map[string]string{"[pkg]": "['pkg']", "true": "True"} {
		m, _, err := loadMinion(tree(t,
			map[string]string{"minion": "id: web\nstate_aggregate: " + text + "\n"}), nil, testHost(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := data.Repr(m.Map().Value("state_aggregate")); got != want {
			t.Errorf("state_aggregate: %s is %s, want %s", text, got, want)
		}
	}
}

func TestBrokenSavedScheduleIsLeftOut(t *testing.T) {
	dir := tree(t, map[string]string{"minion": "id: a\n", "minion.d/_schedule.conf": "schedule: {a: [\n"})
	_, r, err := loadMinion(dir, nil, testHost(nil))
	if err != nil || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "the saved schedule is left out") {
		t.Errorf("LoadMinion: %v, warnings %v", err, r.Warnings)
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"timeout", "timeout", 0}, {"timout", "timeout", 1}, {"tiemout", "timeout", 1},
		{"abc", "xyz", 3}, {"a", "abcdef", 3}} {
		if got := min(distance(tt.a, tt.b, 3), 3); got != tt.want {
			t.Errorf("distance(%s, %s) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{"id: a\n", "include: x\n", "timeout: [\n", "a: {<<: 1}\n",
		"log_level: !!int 5\n", "? [a]\n: b\n",
		"file_roots: {base: [/srv, 5, {a: b}]}\nnodegroups: [1]\nutils_dirs: x\npeer: 5\n",
		"retry_dns: 1.0e+300\n", "1: 2\nnull: 3\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, conf string) {
		if strings.Contains(conf, "include") || strings.Contains(conf, "roots") {
			return // these read the rest of the disk
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "minion"), []byte(conf), 0o644); err != nil {
			t.Fatal(err)
		}
		m, r, err := loadMinion(dir, nil, testHost(nil))
		if (m == nil) == (err == nil) || r == nil {
			t.Fatalf("loadMinion(%q) = %v, %v, %v", conf, m, r, err)
		}
		if m != nil {
			m.Map()
		}
	})
}
