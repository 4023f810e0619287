package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/internal/test/vectors"
)

// TestGoldenParse compares whole runs of the original's parsers: environment, Saltfile, standard
// input, the configuration before and after, and the texts. /ROOT stands for the scratch directory.
func TestGoldenParse(t *testing.T) {
	src, err := os.ReadFile("testdata/parse.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases(t, v.([]any)) {
		t.Run(c.Name+" "+c.Text("program")+" "+strings.Join(data.TextsOf(c.Value("argv")), " "),
			func(t *testing.T) {
				c := c.On(t)
				c.Only("program", "argv", "conf", "files", "env", "stdin", "exit_code", "stdout",
					"stderr", "options", "config", "args")
				root := t.TempDir()
				c.Map = inRoot(c.Map, root).(*data.Map)
				layOut(t, root, c.Value("files").(*data.Map))
				checkParse(t, c, root)
			})
	}
}

// inRoot returns v with /ROOT replaced by the scratch directory in all texts.
func inRoot(v any, root string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "/ROOT", root)
	case []any:
		l := []any{}
		for _, e := range v {
			l = append(l, inRoot(e, root))
		}
		return l
	case *data.Map:
		m := &data.Map{}
		for k, e := range v.All() {
			m.Set(k, inRoot(e, root))
		}
		return m
	}
	return v
}

