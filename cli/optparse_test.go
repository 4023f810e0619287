package cli

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/brineproject/brine/cli/flags"
	"github.com/brineproject/brine/cli/flags/urfave"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/version"
)

func noEnv(string) string { return "" }

// ofRelease returns a golden text of 3006.0 with the version of the current release.
func ofRelease(text string) string {
	return strings.Replace(text, " 3006.0 (", " "+version.Salt()+" (", 1)
}

// TestGoldenOptparse compares the parsed arguments with those of the original parsers, before any
// configuration.
func TestGoldenOptparse(t *testing.T) {
	src, err := os.ReadFile("testdata/optparse.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, v.([]any)) {
		name := c.Text("program") + " " + strings.Join(data.TextsOf(c.Value("argv")), " ")
		t.Run(name, func(t *testing.T) {
			c := c.On(t)
			c.Only("program", "argv", "columns", "exit_code", "stdout", "stderr", "values", "args", "given")
			for _, read := range []flags.Reader{flags.Read, urfave.Read} {
				checkOptparse(t, c, read)
			}
		})
	}
}

func checkOptparse(t *testing.T, c *vectors.Case, read flags.Reader) {
	env := func(name string) string {
		if name == "COLUMNS" && c.Has("columns") {
			return c.Text("columns")
		}
		return ""
	}
	p := programs()[c.Text("program")](env)
	l := &Line{in: Invocation{Env: env, Flags: read}, program: p, values: &data.Map{},
		given: map[string]bool{}}
	err := l.read(data.TextsOf(c.Value("argv")))
	var exit *Exit
	if errors.As(err, &exit) {
		if !c.Has("exit_code") {
			t.Fatalf("exit: %v", exit)
		}
		exit.Stdout = withoutOwn(exit.Stdout)
		want := Exit{int(c.Int("exit_code")), ofRelease(c.Text("stdout")), c.Text("stderr")}
		if d := cmp.Diff(want, *exit); d != "" {
			t.Errorf("exit (-want +got):\n%s", d)
		}
		return
	}
	if err != nil || c.Has("exit_code") {
		t.Fatalf("error %v, want exit code %v", err, c.Map.Value("exit_code"))
	}
	checkValues(t, c, l)
}

// withoutOwn removes the options that Salt does not have from a help text.
func withoutOwn(help string) string {
	help = beforeKeepalive(help)
	before, own, ok := strings.Cut(help, "\n  "+ownTitle+":\n")
	if !ok {
		return help
	}
	_, after, _ := strings.Cut(own, "\n\n")
	return before + "\n" + after
}

// beforeKeepalive removes from a help text what Salt has had since the release of the golden texts:
// --disable-keepalive, and the warning of insecure levels of the log.
func beforeKeepalive(help string) string {
	help = regexp.MustCompile(`(?m)^  --disable-keepalive\b.*\n(?: {6,}.*\n)*`).ReplaceAllString(help, "")
	insecure := strings.Join(strings.Fields(insecureLevels), `\s+`)
	return regexp.MustCompile(`\s+`+insecure).ReplaceAllString(help, "")
}

// known returns the options of a group that the release of the vectors has.
func (g *group) known() []option {
	return slices.DeleteFunc(g.shown(), func(o option) bool { return o.dest == "disable_keepalive" })
}

// The help has what Salt 3006.18 says, in its places.
func TestHelpOfTheRelease(t *testing.T) {
	for _, name := range []string{"salt-master", "salt-minion", "salt-syndic", "salt-api"} {
		help := programs()[name](noEnv).help(defaultColumns)
		salts, _, _ := strings.Cut(help, "\n  "+ownTitle+":\n")
		if !strings.Contains(salts, "\n  --disable-keepalive   ") {
			t.Errorf("%s --help has no --disable-keepalive among the first options:\n%s", name, help)
		}
		if n := strings.Count(salts, "'error', 'critical', 'quiet'. Default: 'warning'.\n"+
			"                        The following log levels are INSECURE and may log\n"+
			"                        sensitive data: all, debug, garbage, profile, trace\n"); n != 2 {
			t.Errorf("%s --help names the insecure levels %d times, want 2:\n%s", name, n, help)
		}
	}
}

// The help ends with the options that Salt does not have.
func TestHelpShowsOwnOptions(t *testing.T) {
	for name, want := range map[string]string{"salt": "--queue[=EXPIRY]",
		"salt-key": "--rotate-master-key[=DAYS]", "salt-master": "--check-config",
		"salt-api": "--check-config", "salt-minion": "--check-config"} {
		help := programs()[name](noEnv).help(defaultColumns)
		_, own, _ := strings.Cut(help, "\n  Brine Options:\n")
		if !strings.Contains(own, "    "+want) || strings.Count(help, want) != 1 {
			t.Errorf("%s --help has no %s at its end:\n%s", name, want, help)
		}
	}
	if help := programs()["salt-run"](noEnv).help(defaultColumns); strings.Contains(help, ownTitle) {
		t.Errorf("salt-run has no options of its own:\n%s", help)
	}
}

