package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
)

// TestCommands runs command lines without vectors.
func TestCommands(t *testing.T) {
	s := startSite(t, vectors.Load(t, "10-cli.json"))
	for _, tt := range []struct {
		name, line     string
		code           int
		stdout, stderr string
	}{
		{"a node group", "-N lst test.ping --static", 0, "db1:\n    True\nweb1:\n    True\n", ""},
		{"a node group in another", "-C N@nested test.ping --static --out=txt", 0,
			"db1: True\nweb1: True\nweb2: True\n", ""},
		{"grains by expression", "-P roles:(db|cache) test.ping --static --out=txt", 0,
			"db1: True\nweb2: True\n", ""},
		{"a delimiter", "-G deep|a|b|leaf --delimiter | test.ping --static", 0, "web1:\n    True\n", ""},
		{"an expression", "-E web.$ test.true --static", 0, "web1:\n    True\nweb2:\n    True\n", ""},
		{"a subset", "* test.echo one --subset 1 --out=newline_values_only", 0, "one\n", ""},
		{"a subset that has nothing", "* test.nosuch --subset 1", 2,
			"No minions matched the target. No command was sent, no jid was assigned.\n",
			"ERROR: No return received\n"},
		{"a preview of a group", "-N webs --preview-target --out=json --out-indent=-1", 0,
			`["web1", "web2"]` + "\n", ""},
		{"a preview of nothing", "db7 --preview-target", 2, "", "ERROR: No return received\n"},
		{"no summary with an outputter", "web1 test.retcode 3 --summary --out=quiet", 1, "",
			"ERROR: Minions returned with non-zero exit code\n"},
		{"failures do not count with --static", "web1 test.retcode 3 --static", 0, "web1:\n    True\n", ""},
		{"a batch with --static", "* test.ping -b 2 --static --out=txt", 0, "db1: True\nweb1: True\nweb2: True\n", ""},
		{"a batch with --static that ends early", "* test.retcode 3 -b 1 --failhard --static --out=txt", 0, "db1: True\n", ""},
		{"documentation of nobody", "-d nosuch test.ping", 2,
			"No minions matched the target. No command was sent, no jid was assigned.\n",
			"No minions found to gather docs from\n"},
		{"nobody, without waiting", "nosuch test.ping --async", 0,
			"No minions matched the target. No command was sent, no jid was assigned.\nExecuted command with job ID: 0\n", ""},
		{"a batch without a size", "* test.ping -b 0", 1,
			"Invalid batch data sent: 0\nData must be in the form of %10, 10% or 3\n", ""},
		{"few enough for a safe run", "web1 test.ping --batch-safe-limit 3", 0, "web1:\n    True\n", ""},
		{"codes of several functions", "web1 test.retcode,test.true 3, --out=quiet", 1, "",
			"ERROR: Minions returned with non-zero exit code\n"},
		{"metadata", "web1 test.ping --metadata={a:1}", 0, "web1:\n    True\n", ""},
		{"a jid first", "nosuch test.ping --show-jid", 2,
			"No minions matched the target. No command was sent, no jid was assigned.\n",
			"ERROR: No return received\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			argv := strings.Fields(tt.line)
			if strings.HasPrefix(tt.line, "* ") {
				argv[0] = "*"
			}
			stdout, stderr, code := s.run(t, "salt", argv)
			got := []any{code, sortedMinions(stdout), stderr}
			if d := cmp.Diff([]any{tt.code, tt.stdout, tt.stderr}, got); d != "" {
				t.Errorf("salt %s: code, stdout, stderr (-want +got):\n%s", tt.line, d)
			}
		})
	}
	t.Run("progress", func(t *testing.T) { testProgress(t, s) })
	t.Run("modules that cannot run", func(t *testing.T) { testNotices(t, s) })
	t.Run("verbose summary", func(t *testing.T) { testSummary(t, s) })
	t.Run("a result of salt-call reaches the master", func(t *testing.T) { testReturn(t, s) })
}

func sortedMinions(text string) string {
	if !strings.Contains(text, "web") {
		return text
	}
	return normal{anyOrder: true, ids: []string{"web1", "web2", "db1"}}.stdout(text)
}

