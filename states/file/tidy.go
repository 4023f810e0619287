package file

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type tidiedArgs struct {
	Name                   string
	Age                    any       `default:"0"`
	Matches                any       `default:"None"`
	Rmdirs                 bool      `default:"False"`
	Size                   any       `default:"0"`
	Exclude                any       `default:"None"`
	FullPathMatch          bool      `default:"False"`
	Followlinks            bool      `default:"False"`
	TimeComparison         any       `default:"'atime'"`
	AgeSizeLogicalOperator string    `default:"'OR'"`
	AgeSizeOnly            any       `default:"None"`
	Rmlinks                bool      `default:"True"`
	Kwargs                 *data.Map `kwargs:"kwargs"`
}

// tidied removes old or large files from a directory and its subdirectories.
//
// age, size
//
//	The minimum age in days, or the minimum size, such as 10k. Either is sufficient.
//
// age_size_logical_operator, age_size_only
//
//	AND requires both; age or size considers only that one.
//
// time_comparison
//
//	The time to use: atime, mtime or ctime.
//
// matches, exclude, full_path_match
//
//	Regular expressions for names, or whole paths, of files to remove, and of files to keep.
//
// rmdirs, rmlinks, followlinks
//
//	Remove directories as well; False: keep links; follow links to directories.
//
//	/tmp/cores:
//	  file.tidied:
//	    - age: 7
//	    - matches:
//	      - core\..*
func (m backlog) tidied(ctx context.Context, a tidiedArgs) (change.Result, error) {
	a.Name = home(a.Name)
	switch {
	case !filepath.IsAbs(a.Name):
		return change.Refuse(a.Name, notAbsolute(a.Name))
	case untrustedLink(a.Name) != "":
		return change.Refuse(a.Name, untrustedLink(a.Name))
	case !paths.IsDir(a.Name):
		return change.Refuse(a.Name, a.Name+" does not exist or is not a directory.")
	}
	t, err := m.newTidying(a)
	if err != nil {
		return change.Result{}, err
	}
	return change.Thing[*tidyCall]{
		Name: a.Name,
		Look: func(ctx context.Context) (*tidyCall, error) { return t, change.Raise(t.walk(ctx, a.Name)) },
		Wants: func(t *tidyCall) *data.Map {
			return change.When(len(t.old) > 0, data.NewMap("removed", t.old))
		},
		Apply:   func(ctx context.Context, t *tidyCall) error { return t.remove(ctx) },
		Changed: func(_, t *tidyCall) *data.Map { return data.NewMap("removed", t.removed) },
		Say: func(o change.Outcome[*tidyCall]) any {
			switch o.Stage {
			case change.StageSame:
				return "Nothing to remove from directory " + a.Name
			case change.StageWould:
				return a.Name + " is set for tidy"
			case change.StageDone:
				return "Removed " + strconv.Itoa(len(t.old)) +
					" files or directories from directory " + a.Name
			}
			return nil
		},
		Trust: true, // removing entries changes the times of parent directories
	}.Ensure(ctx)
}

// remove removes the old files and stops at the first error.
func (t *tidyCall) remove(ctx context.Context) error {
	for _, path := range t.old {
		if _, err := t.m.call(ctx, "file.remove", t.a.bound(), path); err != nil {
			return change.Except(err, loader.KindExecution)
		}
		t.removed = append(t.removed, path)
	}
	return nil
}

// bound returns arguments that confine removals to the directory, because users of the host may
// place links in between. It returns none if links are followed.
func (a tidiedArgs) bound() *data.Map {
	if a.Followlinks {
		return nil
	}
	return data.NewMap("within", a.Name)
}

// A tidyCall collects the paths to remove.
type tidyCall struct {
	m              backlog
	a              tidiedArgs
	age, size      float64
	only           string // age or size if only one counts, or ""
	both           bool
	stamp          string
	matches, spare []*match.Groups
	today          time.Time
	old, removed   []any
}

