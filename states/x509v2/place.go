package x509v2

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// A thing is what one of the states keeps in a file.
type thing struct {
	m        *module
	title    string // name for comments
	name     string
	file     *data.Map // arguments of file.managed
	encoding string
	silent   bool // do not report in the changes that something else was replaced
	// look returns the differences of the file's contents. there reports whether the file exists.
	look func(ctx context.Context, path string, there bool) (seen, error)
	// content creates the new contents, given the differences.
	content func(ctx context.Context, now seen) ([]byte, error)
}

// seen is the outcome of a look.
type seen struct {
	changes *data.Map
	again   bool // an object of the same kind is replaced
	garbage bool // the file contains something else
}

// fileWords returns the names of the arguments that file.managed accepts.
func fileWords() []string {
	return []string{"user", "group", "mode", "attrs", "makedirs", "dir_mode", "backup", "create",
		"follow_symlinks", "check_cmd", "tmp_dir", "tmp_ext",
		"selinux", "encoding", "encoding_errors", "win_owner", "win_perms", "win_deny_perms",
		"win_inheritance", "win_perms_reset"}
}

// split returns the arguments for file.managed, and the others.
func split(kwargs *data.Map) (file, others *data.Map) {
	file, others = data.NewMap("show_changes", false), data.NewMap()
	for k, v := range kwargs.All() {
		switch word := data.Str(k); {
		case slices.Contains(fileWords(), word):
			file.Set(k, v)
		case !strings.HasPrefix(word, "__"):
			others.Set(k, v)
		}
	}
	return file, others
}

func unknown(others *data.Map) error {
	if others.Len() == 0 {
		return nil
	}
	return loader.Invocation("Unrecognized keyword arguments: %s", data.Repr(others.Keys()))
}

// failure converts an error that Salt reports in the result to a failed result. It returns other
// errors unchanged.
func failure(name string, err error) (*data.Map, error) {
	var e *loader.Error
	if errors.As(err, &e) && (e.Kind == loader.KindExecution || e.Kind == loader.KindInvocation) {
		return change.Failed(name, e.Text), nil
	}
	return nil, err
}

// ensure brings the file to the desired state.
func (t *thing) ensure(ctx context.Context) (any, error) {
	ret := change.Unchanged(t.name, "The "+t.title+" is in the correct state")
	if err := t.run(ctx, ret); err != nil {
		return failure(t.name, err)
	}
	return ret, nil
}

func (t *thing) run(ctx context.Context, ret *data.Map) error {
	trial, err := t.managed(ctx, true, data.NewMap("replace", false))
	if err != nil {
		return err
	}
	if trial.Value("result") == false {
		ret.Set("result", false)
		ret.Set("comment", "Problem while testing file.managed changes, see its output")
		t.merge(ctx, ret, trial)
		return nil
	}
	if strings.Contains(data.Str(trial.Value("comment")),
		"is not present and is not set for creation") {
		t.merge(ctx, ret, trial)
		return nil
	}
	now, err := t.find(ctx)
	if err != nil {
		return err
	}
	if now.changes.Len() == 0 && data.Truth(trial.Value("result")) &&
		!data.Truth(trial.Value("changes")) {
		t.merge(ctx, ret, trial)
		return nil
	}
	ret.Set("changes", now.changes)
	if change.Test(ctx) {
		if now.changes.Len() > 0 {
			ret.Set("result", nil)
			ret.Set("comment", "The "+t.title+" would have been "+now.verb())
		}
		t.merge(ctx, ret, trial)
		return nil
	}
	return t.apply(ctx, ret, now)
}

func (s seen) verb() string {
	if s.again {
		return "recreated"
	}
	return "created"
}

// find checks the file, or the target of a link. A link that is not followed counts as a missing
// file, and is removed.
func (t *thing) find(ctx context.Context) (seen, error) {
	path := t.name
	info, err := os.Lstat(t.m.reader().Path(path))
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if follow, ok := t.file.Get("follow_symlinks"); ok && !data.Truth(follow) {
			return t.unlinked(ctx, path)
		}
		real, err := filepath.EvalSymlinks(t.m.reader().Path(path))
		if err == nil {
			path = strings.TrimPrefix(real, strings.TrimSuffix(t.m.env.Root, "/"))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return seen{}, loader.Execution("%w", err)
		}
	}
	info, err = os.Stat(t.m.reader().Path(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return seen{}, loader.Execution("%w", err)
	}
	now, err := t.look(ctx, path, err == nil && info.Mode().IsRegular())
	if now.garbage && err == nil && !t.silent {
		now.changes.Set("replaced", t.name)
	}
	return now, err
}