func testSummary(t *testing.T, s *site) {
	s.accept(t, "gone1")
	defer os.Remove(filepath.Join(s.root, "m/pki/minions/gone1"))
	stdout, _, code := s.run(t, "salt", []string{"-L", "web1,gone1", "test.retcode", "2", "-t", "1",
		"--summary", "-v"})
	_, summary, _ := strings.Cut(stdout, "\n\n\n")
	line := strings.Repeat("-", 43) + "\n"
	want := line + "Summary\n" + line +
		"# of minions targeted: 2\n# of minions returned: 1\n# of minions that did not return: 1\n# of minions with errors: 1\n" +
		"Minions not connected: gone1\nMinions with failures: web1\n" + line
	if d := cmp.Diff(want, summary); d != "" || code != 1 {
		t.Errorf("code %d, summary (-want +got):\n%s", code, d)
	}
}

// testProgress compares the bar of --progress, as Salt 3006.18 draws it on a pipe, and the output
// after it.
func testProgress(t *testing.T, s *site) {
	const mark = "-------------------------------------------\n"
	summary := func(targeted, returned, failed int, more string) string {
		return fmt.Sprintf("\n\n%[1]sSummary\n%[1]s# of minions targeted: %[2]d\n# of minions returned: %[3]d\n"+
			"# of minions that did not return: %[4]d\n# of minions with errors: %[5]d\n%[6]s%[1]s",
			mark, targeted, returned, targeted-returned, failed, more)
	}
	const one = "  0% |                                   | Elapsed Time: T Returns: [0/1]\r" +
		"100% |###################################| Elapsed Time: T Returns: [1/1]\r"
	s.accept(t, "gone1")
	defer os.Remove(filepath.Join(s.root, "m/pki/minions/gone1"))
	for _, tt := range []struct{ name, line, stdout, stderr string }{
		{"two answer", "-L web1,web2 -p test.ping", summary(2, 2, 0, ""),
			"  0% |                                   | Elapsed Time: T Returns: [0/2]\r" +
				" 50% |#################                  | Elapsed Time: T Returns: [1/2]\r" +
				"100% |###################################| Elapsed Time: T Returns: [2/2]\r"},
		{"results have no part in the exit code", "web1 -p -v test.retcode 3",
			summary(1, 1, 1, "Minions with failures: web1\n"), one},
		{"--summary prints it again", "web1 -p --summary test.ping",
			summary(1, 1, 0, "") + summary(1, 1, 0, ""), one},
		{"an outputter does not", "web1 -p --summary --out=json test.ping", summary(1, 1, 0, ""), one},
		{"documentation is not printed", "web1 -p sys.doc test.ping", summary(1, 1, 0, ""), one},
		{"nobody answers", "gone1 -p test.ping -t 1", summary(1, 0, 0, ""), one[:strings.Index(one, "\r")+1]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := s.run(t, "salt", strings.Fields(tt.line))
			stderr = regexp.MustCompile(`\d:\d\d:\d\d`).ReplaceAllString(stderr, "T")
			if d := cmp.Diff([]any{0, tt.stdout, tt.stderr}, []any{code, stdout, stderr}); d != "" {
				t.Errorf("salt %s: code, stdout, stderr (-want +got):\n%s", tt.line, d)
			}
		})
	}
}