func (m backlog) newTidying(a tidiedArgs) (*tidyCall, error) {
	t := &tidyCall{m: m, a: a, today: day(time.Now()), stamp: "atime", old: []any{},
		removed: []any{}}
	t.both = strings.EqualFold(a.AgeSizeLogicalOperator, "and")
	if !t.both && !strings.EqualFold(a.AgeSizeLogicalOperator, "or") {
		m.env.Log.Warn("Logical operator must be 'AND' or 'OR'. Defaulting to 'OR'...")
	}
	if data.Truth(a.AgeSizeOnly) {
		t.only = strings.ToLower(data.Str(a.AgeSizeOnly))
		if t.only != "age" && t.only != "size" {
			m.env.Log.Warn("age_size_only parameter must be 'age' or 'size' if set. Defaulting to 'None'...")
			t.only = ""
		}
	}
	if stamp, ok := a.TimeComparison.(string); ok &&
		(strings.EqualFold(stamp, "mtime") || strings.EqualFold(stamp, "ctime")) {
		t.stamp = strings.ToLower(stamp)
	}
	var err error
	if t.age, err = amount(a.Age); err != nil {
		return nil, err
	}
	if text, ok := a.Size.(string); ok {
		t.size = bytesOf(text)
	} else if t.size, err = amount(a.Size); err != nil {
		return nil, err
	}
	if a.Matches == nil {
		a.Matches = ".*"
	}
	if t.matches, err = expressions(a.Matches); err != nil {
		return nil, err
	}
	if data.Truth(a.Exclude) {
		t.spare, err = expressions(a.Exclude)
	}
	return t, err
}

// amount returns a number. Strings are not converted.
func amount(v any) (float64, error) {
	switch n := v.(type) {
	case int64:
		return float64(n), nil
	case float64:
		return n, nil
	case bool:
		if n {
			return 1, nil
		}
		return 0, nil
	}
	return 0, loader.TypeError("'>=' not supported between instances of 'int' and '%s'",
		loader.TypeName(v))
}

// bytesOf parses sizes such as 10, 1.5k, 2MiB or 3MB, of which the last uses powers of 1000.
// Anything else is 0 (salt/utils/stringutils.py, human_to_bytes).
func bytesOf(size string) float64 {
	size = strings.TrimSpace(size)
	end := len(size) - len(strings.TrimLeft(size, "0123456789."))
	n, err := strconv.ParseFloat(size[:end], 64)
	unit := strings.ToLower(strings.TrimSpace(size[end:]))
	if err != nil {
		return 0
	}
	if unit == "" || unit == "b" {
		return math.Trunc(n)
	}
	power := strings.IndexByte("bkmgtpezy", unit[0])
	switch rest := unit[1:]; {
	case power < 1:
		return 0
	case rest == "b":
		return math.Trunc(n * math.Pow10(3*power))
	case rest == "" || rest == "ib":
		return math.Trunc(n * math.Pow(2, float64(10*power)))
	}
	return 0
}

// expressions compiles regular expressions that match at the beginning. A string is a single
// expression.
func expressions(v any) ([]*match.Groups, error) {
	var all []*match.Groups
	for _, expr := range texts(v) {
		re, err := match.CompileAtStart(expr, false, false)
		if err != nil {
			return nil, loader.Exception("re.error", "%w", err)
		}
		all = append(all, re)
	}
	return all, nil
}

// day returns midnight of the calendar day, without a time zone.
func day(t time.Time) time.Time {
	t = t.Local()
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// walk checks the entries of a directory after those of its subdirectories. Entries that disappear
// in the meantime are skipped.
func (t *tidyCall) walk(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.m.env.Log.Warnf("Unable to read %s: %s", dir, err)
		return ctx.Err()
	}
	var files, folders []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !paths.IsDir(path) {
			files = append(files, path)
			continue
		}
		folders = append(folders, path)
		if t.a.Followlinks || e.Type()&fs.ModeSymlink == 0 {
			if err := t.walk(ctx, path); err != nil {
				return err
			}
		}
	}
	for _, path := range append(files, folders...) {
		if err := t.look(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// look adds a path if it is to be removed.
func (t *tidyCall) look(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.m.env.Log.Warnf("Unable to read %s due to permissions error.", path)
		return nil
	}
	size := 0.0
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		if !t.a.Rmlinks {
			return nil
		}
	case info.IsDir():
		if !t.a.Rmdirs {
			return nil
		}
	default:
		size = float64(info.Size())
	}
	enough, err := t.enough(ctx, path, size)
	if err != nil || !enough {
		return err
	}
	named, err := t.named(path)
	if named {
		t.old = append(t.old, path)
	}
	return err
}