func layOut(t *testing.T, root string, files *data.Map) {
	for _, dir := range []string{"home", "work", "conf"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files.All() {
		path := filepath.Join(root, name.(string))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content.(string)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func checkParse(t *testing.T, c *vectors.Case, root string) {
	env := c.Value("env").(*data.Map).Clone()
	env.Set("HOME", filepath.Join(root, "home"))
	in := Invocation{Args: data.TextsOf(c.Value("argv")), Dir: filepath.Join(root, "work"),
		Env:   func(k string) string { return env.Text(k) },
		Stdin: strings.NewReader(c.Map.Text("stdin"))}
	p, err := parseAny(c.Text("program"), in)
	var exit *Exit
	if errors.As(err, &exit) {
		// Salt ignores it
		if args := data.TextsOf(c.Value("argv")); c.Text("program") == "salt-master" &&
			args[len(args)-1] == "x" {
			if exit.Code != ExitUsage || !strings.Contains(exit.Stderr, `no argument "x"`) {
				t.Errorf("exit: %v", exit)
			}
			return
		}
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
	warnings := c.Text("stderr")
	if paths.IsDir("/etc/salt") { // the original had none
		warnings = strings.ReplaceAll(warnings, "WARNING: CONFIG '/etc/salt' directory does not exist.\n", "")
	}
	if p.line.Warnings != warnings || p.line.Preface != c.Text("stdout") {
		t.Errorf("warnings %q and %q, want %q and %q", p.line.Warnings, p.line.Preface, warnings,
			c.Text("stdout"))
	}
	config := data.NewMap("verify_env", false, "log_level", "warning", "log_level_logfile", nil,
		"user", "root")
	config.Update(c.Value("conf").(*data.Map))
	p.line.Merge(config)
	checkMerged(t, c, p, config)
}

func checkMerged(t *testing.T, c *vectors.Case, p parsed, config *data.Map) {
	for dest, want := range c.Value("options").(*data.Map).All() {
		if dest == "module_dirs" { // Salt forgets the absolute paths that it made
			continue
		}
		if got := p.line.Value(dest.(string)); !data.Equal(got, want) {
			t.Errorf("option %v = %s, want %s", dest, data.Repr(got), data.Repr(want))
		}
	}
	for k, want := range c.Value("config").(*data.Map).All() {
		switch k {
		case "module_dirs", "selected_output_option":
			continue
		case "tgt", "fun", "arg", "src", "dest", "selected_target_option":
			if got := p.meaning(k.(string)); !data.Equal(got, plainArgs(want)) {
				t.Errorf("%v = %s, want %s", k, data.Repr(got), data.Repr(plainArgs(want)))
			}
			continue
		}
		if got := config.Value(k); !data.Equal(got, want) {
			t.Errorf("config %v = %s, want %s", k, data.Repr(got), data.Repr(want))
		}
	}
}

// plainArgs reverts the parsing of arguments, which is not done here.
func plainArgs(v any) any {
	switch v := v.(type) {
	case []any:
		l := []any{}
		for _, e := range v {
			l = append(l, plainArgs(e))
		}
		return l
	case *data.Map:
		for k, e := range v.All() {
			if k != "__kwarg__" {
				return data.Str(k) + "=" + data.Str(e)
			}
		}
	case int64:
		return data.Str(v)
	}
	return v
}

// parsed is a command line of any program, with the changes of Salt's configuration.
type parsed struct {
	line    *Line
	meaning func(key string) any
}

func parseAny(program string, in Invocation) (parsed, error) {
	switch program {
	case "salt":
		o, err := ParseSalt(in)
		if err != nil {
			return parsed{}, err
		}
		return parsed{o.Line, o.meaning}, nil
	case "salt-cp":
		o, err := ParseCp(in)
		if err != nil {
			return parsed{}, err
		}
		return parsed{o.Line, func(k string) any {
			return map[string]any{"tgt": o.Target, "src": list(o.Sources), "dest": o.Dest,
				"selected_target_option": kindOrNil(o.TargetKind)}[k]
		}}, nil
	case "salt-call":
		o, err := ParseCall(in)
		if err != nil {
			return parsed{}, err
		}
		return parsed{o.Line, o.Call.meaning}, nil
	case "salt-run":
		o, err := ParseRun(in)
		if err != nil {
			return parsed{}, err
		}
		return parsed{o.Line, o.Call.meaning}, nil
	case "salt-key":
		o, err := ParseKey(in)
		if err != nil {
			return parsed{}, err
		}
		return parsed{line: o.Line}, nil
	case "salt-minion":
		o, err := ParseMinion(in)
		if err != nil {
			return parsed{}, err
		}
		return parsed{line: o.Line}, nil
	case "salt-api":
		o, err := ParseAPI(in)
		if err != nil {
			return parsed{}, err
		}
		return parsed{line: o.Line}, nil
	case "salt-syndic":
		o, err := ParseSyndic(in)
		if err != nil {
			return parsed{}, err
		}
		return parsed{line: o.Line}, nil
	}
	o, err := ParseMaster(in)
	if err != nil {
		return parsed{}, err
	}
	return parsed{line: o.Line}, nil
}

func kindOrNil(kind string) any {
	if kind == "glob" {
		return nil
	}
	return kind
}

func (c Call) meaning(key string) any {
	return map[string]any{"fun": c.Fun, "arg": list(c.Args)}[key]
}

func (o *SaltOptions) meaning(key string) any {
	switch key {
	case "tgt":
		return o.Target
	case "selected_target_option":
		return kindOrNil(o.TargetKind)
	}
	if !o.Multi {
		return o.Calls[0].meaning(key)
	}
	all := []any{}
	for _, c := range o.Calls {
		all = append(all, c.meaning(key))
	}
	return all
}

// TestVectorCLIExits compares the runs of salt, salt-key, salt-call and salt-run that end in their
// own arguments.
func TestVectorCLIExits(t *testing.T) {
	seen := 0
	for _, name := range []string{"10-cli.json", "10-cli-key.json"} {
		f := vectors.Load(t, name)
		for _, section := range f.Sections() {
			for _, c := range f.Section(section) {
				argv := data.TextsOf(c.Value("argv"))
				if code := c.Int("exit_code"); code != 64 && code != 42 &&
					(len(argv) != 1 || argv[0] != "--version") {
					continue
				}
				seen++
				t.Run(c.Text("program")+" "+strings.Join(argv, " "), func(t *testing.T) {
					dir := t.TempDir()
					in := Invocation{Args: append([]string{"-c", dir}, argv...), Dir: dir,
						Env: noEnv, Stdin: strings.NewReader("")}
					_, err := parseAny(c.Text("program"), in)
					var exit *Exit
					if !errors.As(err, &exit) {
						t.Fatalf("error %v", err)
					}
					exit.Stdout = withoutOwn(exit.Stdout)
					want := Exit{int(c.Int("exit_code")), ofRelease(c.Text("stdout")), c.Text("stderr")}
					if d := cmp.Diff(want, *exit); d != "" {
						t.Errorf("exit (-want +got):\n%s", d)
					}
				})
			}
		}
	}
	if seen == 0 {
		t.Error("no such case")
	}
}

func TestReadClientConfig(t *testing.T) {
	now := time.Now().Add(time.Minute)
	for _, tt := range []struct {
		name  string
		files *data.Map
		env   *data.Map
		want  *data.Map
	}{
		{"nothing there", data.NewMap(), data.NewMap(),
			data.NewMap("interface", "127.0.0.1", "token_file", "ROOT/home/salt_token")},
		{"saltrc", data.NewMap("home/.saltrc", "timeout: 9\ntoken_file: ~/tok", "home/tok",
			"secret\n"), data.NewMap(), data.NewMap(
			"interface", "127.0.0.1", "token_file", "ROOT/home/tok", "timeout", int64(9),
			"conf_file", "ROOT/home/.saltrc", "token", "secret")},
		{"folder of XDG", data.NewMap("home/.config/salt/saltrc", "interface: '::'", "home/.saltrc",
			"timeout: 9"), data.NewMap(), data.NewMap(
			"interface", "::1", "token_file", "ROOT/home/.config/salt/salt_token", "conf_file",
			"ROOT/home/.config/salt/saltrc")},
		{"environment", data.NewMap("x", "timeout: 4", "home/.saltrc", "timeout: 9"),
			data.NewMap("SALT_CLIENT_CONFIG", "ROOT/x"), data.NewMap(
				"interface", "127.0.0.1", "token_file", "ROOT/home/salt_token", "timeout", int64(4),
				"conf_file", "ROOT/x")},
		{"token too old", data.NewMap("home/.saltrc", "token_expire: 0", "home/salt_token", "old"),
			data.NewMap(), data.NewMap(
				"interface", "127.0.0.1", "token_file", "ROOT/home/salt_token", "token_expire",
				int64(0), "conf_file", "ROOT/home/.saltrc")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			layOut(t, root, tt.files)
			place := func(s string) string { return strings.ReplaceAll(s, "ROOT", root) }
			in := Invocation{Dir: root, Env: func(k string) string {
				if k == "HOME" {
					return filepath.Join(root, "home")
				}
				return place(tt.env.Text(k))
			}}
			opts := data.NewMap("interface", "0.0.0.0")
			if err := ReadClientConfig(opts, in, now); err != nil {
				t.Fatal(err)
			}
			for k, want := range tt.want.All() {
				if s, ok := want.(string); ok {
					want = place(s)
				}
				if got := opts.Value(k); !data.Equal(got, want) {
					t.Errorf("%v = %v, want %v", k, got, want)
				}
			}
			if opts.Len() != tt.want.Len() {
				t.Errorf("options %s", data.Repr(opts))
			}
		})
	}
}

func TestCommandLineGoesBeforeSaltfile(t *testing.T) {
	dir := t.TempDir()
	layOut(t, dir, data.NewMap("Saltfile", "salt: {timeout: 77, output: yaml}"))
	o, err := ParseSalt(Invocation{Args: []string{"-t", "5", "-c", dir, "*", "test.ping"},
		Dir: dir, Env: noEnv})
	if err != nil || o.Timeout != 5 || o.Output != "yaml" || o.ConfigDir != dir {
		t.Errorf("timeout %d, output %q, folder %q, error %v", o.Timeout, o.Output, o.ConfigDir, err)
	}
}

func TestArgumentsFromStdinKeepTheOthers(t *testing.T) {
	dir := t.TempDir()
	in := Invocation{Args: []string{"-G", "--args-stdin", "-c", dir}, Dir: dir, Env: noEnv,
		Stdin: strings.NewReader("os:Debian\ntest.ping\n-v\n")}
	o, err := ParseSalt(in)
	if err != nil || o.TargetKind != "grain" || o.Target != "os:Debian" || !o.Verbose || o.ConfigDir != dir {
		t.Errorf("%+v, error %v", o, err)
	}
}

func TestModuleDirsAreAbsolute(t *testing.T) {
	dir := t.TempDir()
	o, err := ParseCall(Invocation{Args: []string{"-m", "a,../b", "-m", "/c", "x"},
		Dir: filepath.Join(dir, "w"), Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{dir + "/w/a", dir + "/b", "/c"}, o.ModuleDirs); d != "" {
		t.Error(d)
	}
}

func TestEmptyOutputFile(t *testing.T) {
	for _, tt := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--out-file=of"}, ""},
		{[]string{"--out-file=of", "--out-file-append"}, "before"},
		{nil, "before"},
	} {
		dir := t.TempDir()
		layOut(t, dir, data.NewMap("of", "before"))
		o, err := ParseSalt(Invocation{Args: append(tt.flags, "*", "test.ping"), Dir: dir, Env: noEnv})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.EmptyOutputFile(); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "of")); err != nil || string(got) != tt.want {
			t.Errorf("%v leave %q, %v; want %q", tt.flags, got, err, tt.want)
		}
	}
}

// TestDaemonsTakeDisableKeepalive reads an option that Salt's daemons have since 3006.18.
func TestDaemonsTakeDisableKeepalive(t *testing.T) {
	in := Invocation{Args: []string{"--disable-keepalive"}, Env: func(string) string { return "" }}
	if _, err := ParseMinion(in); err != nil {
		t.Errorf("salt-minion: %v", err)
	}
	if _, err := ParseMaster(in); err != nil {
		t.Errorf("salt-master: %v", err)
	}
}

// TestUnexpectedArguments checks that nothing is started, listed or changed if there
// are such arguments. Salt ignores them.
func TestUnexpectedArguments(t *testing.T) {
	empty := func(string) string { return "" }
	for _, line := range []string{"salt-master junk", "salt-minion -d start", "salt-syndic junk", "salt-api junk",
		"salt-key nonsense", "salt-key -a web1 web2", "salt-key -L web1", "salt-key -y -d web1 web2"} {
		words := strings.Fields(line)
		_, err := parseAny(words[0], Invocation{Args: words[1:], Dir: "/", Env: empty,
			Stdin: strings.NewReader("")})
		var exit *Exit
		last := words[len(words)-1]
		if !errors.As(err, &exit) || exit.Code != ExitUsage ||
			!strings.Contains(exit.Stderr, `no argument "`+last+`"`) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := parseAny("salt-key",
		Invocation{Args: []string{"-F", "master"}, Dir: "/", Env: empty}); err != nil {
		t.Errorf("salt-key -F master: %v", err)
	}
}
