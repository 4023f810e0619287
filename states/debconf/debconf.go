// Package debconf is Salt's state debconf: answers to the questions that packages ask during
// installation (salt/states/debconfmod.py).
//
// Differences from Salt: passwords never appear in the changes, not even in test mode. set reports
// an answer as failed if debconf does not have it afterwards. set_file reads the file first and
// does nothing if debconf has all of its answers, also in test mode.
package debconf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state debconf. It loads only if the module debconf does.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "debconf", File: "debconfmod", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if env.GrainsNow().Value("os_family") != "Debian" {
		return nil, errors.New("debconf state only runs on Debian systems")
	}
	if !env.Functions.Has("debconf.show") {
		return nil, errors.New("debconf module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("set", m.set).Secret("data"),
		loader.F("set_file", m.setFile),
	}}, nil
}

// An answer is the answer to one question.
type answer struct{ owner, question, kind, value string }

// shown returns the value, masked if it is a password.
func (a answer) shown() string {
	if a.kind == "password" {
		return "(password hidden)"
	}
	return a.value
}

// known returns the answers that debconf has for a package.
func (m *module) known(ctx context.Context, owner string) (map[answer]bool, error) {
	list, err := calls.Found[[]any](ctx, m.env, "debconf.show", []any{owner}, nil)
	known := map[answer]bool{}
	for _, e := range list {
		if one, ok := e.([]any); ok && len(one) == 3 {
			known[answer{owner, data.Str(one[0]), data.Str(one[1]),
				strings.TrimSpace(data.Str(one[2]))}] = true
		}
	}
	return known, change.Raise(err)
}

type setArgs struct {
	Name   any
	Data   *data.Map
	Kwargs *data.Map `kwargs:"kwargs"`
}

// set manages the debconf answers of a package.
//
// data
//
//	A dictionary of questions, each with type and value.
//
//	nullmailer-debconf:
//	  debconf.set:
//	    - name: nullmailer
//	    - data:
//	        'shared/mailname': {'type': 'string', 'value': 'server.domain.tld'}
func (m *module) set(ctx context.Context, a setArgs) (change.Result, error) {
	owner := data.Str(a.Name)
	wanted, err := answers(owner, a.Data)
	if err != nil {
		return change.Refuse(a.Name, err.Error())
	}
	const failed = "Some settings failed to be applied."
	return change.Thing[[]answer]{
		Name:  a.Name,
		Look:  func(ctx context.Context) ([]answer, error) { return m.missing(ctx, wanted) },
		Wants: func(missing []answer) *data.Map { return changesOf(missing, "New value: ") },
		Apply: func(ctx context.Context, missing []answer) error {
			for _, w := range missing {
				_, err := m.env.Call(ctx, "debconf.set",
					[]any{owner, w.question, w.kind, w.value}, nil)
				if err != nil {
					return fmt.Errorf("%s %w", failed, err)
				}
			}
			return nil
		},
		Changed: func(before, after []answer) *data.Map {
			changes := changesOf(before, "")
			for _, w := range after {
				changes.Set(w.question, "Failed to set!")
			}
			return changes
		},
		Texts: change.Texts{Same: "All specified answers are already set", Failed: failed},
		Say: func(o change.Outcome[[]answer]) any {
			if o.Stage == change.StageSame || o.Stage == change.StageFailed {
				return nil
			}
			same := "Unchanged answers: "
			for _, w := range wanted {
				if !slices.Contains(o.Before, w) {
					same += w.question + " "
				}
			}
			return strings.TrimSuffix(same, "Unchanged answers: ")
		},
	}.Ensure(ctx)
}

// answers parses a dictionary of questions with their types and values. Booleans are converted to
// debconf's notation.
func answers(owner string, all *data.Map) ([]answer, error) {
	var wanted []answer
	for question, v := range all.All() {
		one, ok := v.(*data.Map)
		if !ok || !one.Has("type") || !one.Has("value") {
			return nil, errors.New("the answer to " + data.Str(question) +
				" has no type and value: indent its lines by four more spaces")
		}
		value := data.Str(one.Value("value"))
		if one.Value("type") == "boolean" {
			value = boolean(one.Value("value"))
		}
		wanted = append(wanted, answer{owner, data.Str(question), data.Str(one.Value("type")),
			strings.TrimSpace(value)})
	}
	return wanted, nil
}

func boolean(v any) string {
	if data.Truth(v) {
		return "true"
	}
	return "false"
}

