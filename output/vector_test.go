package output

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

// laterOutputters will never be supported. When the data were captured, dson failed because its
// module was broken; here it is unknown, and nested takes its place.
var laterOutputters = map[string]string{"dson": "never: a toy that needs a Python module"}

var ansi = regexp.MustCompile("\x1b[^m]*m")

// TestVectorOutput compares with the output of real runs of salt. The values come from the
// functions (test.ping returns true) and from the run of the same function with --out=json; its job
// ids are those of the compared run.
func TestVectorOutput(t *testing.T) {
	f := vectors.Load(t, "10-cli.json")
	vectors.Later(t, f, []string{"outputters_one", "outputters_all", "colour"}, map[string]string{
		"functions": "whole runs", "cmd": "whole runs", "modules": "whole runs", "cli_options": "whole runs",
		"offline": "whole runs", "salt_call": "whole runs", "salt_run": "whole runs",
		"batch": "whole runs", "token": "whole runs",
	})
	kwarg := kwargValue(t, f)
	for _, section := range []string{"outputters_one", "outputters_all", "colour"} {
		for _, c := range f.Section(section) {
			argv := texts(c.Value("argv"))
			t.Run(section+" "+strings.Join(argv, " "), func(t *testing.T) {
				r := newRun(t, c.On(t), argv)
				switch {
				case r.later != "":
					t.Logf("left out: %s", r.later)
				case r.fun == "test.ping":
					r.checkAny(t, map[string]any{"web1": true, "web2": true, "db1": true})
				case r.fun == "test.kwarg":
					r.checkKwarg(t, kwarg)
				case r.fun == "test.nosuch":
					r.checkAny(t, map[string]any{"web1": "'test.nosuch' is not available."})
				default:
					t.Fatalf("function %q is not understood", r.fun)
				}
			})
		}
	}
}

func texts(v any) []string {
	var list []string
	for _, e := range v.([]any) {
		list = append(list, e.(string))
	}
	return list
}

// kwargValue returns the return of test.kwarg in the run with --out=json on one line.
func kwargValue(t *testing.T, f *vectors.File) *data.Map {
	for _, c := range f.Section("outputters_one") {
		if argv := texts(c.Value("argv")); slices.Equal(argv[:2], []string{"--out=json", "--out-indent=-1"}) {
			v, err := vectors.Decode([]byte(c.Text("stdout")))
			if err != nil {
				t.Fatal(err)
			}
			m := v.(*data.Map).Value("web1").(*data.Map)
			m.Set("f", 1.5)
			return m
		}
	}
	t.Fatal("no run with --out=json")
	return nil
}

// A run is a command line and its output.
type run struct {
	choice   Choice
	options  Options
	fun, tgt string
	extra    bool // it prints more than returns
	static   bool
	later    string
	exit     int
	stdout   string
}

func newRun(t *testing.T, c *vectors.Case, argv []string) *run {
	c.Only("program", "argv", "exit_code", "stdout", "stderr", "volatile", "seq",
		"minions_in_any_order", "python_traceback")
	r := &run{options: Options{Indent: NoIndent{}}, exit: int(c.Int("exit_code")), stdout: c.Text("stdout")}
	r.options.Retcode = r.exit
	for len(argv) > 0 && strings.HasPrefix(argv[0], "-") {
		name, value, _ := strings.Cut(argv[0], "=")
		argv = argv[1:]
		switch name {
		case "--out":
			r.choice.Forced, r.later = value, laterOutputters[value]
		case "--out-indent":
			r.options.Indent = indentOf(t, value)
		case "--static":
			r.static, r.choice.Static = true, true
		case "--force-color":
			r.options.Colour = UseColour(nil, true, false, false)
		case "--no-color":
			r.options.Colour = UseColour(true, false, true, true)
		case "-v", "--verbose", "--summary", "--show-jid":
			r.extra = true
		default:
			t.Fatalf("option %q is not understood", name)
		}
	}
	r.tgt, r.fun = argv[0], argv[1]
	r.choice.Fun = r.fun
	return r
}

func indentOf(t *testing.T, s string) any {
	var n int64
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// printed returns the lines printed for value, as the program does it.
func (r *run) printed(t *testing.T, value *data.Map) string {
	text, err := Printout(r.choice, value, r.options)
	var unknown *UnknownError
	if errors.As(err, &unknown) != (r.choice.Forced == "nosuch" || r.choice.Forced == "progress") {
		t.Errorf("error %v", err)
	}
	if err != nil && unknown == nil {
		t.Fatal(err)
	}
	if text == "" {
		return ""
	}
	return text + "\n"
}

// checkAny checks that stdout is the output for the minions' values in some order; with --static,
// for one map.
func (r *run) checkAny(t *testing.T, values map[string]any) {
	ids := []string{"web1", "web2", "db1"}
	if r.tgt != "*" {
		ids = []string{r.tgt}
	}
	var tried []string
	for _, order := range permutations(ids) {
		var text string
		if all := (&data.Map{}); r.static {
			for _, id := range order {
				all.Set(id, values[id])
			}
			text = r.printed(t, all)
		} else {
			for _, id := range order {
				text += r.printed(t, data.NewMap(id, values[id]))
			}
		}
		if text == r.stdout || r.extra && text != "" && strings.Contains(r.stdout, text) {
			return
		}
		tried = append(tried, text)
	}
	t.Errorf("printed %q, want %q", tried, r.stdout)
}

func permutations(list []string) [][]string {
	if len(list) < 2 {
		return [][]string{list}
	}
	var all [][]string
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		for _, p := range permutations(rest) {
			all = append(all, append([]string{list[i]}, p...))
		}
	}
	return all
}

var jid = regexp.MustCompile(`\b\d{20}\b`)

// checkKwarg checks a run of test.kwarg, whose value contains the job id and the target as it was
// published.
func (r *run) checkKwarg(t *testing.T, value *data.Map) {
	value = data.Clone(value).(*data.Map)
	value.Set("__pub_jid", jid.FindString(ansi.ReplaceAllString(r.stdout, "")))
	if r.static {
		value.Set("__pub_tgt", []any{"web1"})
		value.Set("__pub_tgt_type", "list")
	}
	all := data.NewMap("web1", value)
	switch r.choice.Forced {
	case "key":
		if _, err := Printout(r.choice, all, r.options); !errors.Is(err, ErrKey) || r.stdout != "" {
			t.Errorf("error %v, want %v", err, ErrKey)
		}
		return
	case "overstatestage":
		if _, err := Printout(r.choice, all, r.options); !errors.Is(err, ErrValue) ||
			r.stdout != "" || r.exit != 1 {
			t.Errorf("error %v, want %v", err, ErrValue)
		}
		return
	}
	if text := r.printed(t, all); text != r.stdout {
		t.Errorf("printed\n%s\nwant\n%s", text, r.stdout)
	}
	if plain := ansi.ReplaceAllString(r.stdout, ""); r.options.Colour == (plain == r.stdout) {
		t.Error("the case is not about colour")
	}
}