func (t *thing) unlinked(ctx context.Context, path string) (seen, error) {
	if !change.Test(ctx) {
		if err := os.Remove(t.m.reader().Path(path)); err != nil {
			return seen{}, loader.Execution("%w", err)
		}
	}
	now, err := t.look(ctx, path, false)
	if err == nil && !t.silent {
		now.changes.Set("replaced", t.name)
	}
	return now, err
}

// apply creates the contents and writes them with file.managed.
func (t *thing) apply(ctx context.Context, ret *data.Map, now seen) error {
	if now.changes.Len() == 0 {
		_, err := t.place(ctx, ret, now, data.NewMap("replace", false, "contents", nil))
		return err
	}
	b, err := t.content(ctx, now)
	if err != nil {
		return err
	}
	ret.Set("comment", "The "+t.title+" has been "+now.verb())
	if t.encoding == "pem" || t.encoding == "pkcs7_pem" {
		_, err = t.place(ctx, ret, now, data.NewMap("replace", true, "contents", string(b)))
		return err
	}
	// Salt first creates an empty file, which is reported, and then fills it.
	if placed, err := t.place(ctx, ret, now, data.NewMap("replace", false)); err != nil || !placed {
		return err
	}
	filled, err := t.managed(ctx, false,
		data.NewMap("replace", true, "contents", b, "contents_newline", false))
	if err == nil && filled.Value("result") == false {
		err = loader.Execution("%s", data.Str(filled.Value("comment")))
	}
	return err
}

// place calls file.managed and merges its result. It returns false if that failed.
func (t *thing) place(ctx context.Context, ret *data.Map, now seen, more *data.Map) (bool, error) {
	done, err := t.managed(ctx, false, more)
	if err != nil {
		return false, err
	}
	t.merge(ctx, ret, done)
	if done.Value("result") != false {
		return true, nil
	}
	verb := "create"
	if now.again {
		verb = "update"
	}
	ret.Set("result", false)
	ret.Set("comment", "Could not "+verb+" file, see file.managed output")
	ret.Set("changes", data.NewMap())
	return false, nil
}

// managed calls the state file.managed.
func (t *thing) managed(ctx context.Context, trial bool, more *data.Map) (*data.Map, error) {
	return t.m.managed(ctx, t.name, trial, t.file, more)
}

func (m *module) managed(
	ctx context.Context, name string, trial bool, file, more *data.Map,
) (*data.Map, error) {
	call := *change.CallOf(ctx)
	call.Test = call.Test || trial
	args := data.NewMap("name", name)
	args.Update(file)
	args.Update(more)
	states := m.env.Registry("states")
	if call.Test {
		states = m.trial()
	}
	v, err := states.Invoke(change.WithCall(ctx, &call), "file.managed", nil, args)
	if err != nil {
		return nil, err
	}
	ret, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Execution("file.managed returned %s", loader.TypeName(v))
	}
	return ret, nil
}

// trial returns the states with module functions that write nothing. Those depend on the option
// test.
func (m *module) trial() *loader.Registry {
	opts := m.env.Opts.Clone()
	opts.Set("test", true)
	env := *m.env
	env.Opts, env.Functions, env.Call = opts, nil, nil
	env.Functions = m.env.Functions.With(&env)
	env.Call = env.Functions.Invoke
	return m.env.Registry("states").With(&env)
}

// merge merges the result of file.managed into that of the state.
func (t *thing) merge(ctx context.Context, ret, sub *data.Map) {
	sub.Set("low", data.NewMap("name", t.name, "state", "file",
		"__id__", change.CallOf(ctx).Low.Value("__id__"), "fun", "managed"))
	list, _ := ret.Value("sub_state_run").([]any)
	ret.Set("sub_state_run", append(list, sub))
}