// For a misspelt long option the message adds the likely one, after Salt's words.
func TestMisspeltOptions(t *testing.T) {
	for given, want := range map[string]string{"--loacl": "no such option: --loacl (--local?)\n",
		"--zzzzzz": "no such option: --zzzzzz\n",
		"--id-":    "no such option: --id- (--id?)\n"} {
		l := &Line{in: Invocation{Env: noEnv}, program: callProgram(noEnv), values: &data.Map{},
			given: map[string]bool{}}
		err := l.read(strings.Fields(given))
		if exit, ok := errors.AsType[*Exit](err); !ok || !strings.HasSuffix(exit.Stderr, want) {
			t.Errorf("salt-call %s: %v, want %s", given, err, want)
		}
	}
}

func checkValues(t *testing.T, c *vectors.Case, l *Line) {
	t.Helper()
	if d := cmp.Diff(data.TextsOf(c.Value("args")), l.Args, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("arguments (-want +got):\n%s", d)
	}
	var given []string
	for k := range l.given {
		given = append(given, k)
	}
	slices.Sort(given)
	if d := cmp.Diff(data.TextsOf(c.Value("given")), given, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("options given (-want +got):\n%s", d)
	}
	for k, want := range c.Value("values").(*data.Map).All() {
		if got := l.values.Value(k); !data.Equal(got, want) {
			t.Errorf("%v = %s, want %s", k, data.Repr(got), data.Repr(want))
		}
	}
	for _, o := range l.program.options() { // what is given and not named there has its default
		got, set := l.values.Get(o.dest)
		if set && !c.Map.Value("values").(*data.Map).Has(o.dest) && !data.Equal(got, o.def) {
			t.Errorf("%s = %s, want the default %s", o.dest, data.Repr(got), data.Repr(o.def))
		}
	}
}

// TestVectorCLIOptions compares the tables with every option of the original's parsers.
func TestVectorCLIOptions(t *testing.T) {
	f := vectors.Load(t, "10-cli-options.json")
	vectors.Later(t, f, []string{"programs"}, nil)
	for _, c := range f.Section("programs") {
		t.Run(c.Text("program"), func(t *testing.T) {
			c := c.On(t)
			c.Only("program", "usage", "epilog", "option_count", "groups")
			table, ok := programs()[c.Text("program")]
			if !ok {
				t.Fatal("no such program of ours")
			}
			p := table(noEnv)
			if got := strings.TrimSuffix(p.usageLine(), "\n"); got != c.Text("usage") {
				t.Errorf("usage %q, want %q", got, c.Text("usage"))
			}
			shown := 0
			for i := range p.groups {
				shown += len(p.groups[i].known())
			}
			if got, want := int64(shown), c.Int("option_count"); got != int64(want) {
				t.Errorf("%d options, want %d", got, want)
			}
			checkGroups(t, p, c.Value("groups").([]any))
		})
	}
}

func checkGroups(t *testing.T, p *program, groups []any) {
	if len(groups) != len(p.groups) {
		t.Fatalf("%d groups, want %d", len(p.groups), len(groups))
	}
	for i, g := range groups {
		g := g.(*data.Map)
		own := p.groups[i]
		if own.title != g.Text("group") {
			t.Errorf("group %q, want %q", own.title, g.Text("group"))
		}
		options := g.Value("options").([]any)
		shown := own.known()
		if len(options) != len(shown) {
			t.Fatalf("group %q has %d options, want %d", own.title, len(shown), len(options))
		}
		for j, o := range vectors.Cases(t, options) {
			t.Run(shown[j].names, func(t *testing.T) { checkOption(t, p, &shown[j], o.On(t)) })
		}
	}
}

func checkOption(t *testing.T, p *program, o *option, c *vectors.Case) {
	c.Only("opts", "dest", "action", "type", "nargs", "default", "choices", "metavar", "hidden",
		"takes_value")
	got := data.NewMap("opts", list(strings.Fields(o.names)), "dest", orNil(o.dest),
		"action", o.action(), "type", o.typeName(), "nargs", nil, "default", o.def, "choices", nil,
		"metavar", orNil(o.metavar), "hidden", false, "takes_value", o.kind.takesValue())
	if o.kind.takesValue() {
		got.Set("nargs", int64(1))
	}
	if o.choices != nil {
		got.Set("choices", list(o.choices))
	}
	if !data.Equal(got, c.Map) {
		t.Errorf("got  %s\nwant %s", data.Repr(got), data.Repr(c.Map))
	}
	parseDefault(t, p, o)
}

