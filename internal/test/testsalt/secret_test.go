package testsalt_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltmaster"
	"github.com/brineproject/brine/cli/saltminion"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// A console records the output of programs.
type console struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.Write(p)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// program runs one of the programs until the end of the test.
func program(
	t *testing.T, run func(context.Context, cli.Invocation, io.Writer, io.Writer) int, out *console,
	args ...string,
) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan int, 1)
	in := cli.Invocation{Args: args, Env: func(string) string { return "" },
		Stdin: strings.NewReader(""), Dir: "/"}
	go func() { done <- run(ctx, in, out, out) }()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != 0 {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
}

// TestCVE2015_6918 runs a master and a minion at the most verbose log level, and searches the
// output for secrets: passwords of the configuration, the root key, session keys and private keys.
func TestCVE2015_6918(t *testing.T) {
	dir := testsalt.Dir(t)
	out := &console{}
	publish, request := freeport.One(t), freeport.One(t)
	common := "root_dir: %[1]s\npidfile: %[1]s/%[2]s.pid\nlog_level: all\nlog_level_logfile: all\nlog_file: %[1]s/%[2]s.log\n"
	write(t, dir+"/master", fmt.Sprintf(common+
		"interface: 127.0.0.1\npublish_port: %[3]d\nret_port: %[4]d\nauto_accept: true\n"+
		"key_pass: marker-of-key-pass\nmysql.pass: marker-of-mysql\nexternal:\n  password: marker-of-nested\n"+
		"auth.ldap.bindpw: marker-of-bindpw\ns3.key: marker-of-s3\nprivate_key: marker-of-private\nsecret_key: {a: marker-of-below}\n"+
		"remotes: ['https://u:marker-of-url@host/a']\n", dir, "master", publish, request))
	write(t, dir+"/minion", fmt.Sprintf(common+
		"id: web1\nmaster: 127.0.0.1\nmaster_port: %[3]d\npki_dir: %[1]s/mpki\ncachedir: %[1]s/mcache\n"+
		"sock_dir: %[1]s/mrun\npassword: marker-of-minion\nldap.bindpw: marker-of-its-bindpw\ns3.key: marker-of-its-s3\n"+
		"private_key: marker-of-its-private\nsecret_key: {a: marker-of-its-below}\nremotes: 'https://u:marker-of-its-url@host/a'\n", dir, "minion", request))
	program(t, saltmaster.Run, out, "-c", dir)
	program(t, saltminion.Run, out, "-c", dir)
	salt := func(args ...string) (string, int) {
		var stdout, stderr bytes.Buffer
		in := cli.Invocation{Args: append([]string{"-c", dir, "-t", "10", "-l", "all"}, args...),
			Env: func(string) string { return "" }, Dir: "/"}
		code := cli.Salt(t.Context(), in, &stdout, &stderr)
		fmt.Fprint(out, stderr.String())
		return stdout.String(), code
	}
	end := time.Now().Add(30 * time.Second)
	for {
		if text, code := salt("web1", "test.ping"); code == 0 && strings.Contains(text, "True") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no ping: %s", out)
		}
		time.Sleep(50 * time.Millisecond) // until the minion has been let in
	}
	for _, option := range []string{"password", "ldap.bindpw", "s3.key", "private_key",
		"secret_key", "remotes"} {
		text, code := salt("web1", "config.get", option)
		if code != 0 || !strings.Contains(text, "marker-of-") {
			t.Errorf("config.get %s: %d, %s", option, code, text)
		}
	}
	for _, order := range [][]string{{"web1", "test.get_opts"}, {"web1", "no.such"},
		{"web1", "cmd.run", "echo hi"}} {
		salt(append(order, "--out", "quiet")...)
	}
	for _, marker := range markersOfMinion() {
		salt("web1", "cmd.run", marker, "--out", "quiet") // commands are logged
	}
	logs := out.String()
	for _, file := range []string{"master.log", "minion.log"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || len(text) == 0 {
			t.Fatalf("%s: %d bytes, %v", file, len(text), err)
		}
		logs += string(text)
	}
	if !strings.Contains(logs, "test.ping") || !strings.Contains(logs, "Executing command '**********'") {
		t.Fatal("the jobs and their commands are not in the logs: this test sees nothing")
	}
	for name, secret := range secretsOf(t, dir) {
		if strings.Contains(logs, secret) {
			t.Errorf("%s is in the logs", name)
		}
	}
}

// markersOfMinion returns the secrets in the configuration of the minion.
func markersOfMinion() []string {
	return []string{"marker-of-minion", "marker-of-its-bindpw", "marker-of-its-s3",
		"marker-of-its-private", "marker-of-its-below", "marker-of-its-url"}
}

// secretsOf returns the values that must not be logged, by description.
func secretsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	secrets := map[string]string{}
	for _, marker := range []string{"key-pass", "mysql", "nested", "bindpw", "s3", "private",
		"below", "url"} {
		secrets[marker] = "marker-of-" + marker
	}
	for _, marker := range markersOfMinion() {
		secrets[marker] = marker
	}
	for name, pattern := range map[string]string{"the root key": "var/cache/salt/master/.*_key",
		"a session key":         "var/cache/salt/master/sessions/*",
		"the key of the master": "etc/salt/pki/master/master.pem",
		"the key of the minion": "mpki/minion.pem"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v %v", name, files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		secret := strings.TrimSpace(string(text))
		if lines := strings.Split(secret, "\n"); len(lines) > 3 {
			secret = lines[len(lines)/2]
		}
		secrets[name] = secret
		secrets[name+" in hexadecimal"] = hex.EncodeToString([]byte(secret))
	}
	return secrets
}