func testReturn(t *testing.T, s *site) {
	bus := s.master.Listen(t, "salt/job/")
	if stdout, stderr, code := s.run(t,
		"salt-call", []string{"test.arg", "1", "a=b", "--set-metadata", "{m: 1}"}); code != 0 {
		t.Fatalf("salt-call: %d\n%s%s", code, stdout, stderr)
	}
	e := testsalt.AwaitEvent(t, bus, "salt/job/")
	v, err := payload.UnmarshalText(e.Data, payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	m := v.(*data.Map)
	for name, want := range map[string]any{"id": "web2", "fun": "test.arg",
		"fun_args": []any{"1", "a=b"}, "retcode": int64(0), "metadata": data.NewMap("m", int64(1))} {
		if got := m.Value(name); !data.Equal(got, want) {
			t.Errorf("%s = %s, want %s", name, data.Repr(got), data.Repr(want))
		}
	}
	if m.Has("success") || m.Has("user") {
		t.Errorf("fields %v", m.Keys())
	}
}

// TestNotAccepted checks the behaviour while the minion's key is pending.
func TestNotAccepted(t *testing.T) {
	s := newSite(t)
	cfg := testsalt.MasterConfig(s.root + "/m")
	cfg.AutoAccept = false
	s.master = testsalt.StartMaster(t, cfg)
	s.write(t, "web2/etc/minion", "root_dir: "+s.root+"/web2\nid: web2\nmaster: 127.0.0.1\nlog_file: log\n")
	s.rewrite(t, "web2/etc/minion", map[string]any{"master_port": cfg.RetPort})
	stdout, _, code := s.run(t, "salt-call", []string{"test.ping"})
	if code != 2 || stdout != "Minion failed to authenticate with the master, has the minion key been accepted?\n" {
		t.Errorf("code %d, stdout %q", code, stdout)
	}
}

// TestInterrupted checks the output after Ctrl-C while a job runs and before there is one.
func TestInterrupted(t *testing.T) {
	s := startSite(t, vectors.Load(t, "10-cli.json"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := func() (code int, stdout, stderr string) {
		out, errs := &cancelling{cancel: cancel}, &strings.Builder{}
		code = cli.Salt(ctx, cli.Invocation{Args: []string{"-c", s.root + "/cli", "--show-jid",
			"web1", "test.sleep", "3"}, Env: s.env, Dir: s.root}, out, errs)
		return code, jid.ReplaceAllString(out.String(), "#"), jid.ReplaceAllString(errs.String(), "#")
	}
	code, stdout, stderr := run()
	want := "\nExiting gracefully on Ctrl-c\nThis job's jid is: #\nThe minions may not have all finished running and any remaining minions will return upon " +
		"completion. To look up the return data for this job later, run the following command:\n\nsalt-run jobs.lookup_jid #\n"
	if d := cmp.Diff([]any{0, "jid: #\n", want}, []any{code, stdout, stderr}); d != "" {
		t.Errorf("code, stdout, stderr (-want +got):\n%s", d)
	}
	code, stdout, stderr = run() // ctx has ended
	if d := cmp.Diff([]any{0, "", "\nExiting gracefully on Ctrl-c\n"}, []any{code, stdout, stderr}); d != "" {
		t.Errorf("before the job: code, stdout, stderr (-want +got):\n%s", d)
	}
}

// cancelling is a standard output whose first line ends the run.
type cancelling struct {
	strings.Builder
	cancel context.CancelFunc
}

func (c *cancelling) Write(p []byte) (int, error) {
	defer c.cancel()
	return c.Builder.Write(p)
}

// testNotices syncs a module in Python to a host without python3: standard error reports to the
// submitter that it does not run, and the result is Salt's.
func testNotices(t *testing.T, s *site) {
	t.Setenv("PATH", t.TempDir())
	for _, tt := range []struct{ name, line, stdout, stderr string }{
		{"told", "web1 saltutil.sync_modules refresh=False --out=json --out-indent=-1",
			`{"web1": ["modules.told"]}` + "\n",
			"[WARNING ] web1: These modules are in Python, and this host has no python3: salt://_modules/told.py."},
		{"static", "web1 saltutil.sync_modules refresh=False --static --out=json --out-indent=-1",
			`{"web1": ["modules.static"]}` + "\n",
			"[WARNING ] web1: These modules are in Python, and this host has no python3: salt://_modules/static.py."},
		{"batched", "web1 saltutil.sync_modules refresh=False -b 1 --out=txt",
			"\nExecuting run on ['web1']\n\n",
			"[WARNING ] web1: These modules are in Python, and this host has no python3: salt://_modules/batched.py."},
		{"quiet", "web1 saltutil.sync_modules refresh=False -l error --out=json --out-indent=-1",
			`{"web1": ["modules.quiet"]}` + "\n", ""},
		{"again", "web1 test.ping --out=json --out-indent=-1", `{"web1": true}` + "\n", ""},
	} {
		if !strings.Contains(tt.line, "ping") {
			s.write(t, "srv/salt/_modules/"+tt.name+".py", "# "+tt.name+"\n")
		}
		stdout, stderr, code := s.run(t, "salt", strings.Fields(tt.line))
		if code != 0 || !strings.HasPrefix(stdout, tt.stdout) ||
			!strings.HasPrefix(stderr, tt.stderr) || (tt.stderr == "") != (stderr == "") {
			t.Errorf("%s: code %d, stdout %q, stderr %q; want 0, %q, %q", tt.name, code, stdout,
				stderr, tt.stdout, tt.stderr)
		}
	}
}
