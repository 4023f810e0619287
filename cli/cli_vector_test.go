package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/saltcall"
	"github.com/brineproject/brine/cli/saltrun"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsalt"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/version"
)

const fixture = "/tmp/s" // where the original ran

// A site is the fixture of the vectors, laid out below a directory and running.
type site struct {
	root   string
	user   string // the user who runs the test
	ids    []string
	master *testsalt.Master
	later  map[string]string // see releaseTexts
}

func newSite(t *testing.T, ids ...string) *site {
	t.Helper()
	return &site{root: testsalt.Dir(t), user: userName(t), ids: ids}
}

// userName returns the name of the user who runs the test.
func userName(t *testing.T) string {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return me.Username
}

func startSite(t *testing.T, f *vectors.File) *site {
	t.Helper()
	s := newSite(t, "web1", "web2", "db1")
	for name, text := range f.Top.Value("fixture_files").(*data.Map).All() {
		s.write(t, strings.TrimPrefix(name.(string), fixture), text.(string))
	}
	for _, name := range []string{"data.bin", "exact.bin", "text.txt"} { // the capture only has them as files
		s.write(t, "srv/salt/sub/"+name, "")
	}
	if err := os.MkdirAll(filepath.Join(s.root, "srv/salt/_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.write(t, "home/of.txt", "web1:\n    True\n") // of a run that is not among the cases
	cfg := s.masterConfig(t)
	cfg.RetPort, cfg.PublishPort, cfg.AutoAccept = 0, 0, true
	s.master = testsalt.StartMaster(t, cfg)
	s.rewrite(t, "cli/master", map[string]any{
		"ret_port": cfg.RetPort, "publish_port": cfg.PublishPort, "gather_job_timeout": 1, "user": s.user,
	})
	bus := s.master.Listen(t, "salt/minion/")
	for _, id := range s.ids {
		s.rewrite(t, id+"/etc/minion",
			map[string]any{"master_port": cfg.RetPort, "publish_port": cfg.PublishPort})
		mc, _, err := config.LoadMinion(filepath.Join(s.root, id, "etc"), s.env)
		if err != nil {
			t.Fatal(err)
		}
		testsalt.StartMinion(t, mc)
		testsalt.AwaitEvent(t, bus, "salt/minion/"+id+"/start")
	}
	return s
}

func (s *site) masterConfig(t *testing.T) *config.Master {
	t.Helper()
	cfg, _, err := config.LoadMaster(filepath.Join(s.root, "cli"), s.env)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func (s *site) env(name string) string {
	return map[string]string{"HOME": s.root + "/home", "COLUMNS": "80", "PATH": os.Getenv("PATH")}[name]
}

func (s *site) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, fixture, s.root)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// rewrite sets options in a configuration file.
func (s *site) rewrite(t *testing.T, name string, options map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.root, name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = slices.DeleteFunc(lines,
		func(l string) bool { n, _, _ := strings.Cut(l, ":"); _, ok := options[n]; return ok })
	for k, v := range options {
		lines = append(lines, fmt.Sprintf("%s: %v", k, v))
	}
	s.write(t, name, strings.Join(lines, "\n")+"\n")
}

// awaitPresence waits until the master has published the list of connected minions.
func (s *site) awaitPresence(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ids, err := presence.Read(s.master.Config.CacheDir)
		if err == nil && len(ids) == len(s.ids) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("connected are %v, %v", ids, err)
		}
	}
}