type fileArgs struct {
	Name     any
	Source   string
	Template any       `default:"None"`
	Context  any       `default:"None"`
	Defaults any       `default:"None"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// setFile manages the answers in a file with lines of package, question, type and value.
//
// source
//
//	The location of the file: salt://, http(s):// or a path.
//
// template, context, defaults
//
//	The engine that renders the file first, with the variables of context, which override those of
//	defaults.
//
//	mail-debconf:
//	  debconf.set_file:
//	    - source: salt://pathto/pkg.selections
func (m *module) setFile(ctx context.Context, a fileArgs) (change.Result, error) {
	for word, v := range map[string]any{"Context": a.Context, "Defaults": a.Defaults} {
		if _, ok := v.(*data.Map); v != nil && !ok {
			return change.Refuse(a.Name, word+" must be formed as a dict")
		}
	}
	const failed = "Unable to set debconf selections from file."
	path, err := m.fetch(ctx, a)
	if err != nil {
		return change.Result{}, err
	}
	if path == "" {
		return change.Refuse(a.Name, failed)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return change.Result{}, loader.OSError(err)
	}
	wanted := parse(string(text))
	return change.Thing[[]answer]{
		Name:  a.Name,
		Look:  func(ctx context.Context) ([]answer, error) { return m.missing(ctx, wanted) },
		Wants: func(missing []answer) *data.Map { return changesOf(missing, "") },
		Apply: func(ctx context.Context, _ []answer) error {
			if _, err := m.env.Call(ctx, "debconf.set_file", []any{path}, nil); err != nil {
				return fmt.Errorf("%s %w", failed, err)
			}
			return nil
		},
		Changed: func(before, after []answer) *data.Map {
			return change.When(len(after) == 0, changesOf(before, ""))
		},
		Texts: change.Texts{
			Same:  "Debconf selections were set.",
			Would: "Debconf selections would have been set.",
			Done:  "Debconf selections were set.",
		},
		Say: func(o change.Outcome[[]answer]) any {
			if o.Left.Len() == 0 || o.Err != nil {
				return nil
			}
			questions := strings.Join(data.Texts(o.Left.Keys()), ", ")
			return failed + " Debconf has not taken the answers to " + questions + "."
		},
	}.Ensure(ctx)
}

// changesOf returns answers as changes, each prefixed with a text.
func changesOf(answers []answer, before string) *data.Map {
	changes := &data.Map{}
	for _, w := range answers {
		changes.Set(w.question, before+w.shown())
	}
	return changes
}

// missing returns the wanted answers that debconf does not have.
func (m *module) missing(ctx context.Context, wanted []answer) ([]answer, error) {
	known := map[string]map[answer]bool{}
	var missing []answer
	for _, w := range wanted {
		if known[w.owner] == nil {
			var err error
			if known[w.owner], err = m.known(ctx, w.owner); err != nil {
				return nil, err
			}
		}
		if !known[w.owner][w] {
			missing = append(missing, w)
		}
	}
	return missing, nil
}

// fetch returns the path of the rendered local copy of the file, "" if there is none.
func (m *module) fetch(ctx context.Context, a fileArgs) (string, error) {
	saltenv := change.CallOf(ctx).SaltEnv
	if !data.Truth(a.Template) {
		return calls.CacheFile(ctx, m.env, calls.Source{Path: a.Source, SaltEnv: saltenv})
	}
	return calls.GetTemplate(ctx, m.env, calls.Template{
		Path: a.Source, Engine: a.Template, SaltEnv: saltenv, Context: orEmpty(a.Context),
		Defaults: orEmpty(a.Defaults), More: packages.Own(a.Kwargs),
	})
}

func orEmpty(v any) any {
	if v == nil {
		return &data.Map{}
	}
	return v
}

// continued matches the end of a line that continues on the next one.
var continued = regexp.MustCompile(`\\[ \t]*\n[ \t]*`)

// parse parses lines as debconf-set-selections does: package, question and type separated by white
// space, then the value. A line that ends in a backslash continues on the next one. Flags of
// questions are ignored.
func parse(text string) []answer {
	var wanted []answer
	for line := range strings.Lines(continued.ReplaceAllString(text, "")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		var cols [3]string
		for i := range cols {
			n := strings.IndexAny(line, " \t")
			if n < 0 {
				n = len(line)
			}
			cols[i], line = line[:n], strings.TrimLeft(line[n:], " \t")
		}
		if cols[2] != "" && cols[2] != "seen" {
			wanted = append(wanted, answer{cols[0], cols[1], cols[2], line})
		}
	}
	return wanted
}