// enough reports whether a file is old or large enough.
func (t *tidyCall) enough(ctx context.Context, path string, size float64) (bool, error) {
	st, err := calls.Stats(ctx, t.m.env, path)
	if err != nil {
		return false, err
	}
	seconds, _ := st.Value(t.stamp).(float64)
	age := math.Abs(t.today.Sub(day(time.UnixMicro(int64(seconds*1e6)))).Hours() / 24)
	old, large := age >= t.age, size >= t.size
	switch {
	case t.only == "age":
		return old, nil
	case t.only == "size":
		return large, nil
	case t.both:
		return old && large, nil
	}
	return old || large, nil
}

// named reports whether the name of a path is among those to remove.
func (t *tidyCall) named(path string) (bool, error) {
	name := path
	if !t.a.FullPathMatch {
		name = filepath.Base(path)
	}
	hit, err := anyMatches(t.matches, name)
	if err != nil || !hit {
		return false, err
	}
	spared, err := anyMatches(t.spare, name)
	return !spared, err
}

func anyMatches(list []*match.Groups, name string) (bool, error) {
	for _, re := range list {
		if ok, err := re.Match(name); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

type prunedArgs struct {
	Name         string
	Recurse      bool `default:"False"`
	IgnoreErrors bool `default:"False"`
	OlderThan    any  `default:"None"`
}

// pruned removes an empty directory.
//
// recurse
//
//	Remove empty directories below it first.
//
// ignore_errors
//
//	Like recurse, but do not fail if directories are not empty.
//
// older_than
//
//	Only directories that have not changed for this many days.
//
//	/srv/old:
//	  file.pruned:
//	    - recurse: True
func (m backlog) pruned(ctx context.Context, a prunedArgs) (change.Result, error) {
	a.Name = home(a.Name)
	p := &pruneResult{prunedArgs: a}
	return change.Thing[bool]{
		Name:    a.Name,
		Look:    func(context.Context) (bool, error) { return paths.IsDir(a.Name), nil },
		Wants:   func(there bool) *data.Map { return change.When(there, data.NewMap("deleted", a.Name)) },
		Apply:   func(ctx context.Context, _ bool) error { return p.remove(ctx, m) },
		Changed: func(_, _ bool) *data.Map { return p.changes },
		Say: func(o change.Outcome[bool]) any {
			switch o.Stage {
			case change.StageSame:
				return "Directory " + a.Name + " is not present"
			case change.StageWould:
				return "Directory " + a.Name + " is set for removal"
			case change.StageDone:
				return p.comment
			}
			return nil
		},
		Trust: true, // directories that are too recent stay
	}.Ensure(ctx)
}

// A pruneResult is the outcome of removing a directory.
type pruneResult struct {
	prunedArgs
	changes *data.Map
	comment string
}

func (p *pruneResult) remove(ctx context.Context, m backlog) error {
	recurse := p.Recurse || p.IgnoreErrors
	words := data.NewMap("recurse", recurse, "verbose", true, "older_than", p.OlderThan)
	outcome, err := change.Ask[*data.Map](ctx, m.env, "file.rmdir", []any{p.Name}, words)
	if err != nil {
		return err
	}
	outcome = outcome.Clone()
	good := data.Truth(outcome.Value("result"))
	outcome.Delete("result")
	deleted := texts(outcome.Value("deleted"))
	switch {
	case good && !recurse:
		p.changes, p.comment = data.NewMap("deleted", p.Name), "Removed directory "+p.Name
	case good && len(deleted) == 0:
	case good || p.IgnoreErrors && len(deleted) > 0:
		p.changes = data.NewMap("deleted", sortedTexts(deleted, false))
		p.comment = "Recursively removed empty directories under " + p.Name
	default:
		p.changes = outcome
		return change.Reason("Failed to remove directory " + p.Name)
	}
	return nil
}
