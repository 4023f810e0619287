package saltapi

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/netapi"
)

func noEnv(string) string { return "" }

// judge reads a configuration as the program does, and returns its faults and warnings, with DIR for
// its directory.
func judge(t *testing.T, conf string) (faults, warnings string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &cli.APIOptions{}
	o.ConfigDir = dir
	l, err := load(o, cli.Invocation{Env: noEnv})
	if err != nil {
		return strings.ReplaceAll(err.Error(), dir, "DIR"), ""
	}
	return "", strings.ReplaceAll(strings.Join(l.report.Warnings, "\n"), dir, "DIR")
}

// good is a configuration without faults and warnings.
const good = "netapi_enable_clients: [local]\nexternal_auth: {pam: {ann: [.*]}}\n"

func TestFaultsOfTheConfiguration(t *testing.T) {
	for name, tt := range map[string]struct{ conf, want string }{
		"no door": {"timeout: 5\n", "rest_cherrypy: no port to listen on: salt-api needs the section rest_cherrypy with a port; " +
			"write rest_cherrypy: {port: 8000, ssl_crt: FILE, ssl_key: FILE}"},
		"no port": {"rest_cherrypy: {disable_ssl: true}\n", "no port to listen on"},
		"no certificate": {"timeout: 5\nrest_cherrypy:\n  port: 8000\n", "DIR/master:2: rest_cherrypy: has no ssl_crt and ssl_key; " +
			"name the files of the certificate and its key, or write disable_ssl: true"},
		"no section": {"rest_cherrypy: 8000\n", "DIR/master:1: rest_cherrypy: expected a mapping, got the number 8000"},
		"a port": {"rest_cherrypy:\n  disable_ssl: true\n  port: 80000\n",
			"DIR/master:3: rest_cherrypy: port: must be a whole number from 0 to 65535, not 80000"},
		"an address": {"rest_tornado:\n  disable_ssl: true\n  port: 1\n  authorized_ips: [10.0.0.1, 10.0.0.x]\n",
			"DIR/master:4: rest_tornado: authorized_ips: entry 2: '10.0.0.x' is no address; write 10.0.0.1"},
		"client certificates without TLS": {"rest_cherrypy:\n  port: 1\n  disable_ssl: true\n  ssl_client_ca: /ca\n",
			"DIR/master:4: rest_cherrypy: ssl_client_ca: needs TLS, which disable_ssl turns off; remove one of the two"},
		"a path without a slash": {"rest_cherrypy:\n  port: 1\n  disable_ssl: true\n  root_prefix: api\n",
			"DIR/master:4: rest_cherrypy: root_prefix: must begin with a slash, or no address is below it; write /api"},
		"a path that is taken": {"rest_cherrypy:\n  port: 1\n  disable_ssl: true\n  webhook_url: /login\n",
			"DIR/master:4: rest_cherrypy: webhook_url: hides the address /login of the API; choose another path"},
		"an option of the master": {"rest_cherrypy: {port: 1, disable_ssl: true}\nret_port: x\n", "DIR/master:2: ret_port: "},
	} {
		t.Run(name, func(t *testing.T) {
			if faults, _ := judge(t, tt.conf); !strings.Contains(faults, tt.want) {
				t.Errorf("%s is wrong:\n%s\nwant\n%s", tt.conf, faults, tt.want)
			}
		})
	}
}

