package saltsyndic

import (
	"bytes"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
)

func noEnv(string) string { return "" }

// written returns a directory with the files of a master and a minion.
func written(t *testing.T, master, minion string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"master": master, "minion": "id: lower\n" + minion} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// judge reads configurations as the program does, and returns their faults and warnings, with DIR for
// their directory.
func judge(t *testing.T, master, minion string) (faults, warnings string) {
	t.Helper()
	dir := written(t, master, minion)
	o := &cli.SyndicOptions{}
	o.ConfigDir = dir
	l, err := load(t.Context(), o, cli.Invocation{Env: noEnv})
	if err != nil {
		return strings.ReplaceAll(err.Error(), dir, "DIR"), ""
	}
	return "", strings.ReplaceAll(strings.Join(l.report.Warnings, "\n"), dir, "DIR")
}

func TestFaultsOfTheConfiguration(t *testing.T) {
	const upper = "syndic_master: 192.0.2.1\n"
	const itself = " with port 4506 is the master of this host itself, which would get its own jobs again; " +
		"name the master above"
	for name, tt := range map[string]struct{ master, minion, want string }{
		"own master": {"timeout: 5\nsyndic_master: 127.0.0.1\n", "",
			"DIR/master:2: syndic_master: 127.0.0.1" + itself},
		"own master by name": {"syndic_master: localhost\n", "",
			"DIR/master:1: syndic_master: localhost" + itself},
		"own master as IPv6": {"interface: '::'\nsyndic_master: '[::1]'\n", "",
			"DIR/master:2: syndic_master: ::1" + itself},
		"own master on one port": {"interface: 127.0.0.1\nret_port: 5506\n", "syndic_master: '127.0.0.1:5506'\n",
			"DIR/minion:2: syndic_master: 127.0.0.1 with port 5506"},
		"own master in a list": {"syndic_master:\n  - 192.0.2.1\n  - 127.0.0.1\n", "",
			"DIR/master:3: syndic_master: entry 2: 127.0.0.1" + itself},
		"own port of syndics": {"ret_port: 5506\nsyndic_master: 127.0.0.1\nsyndic_master_port: 5506\n", "",
			"DIR/master:2: syndic_master: 127.0.0.1"},
		"no address": {"syndic_master: 'a b'\n", "",
			`DIR/master:1: syndic_master: "a b" is not an address; write HOST, HOST:PORT or '[IPV6]:PORT'`},
		"no port": {"syndic_master: 'top:http'\n", "",
			`DIR/master:1: syndic_master: "top:http": "http" is not a port; write HOST`},
		"an empty list": {"syndic_master: []\n", "",
			"DIR/master:1: syndic_master: names no master; write syndic_master: ADDRESS"},
		"a mode": {upper + "syndic_mode: clustr\n", "",
			"DIR/master:2: syndic_mode: there is no mode 'clustr'; is cluster meant? There are cluster, sync"},
		"a failover": {upper, "syndic_failover: order\n",
			"DIR/minion:2: syndic_failover: there is no value 'order'; there are ordered, random"},
		"a type": {upper + "syndic_event_forward_timeout: 1s\n", "",
			"DIR/master:2: syndic_event_forward_timeout: expected a number"},
		"a port of syndics": {upper + "syndic_master_port: 70000\n", "",
			"DIR/master:2: syndic_master_port: 70000 is out of range; it must be from 1 to 65535"},
		"a port of a minion":  {upper, "master_port: x\n", "DIR/minion:2: master_port: "},
		"a format of the log": {upper + "log_fmt_console: '%(nothing'\n", "", "DIR/master:2: log_fmt_console: "},
	} {
		t.Run(name, func(t *testing.T) {
			if faults, _ := judge(t, tt.master, tt.minion); !strings.Contains(faults, tt.want) {
				t.Errorf("%s%s is wrong:\n%s\nwant\n%s", tt.master, tt.minion, faults, tt.want)
			}
		})
	}
}