// accept gives minion id the key of another, so that it is expected and never answers.
func (s *site) accept(t *testing.T, id string) {
	t.Helper()
	dir := filepath.Join(s.root, "m", "pki", "minions")
	key, err := os.ReadFile(filepath.Join(dir, "web1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, id), key, 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs one command line and returns what it printed, with the paths and the port of the
// original.
func (s *site) run(t *testing.T, program string, argv []string) (stdout, stderr string, code int) {
	t.Helper()
	args := make([]string, len(argv))
	for i, a := range argv {
		args[i] = strings.ReplaceAll(a, fixture, s.root)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	in := cli.Invocation{Env: s.env, Dir: s.root, Stdin: strings.NewReader("")}
	switch program {
	case "salt":
		in.Args = append([]string{"-c", s.root + "/cli"}, args...)
		code = cli.Salt(ctx, in, &out, &errs)
	case "salt-call":
		in.Args = append([]string{"-c", s.root + "/web2/etc"}, args...)
		code = saltcall.Run(ctx, in, &out, &errs)
	case "salt-run":
		in.Args = append([]string{"-c", s.root + "/cli"}, args...)
		code = saltrun.Run(ctx, in, &out, &errs)
	default:
		t.Fatalf("program %s", program)
	}
	return s.original(out.String()), s.original(errs.String()), code
}

func (s *site) original(text string) string {
	text = strings.ReplaceAll(text, s.root, fixture)
	if id := s.master.Config.ID; id != "" {
		text = strings.ReplaceAll(text, id, "node1.example.test_master")
	}
	user := regexp.MustCompile(`(__pub_user(?:\x1b\[[0-9;]*m|\W)*)` + regexp.QuoteMeta(s.user) + `\b`)
	text = user.ReplaceAllString(text, "${1}root") // for whom the original ran
	// its digits may stand within a job id
	port := regexp.MustCompile(`\b` + strconv.Itoa(s.master.Config.RetPort) + `\b`)
	return port.ReplaceAllString(text, "4606")
}

// releaseTexts returns the output of salt of 3006.18 for command lines whose texts differ from
// those of 3006.0, by section and argument: it keeps __kwarg__ in __pub_arg.
func releaseTexts(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("testdata/release.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Section string
		Argv    []string
		Stdout  string
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range cases {
		all[c.Section+"\n"+strings.Join(c.Argv, "\n")] = c.Stdout
	}
	return all
}

// TestVectorCLI runs the command lines of the vectors against a Brine master and minions.
func TestVectorCLI(t *testing.T) {
	t.Setenv("SHELL", "/bin/bash") // as it was where the vectors were captured
	f := vectors.Load(t, "10-cli.json")
	known := []string{"outputters_one", "outputters_all", "colour", "functions", "cmd", "modules",
		"cli_options", "salt_call", "salt_run", "batch", "offline"}
	vectors.Later(t, f, known, map[string]string{"token": "external authentication"})
	s := startSite(t, f)
	s.later = releaseTexts(t)
	count := map[string]int{}
	defer func() { t.Logf("cases: %v", count) }()
	for _, section := range known {
		switch section {
		case "offline":
			s.accept(t, "gone1")
		case "salt_run":
			s.awaitPresence(t)
		}
		t.Run(section, func(t *testing.T) {
			for _, c := range f.Section(section) {
				argv := data.TextsOf(c.Value("argv"))
				if r, ok := find(elsewhereCases(), section, argv); ok {
					count["elsewhere: "+r.why]++
					continue
				}
				r, differs := find(differentCases(), section, argv)
				if differs {
					count["different"]++
				} else {
					count["same"]++
				}
				t.Run(strings.Join(argv, " "), func(t *testing.T) { s.check(t, c.On(t), r, differs) })
			}
		})
	}
}

// check runs a case. For one that differs it still compares the first lines, the exit code and
// standard error, as far as given.
func (s *site) check(t *testing.T, c *vectors.Case, r rule, differs bool) {
	if section(t) == "offline" {
		need.Time(t, "it waits for a minion that is away")
		t.Parallel()
	}
	c.Only("program", "argv", "stdin", "exit_code", "stdout", "stderr", "volatile", "files_after",
		"seq", "minions_in_any_order", "python_traceback", "note")
	if strings.Join(data.TextsOf(c.Value("argv")), " ") == "web1 data.get k" {
		s.run(t, "salt", []string{"web1", "data.update", "k", "v"}) // a run that is not among the cases
	}
	stdout, stderr, code := s.run(t, c.Text("program"), data.TextsOf(c.Value("argv")))
	stdout, stderr = withoutReasons(stdout, stderr)
	n := normal{volatile: data.TextsOf(c.Map.Value("volatile")),
		anyOrder:  c.Map.Value("minions_in_any_order") == true,
		traceback: c.Map.Value("python_traceback") == true, lines: section(t) == "batch",
		ids: append([]string{"gone1", "nosuch"}, s.ids...)}
	if differs && r.lines == 0 {
		if n.stdout(c.Map.Text("stdout")) == n.stdout(stdout) && code == int(c.Int("exit_code")) {
			t.Errorf("this case does not differ: take it off the table")
		}
		return
	}
	if code != int(c.Int("exit_code")) {
		t.Errorf("exit code %d, want %d", code, c.Int("exit_code"))
	}
	original := strings.ReplaceAll(c.Map.Text("stdout"), "3006.0\n", version.Salt()+"\n")
	original = strings.ReplaceAll(original, " 3006.0 (", " "+version.Salt()+" (")
	if later, ok := s.later[section(t)+"\n"+strings.Join(data.TextsOf(c.Value("argv")), "\n")]; ok {
		original = later
	}
	if section(t) == "offline" {
		original = printedByBrineMaster(original)
	}
	want, got := n.stdout(original), n.stdout(saltsHelp(stdout))
	if differs {
		want, got = firstLines(want, r.lines), firstLines(got, r.lines)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("stdout (-want +got):\n%s", d)
	}
	if d := cmp.Diff(n.stderr(c.Map.Text("stderr")), n.stderr(stderr)); d != "" {
		t.Errorf("stderr (-want +got):\n%s", d)
	}
	s.checkFiles(t, c)
	if t.Failed() {
		t.Logf("stdout:\n%s\nstderr:\n%s", stdout, stderr)
	}
}

// withoutReasons removes what Brine's master and programs print in addition to Salt's.
func withoutReasons(stdout, stderr string) (string, string) {
	stdout = regexp.MustCompile(`\n *No such minion: the master has no accepted key of this id\.`).ReplaceAllString(stdout, "")
	return stdout, strings.Replace(stderr,
		`compound target "nosuch and": malformed target: it ends where a condition is expected`+"\n", "", 1)
}

// printedByBrineMaster returns the expected output if the master knows that gone1 is not connected:
// Salt knows that only for minions with cached grains.
func printedByBrineMaster(text string) string {
	text = regexp.MustCompile(`(?s)'(Minion did not return. )\[No response\].*?lookup_jid \d{20}'`).ReplaceAllString(text, "$1[Not connected]")
	return regexp.MustCompile(`(?s)\[No response\].*?lookup_jid \d{20}`).ReplaceAllString(text,
		"[Not connected]")
}

func (s *site) checkFiles(t *testing.T, c *vectors.Case) {
	t.Helper()
	files, _ := c.Map.Value("files_after").(*data.Map)
	for path, want := range files.All() {
		got, err := os.ReadFile(filepath.Join(s.root, strings.TrimPrefix(path.(string), fixture)))
		if err != nil || string(got) != want.(*data.Map).Text("text") {
			t.Errorf("file %s: %q, %v, want %v", path, got, err, want)
		}
	}
}

func firstLines(s string, n int) string {
	lines := strings.SplitAfter(s, "\n")
	return strings.Join(lines[:min(n, len(lines))], "")
}

func section(t *testing.T) string { return strings.Split(t.Name(), "/")[1] }

// normal normalizes the parts of two outputs that may differ.
type normal struct {
	volatile            []string
	anyOrder, traceback bool
	lines               bool // the lines may come in any order: in a batch a free place is filled at once
	ids                 []string
}

var (
	jid  = regexp.MustCompile(`\d{20}`)
	temp = regexp.MustCompile(`__salt\.tmp\.\w+`)
)

const elapsed = "the second element (seconds) of the returned pair"

func (n normal) stdout(text string) string {
	for _, v := range n.volatile {
		if v == elapsed {
			v = `(?m)^    - \d[\d.e-]*$`
		}
		text = regexp.MustCompile(v).ReplaceAllString(text, "#")
	}
	text = jid.ReplaceAllString(text, "#") // within escapes it is no separate word
	text = temp.ReplaceAllString(text, "__salt.tmp.#")
	if before, rest, ok := strings.Cut(text, "Traceback (most recent call last):"); n.traceback && ok {
		lines := strings.Split(strings.TrimSpace(rest), "\n")
		text = before + "…" + strings.TrimSpace(lines[len(lines)-1])
	}
	switch {
	case n.anyOrder && n.lines:
		text = strings.Join(slices.Sorted(strings.Lines(text)), "")
	case n.anyOrder:
		text = n.sorted(text)
	}
	return text
}

// sorted sorts the blocks of minions; the others keep their place.
func (n normal) sorted(text string) string {
	var blocks []string
	for line := range strings.Lines(text) {
		head := line[0] != ' ' && line[0] != '}'
		if head || len(blocks) == 0 {
			blocks = append(blocks, line)
		} else {
			blocks[len(blocks)-1] += line
		}
	}
	var at []int
	var own []string
	for i, b := range blocks {
		if slices.ContainsFunc(n.ids, func(id string) bool { return strings.Contains(b, id) }) {
			at, own = append(at, i), append(own, sortedObject(b))
		}
	}
	slices.Sort(own)
	for i, k := range at {
		blocks[k] = own[i]
	}
	return strings.Join(blocks, "")
}

// sortedObject sorts the lines of a JSON object of one level.
func sortedObject(b string) string {
	if !strings.HasPrefix(b, "{\n") {
		return b
	}
	lines := strings.Split(strings.ReplaceAll(b, ",\n", "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// stderr removes log lines and Python's warnings.
func (n normal) stderr(text string) string {
	if n.traceback {
		text, _, _ = strings.Cut(text, "[ERROR   ] ")
	}
	for _, v := range n.volatile {
		text = regexp.MustCompile(v).ReplaceAllString(text, "")
	}
	var kept strings.Builder
	logged := false
	for line := range strings.Lines(text) {
		logged = strings.HasPrefix(line, "[") || logged && !strings.HasPrefix(line, "ERROR: ")
		if !logged && !strings.Contains(line, "DeprecationWarning: ") &&
			!strings.HasPrefix(line, "  import ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// A rule selects cases by their section and their arguments, or by the beginning of these if it
// ends in a space or a dot.
type rule struct {
	section, argv, why string
	lines              int // number of lines of standard output that must still match; 0 compares nothing
}

// elsewhereCases are covered by tests of other packages: they need a job of the capture, or start
// the program itself.
func elsewhereCases() []rule {
	return []rule{
		{section: "salt_run", argv: "jobs.print_job 20230102030405060708",
			why: "a job of the capture; runners/jobs tests it"},
		{section: "salt_run", argv: "jobs.list_job 20230102030405060708",
			why: "a job of the capture; runners/jobs tests it"},
		{section: "salt_run", argv: "jobs.lookup_jid 20230102030405060708 ",
			why: "a job of the capture; runners/jobs tests it"},
		{section: "salt_run", argv: "test.arg --async",
			why: "starts the program itself; cli/saltrun tests it"},
	}
}

// differentCases are those in which these programs differ from Salt on purpose.
func differentCases() []rule {
	const (
		docs     = "the documentation of functions is our own"
		compound = "a function that fails makes a compound command fail, as it does alone"
		modules  = "the list holds the modules there are"
		auto     = "there is no eauth that lets everybody in; TestExternalAuthentication has the texts of those that there are"
	)
	return []rule{
		{"outputters_one", "--out=dson ",
			"there is no outputter dson: nested takes its place, as for any name that is unknown", 0},
		{"functions", "web1 test.not_loaded", modules, 1},
		{"functions", "web1 test", docs, 3},
		{"functions", "web1 test.echo a b c", docs, 2},
		{"functions", "web1 test.fib", docs, 2},
		{"modules", "web1 sys.list_modules ", modules, 1},
		{"modules", "web1 sys.doc test.ping", docs, 1},
		{"modules", "web1 -d test.ping", docs, 1},
		{"cli_options", "web1 test.exception,test.ping ", compound, 0},
		{"cli_options", "web1 test.ping -a auto ", auto, 0},
		{"cli_options", "web1 cmd.run id -a auto ", auto, 0},
		{"cli_options", "web1 test.ping -a nosuch ", "the list holds the eauth types there are", 1},
		{"salt_call", "--local test.echo", docs, 1},
		{"salt_call", "--local test.echo a b", docs, 1},
	}
}

// find returns the rule for a case.
func find(rules []rule, section string, argv []string) (rule, bool) {
	line := strings.Join(argv, " ")
	for _, r := range rules {
		if r.section == section && line == r.argv {
			return r, true
		}
	}
	for _, r := range rules {
		last := r.argv[len(r.argv)-1]
		if r.section == section && (last == '.' || last == ' ') && strings.HasPrefix(line, r.argv) {
			return r, true
		}
	}
	return rule{}, false
}

// saltsHelp removes the options that Salt does not have from a help text.
func saltsHelp(text string) string {
	text = cli.BeforeKeepalive(text)
	return regexp.MustCompile(`\n  Brine Options:\n(?: .*\n)+`).ReplaceAllString(text, "")
}