func TestWarningsOfTheConfiguration(t *testing.T) {
	const door = "rest_cherrypy: {port: 1, host: 127.0.0.1, disable_ssl: true}\n"
	for name, tt := range map[string]struct{ conf, want string }{
		"nothing": {good + door, ""},
		"no clients": {"external_auth: {pam: {ann: [.*]}}\n" + door,
			"netapi_enable_clients: is not set, so that every order is refused; write netapi_enable_clients: [local, runner, wheel]"},
		"no logins": {"netapi_enable_clients: [local]\n" + door,
			"external_auth: is not set, so that nobody can log in; write external_auth: {pam: {NAME: ['.*']}}"},
		"a client": {
			strings.Replace(good, "[local]", "[local, runer]", 1) + door, "entry 2: there is no client 'runer'; is runner meant?"},
		"an option": {good + "rest_cherrypy:\n  port: 1\n  disable_sll: true\n  host: 127.0.0.1\n  disable_ssl: true\n",
			"DIR/master:5: rest_cherrypy: disable_sll: there is no such option; is disable_ssl meant?"},
		"threads": {good + "rest_cherrypy: {port: 1, host: '::1', disable_ssl: true, thread_pool: 5}\n",
			"DIR/master:3: rest_cherrypy: thread_pool: has no effect: requests need no threads"},
		"passwords for all to read": {good + "rest_cherrypy: {port: 1, disable_ssl: true}\n",
			"DIR/master:3: rest_cherrypy: disable_ssl: other hosts reach 0.0.0.0, and passwords travel there unencrypted; " +
				"add host: 127.0.0.1, or name a certificate with ssl_crt and ssl_key"},
		"a system": {"netapi_enable_clients: [local]\nexternal_auth: {fille: {ann: [.*]}}\n" + door,
			"DIR/master:2: external_auth: fille: there is no authentication system 'fille', nobody can log in there; is file meant? " +
				"There are file, ldap, oidc, pam, rest, sharedsecret"},
		"own systems": {"netapi_enable_clients: [local]\nexternal_auth: {wonderland: {ann: [.*]}}\n" + door, ""},
		"wsgi": {good + door + "rest_wsgi: {port: 2}\n",
			"DIR/master:4: rest_wsgi: has no effect: salt-api does not have it; use rest_cherrypy"},
	} {
		t.Run(name, func(t *testing.T) {
			faults, warnings := judge(t, tt.conf)
			if faults != "" || !strings.Contains(warnings, tt.want) || tt.want == "" && warnings != "" {
				t.Errorf("%s:\nfaults %s\nwarnings %s\nwant\n%s", tt.conf, faults, warnings, tt.want)
			}
		})
	}
}

// check runs salt-api --check-config over a configuration.
func check(t *testing.T, conf string) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte("root_dir: "+dir+"\n"+conf), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	in := cli.Invocation{Args: []string{"-c", dir, "--check-config"}, Env: noEnv, Dir: dir}
	code = Run(t.Context(), in, &out, &errs, Options{})
	return strings.ReplaceAll(out.String(), dir, "DIR"), strings.ReplaceAll(errs.String(), dir, "DIR"), code
}

func TestCheckConfig(t *testing.T) {
	conf := good + "user: " + userName() + "\nrest_cherrypy: {port: 1, disable_ssl: true, host: 127.0.0.1}\n" +
		"api_pidfile: /run/a.pid\n"
	stdout, stderr, code := check(t, conf)
	for _, want := range []string{
		"log_file: DIR/var/log/salt/api  # default\n", "pidfile: DIR/run/a.pid  # DIR/master:6\n",
		"rest_cherrypy: {port: 1, disable_ssl: true, host: 127.0.0.1}  # DIR/master:5\n",
		"netapi_enable_clients: [local]  # DIR/master:2\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no line %s in\n%s", want, stdout)
		}
	}
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestCheckConfigFindsWhatTheHostLacks(t *testing.T) {
	_, stderr, code := check(t, good+"user: "+userName()+
		"\nrest_cherrypy:\n  port: 1\n  host: 192.0.2.7\n  ssl_crt: /nothere/crt\n  ssl_key: /nothere/key\n")
	for _, want := range []string{
		"DIR/master:8: rest_cherrypy: ssl_crt: open /nothere/crt: no such file or directory",
		"DIR/master:7: rest_cherrypy: host: 192.0.2.7 is no address of this host: ",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("got %s, want %s", stderr, want)
		}
	}
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestStreamsOfBothSections(t *testing.T) {
	first := &netapi.Door{MaxStreams: 10, MaxStreamsPerUser: 3}
	o := streams(&netapi.Settings{Cherrypy: first, Tornado: &netapi.Door{MaxStreams: 5, MaxStreamsPerUser: 2}})
	if o.MaxListeners != 15 || o.MaxPerUser != 5 {
		t.Errorf("the streams have %+v", o)
	}
}