func TestWarningsOfTheConfiguration(t *testing.T) {
	const upper = "syndic_master: 192.0.2.1\n"
	for name, tt := range map[string]struct{ master, minion, want string }{
		"nothing":              {upper, "", ""},
		"another port here":    {"syndic_master: '127.0.0.1:5506'\n", "", ""},
		"another address here": {"interface: 127.0.0.1\nsyndic_master: 127.0.0.2\n", "", ""},
		"no master above": {"timeout: 5\n", "", "syndic_master: is not set, so that the master above is masterofmasters, " +
			"which is Salt's default; write syndic_master: ADDRESS"},
		"transports": {upper, "transport: tcp\n", "transport: is zeromq for the master of this host, and tcp for the masters above, " +
			"which the minion's configuration says; if that is not meant, write transport: zeromq in both files"},
		"no effect": {upper + "syndic_sock_dir: /run/a\n", "",
			"DIR/master:2: syndic_sock_dir: has no effect: only plug-ins and programs of Salt read it"},
		"all events": {upper + "syndic_forward_all_events: true\n", "",
			"DIR/master:2: syndic_forward_all_events: has no effect: all events go to all masters above"},
		"all events in the minion's file": {upper, "syndic_forward_all_events: true\n",
			"DIR/minion:2: syndic_forward_all_events: has no effect: all events go to all masters above"},
		"a directory": {upper + "syndic_dir: /x\n", "",
			"DIR/master:2: syndic_dir: has no effect: the directory is always CACHEDIR/syndics, as in Salt"},
		"a directory in the minion's file": {upper, "syndic_dir: /x\n",
			"DIR/minion:2: syndic_dir: has no effect: the directory is always CACHEDIR/syndics, as in Salt"},
		"unknown": {upper + "syndic_mastr: a\n", "",
			"DIR/master:2: syndic_mastr: unknown option; is syndic_master meant?"},
		"others' concerns": {upper + "archive_jobs: true\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			faults, warnings := judge(t, tt.master, tt.minion)
			if faults != "" || !strings.Contains(warnings, tt.want) || tt.want == "" && warnings != "" {
				t.Errorf("%s%s:\nfaults %s\nwarnings %s\nwant\n%s", tt.master, tt.minion, faults, warnings, tt.want)
			}
		})
	}
}

// An id from a function is not that of the file.
func TestIDFunction(t *testing.T) {
	dir := written(t, "syndic_master: 192.0.2.1\n", "")
	if err := os.WriteFile(filepath.Join(dir, "minion"), []byte("id_function: network.get_fqdn\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &cli.SyndicOptions{}
	o.ConfigDir = dir
	_, err := load(t.Context(), o, cli.Invocation{Env: noEnv})
	const want = "minion:1: id_function: salt-syndic has no modules and cannot call network.get_fqdn; " +
		"write id: ID, with the id that the minion has"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// check runs salt-syndic --check-config.
func check(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	in := cli.Invocation{Args: append([]string{"-c", dir, "--check-config"}, args...), Env: noEnv, Dir: dir}
	code = Run(t.Context(), in, &out, &errs)
	return strings.ReplaceAll(out.String(), dir, "DIR"), strings.ReplaceAll(errs.String(), dir, "DIR"), code
}

func TestCheckConfig(t *testing.T) {
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := written(t, "user: nobody\nsyndic_master: top\nlog_level: info\nsyndic_pidfile: /run/a.pid\n",
		"pki_dir: /keys\nlog_level: debug\nsyndic_user: "+who.Username+"\n")
	for _, name := range []string{"master", "minion"} {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, "root_dir: "+dir+"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, code := check(t, dir)
	for _, want := range []string{
		"id: lower  # DIR/minion:1\n", "pki_dir: DIR/keys  # DIR/minion:2\n", "syndic_master: top  # DIR/master:2\n",
		"log_file: DIR/var/log/salt/syndic  # default\n", "pidfile: DIR/run/a.pid  # DIR/master:4\n",
		"log_level: info  # DIR/master:3\n", "user: " + who.Username + "  # DIR/minion:4\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no line %s in\n%s", want, stdout)
		}
	}
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	stdout, _, _ = check(t, dir, "-l", "error", "--log-file", "/tmp/other", "--pid-file", "/tmp/pid", "-u", "nobody")
	for _, want := range []string{"log_level: error ", "log_file: /tmp/other ", "pidfile: /tmp/pid ", "user: nobody "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no line %s with the options of the command line", want)
		}
	}
}