// parseDefault checks that the option is read under each of its names.
func parseDefault(t *testing.T, p *program, o *option) {
	if o.dest == "" {
		return
	}
	values := map[kind]string{integer: "7", real: "1.5", choice: "info", text: "v", repeated: "v",
		logFile: "/v"}
	want := map[kind]any{
		integer: int64(7), real: 1.5, choice: "info", text: "v", repeated: []any{"v"},
		logFile: "/v", boolean: true, negated: false, optional: "yes",
	}
	for name := range strings.FieldsSeq(o.names) {
		l := &Line{in: Invocation{Env: noEnv}, program: p, values: &data.Map{}, given: map[string]bool{}}
		args := []string{"target", name}
		if o.kind.takesValue() {
			args = append(args, values[o.kind])
		}
		if err := l.read(args); err != nil || !data.Equal(l.Value(o.dest), want[o.kind]) || !l.Given(o.dest) {
			t.Errorf("%v: %s = %v, %v", args, o.dest, l.Value(o.dest), err)
		}
	}
}

func (o *option) action() string {
	return map[kind]string{boolean: "store_true", negated: "store_false", repeated: "append",
		logFile: "callback", showVersion: "version", showHelp: "help", text: "store",
		integer: "store", real: "store", choice: "store"}[o.kind]
}

func (o *option) typeName() any {
	return map[kind]any{text: "string", repeated: "string", logFile: "string", integer: "int",
		real: "float", choice: "choice"}[o.kind]
}

func list(words []string) []any {
	l := []any{}
	for _, w := range words {
		l = append(l, w)
	}
	return l
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func FuzzCommandLine(f *testing.F) {
	f.Add(0, "web1\x00test.ping\x00-vt5")
	f.Add(1, "--log-level\x00debug\x00-l\x00un")
	f.Add(2, "-m\x00a,b\x00--\x00-5")
	f.Add(0, "-d\x00--state_o=x\x00a,b\x00,\x00-é")
	f.Fuzz(func(t *testing.T, program int, line string) {
		dir := t.TempDir()
		in := Invocation{Args: strings.Split(line, "\x00"), Dir: dir, Stdin: strings.NewReader("web1\n-v\n"),
			Env: func(name string) string {
				if name == "HOME" {
					return dir
				}
				return ""
			}}
		l, err := fuzzed(program, in)
		var exit *Exit
		switch {
		case errors.As(err, &exit):
			if exit.Stdout == "" && exit.Stderr == "" {
				t.Error("an exit without a word")
			}
		case err != nil:
			t.Errorf("neither options nor an exit: %v", err)
		case len(l.Args) > len(in.Args)+3:
			t.Errorf("%d arguments of %d", len(l.Args), len(in.Args))
		default:
			l.Merge(data.NewMap("timeout", int64(5), "output_indent", nil))
		}
	})
}

func fuzzed(program int, in Invocation) (*Line, error) {
	switch program % 7 {
	case 0:
		if o, err := ParseSalt(in); err == nil {
			return o.Line, nil
		} else {
			return nil, err
		}
	case 1:
		o, err := ParseKey(in)
		if err != nil {
			return nil, err
		}
		return o.Line, nil
	case 2:
		o, err := ParseCall(in)
		if err != nil {
			return nil, err
		}
		return o.Line, nil
	case 3:
		o, err := ParseRun(in)
		if err != nil {
			return nil, err
		}
		return o.Line, nil
	case 4:
		o, err := ParseCp(in)
		if err != nil {
			return nil, err
		}
		return o.Line, nil
	}
	if program%7 == 5 {
		o, err := ParseAPI(in)
		if err != nil {
			return nil, err
		}
		return o.Line, nil
	}
	o, err := ParseMaster(in)
	if err != nil {
		return nil, err
	}
	return o.Line, nil
}

func BenchmarkParseSalt(b *testing.B) {
	in := Invocation{Args: []string{"-c", b.TempDir(), "-G", "os:Debian", "-vt5", "cmd.run",
		"uptime"}, Dir: b.TempDir(), Env: noEnv}
	for b.Loop() {
		if _, err := ParseSalt(in); err != nil {
			b.Fatal(err)
		}
	}
}

// programs returns the table of a program by its name.
func programs() map[string]func(environ) *program {
	return map[string]func(environ) *program{
		"salt":        saltProgram,
		"salt-key":    keyProgram,
		"salt-call":   callProgram,
		"salt-run":    runProgram,
		"salt-cp":     cpProgram,
		"salt-master": masterProgram,
		"salt-minion": minionProgram,
		"salt-syndic": syndicProgram,
		"salt-api":    apiProgram,
	}
}
