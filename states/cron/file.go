package cron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type fileArgs struct {
	Name           any
	SourceHash     any       `default:"''"`
	SourceHashName any       `default:"None"`
	User           string    `default:"'root'"`
	Template       any       `default:"None"`
	Context        any       `default:"None"`
	Replace        any       `default:"True"`
	Defaults       any       `default:"None"`
	Backup         any       `default:"''"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// file makes a file the crontab of a user.
//
// name
//
//	Where the file comes from, as source of file.managed. source_hash, source_hash_name, template, context, defaults and backup are
//	as there.
//
// user
//
//	Whose crontab it is: root's by default.
//
// replace
//
//	False: a crontab that is there stays.
//
//	salt://web/crontab:
//	  cron.file:
//	    - user: www-data
func (m *module) file(ctx context.Context, a fileArgs) (any, error) {
	about, err := m.env.Call(ctx, "user.info", []any{a.User}, nil)
	user, _ := about.(*data.Map)
	groups, _ := user.Value("groups").([]any)
	if err != nil || len(groups) == 0 {
		return change.Failed(data.Str(a.Name), "Could not identify group for user "+a.User), nil //nolint:nilerr // Salt's text
	}
	text, err := m.env.Call(ctx, "cron.raw_cron", []any{a.User}, nil)
	if err != nil {
		return nil, err
	}
	now := data.Str(text)
	if !data.Truth(a.Replace) && now != "" {
		return change.Done(data.Str(a.Name), fmt.Sprintf("User %s already has a crontab. No changes made", a.User)), nil
	}
	path, err := copied(now)
	if err != nil {
		return nil, loader.Execution("keep the crontab of %s for comparison: %w", a.User, err)
	}
	defer os.Remove(path)
	words := data.NewMap("name", path, "source", a.Name, "source_hash", a.SourceHash, "source_hash_name", a.SourceHashName, "user", a.User,
		"group", groups[0], "mode", "0600", "attrs", nil, "template", a.Template, "context", a.Context, "defaults", a.Defaults,
		"saltenv", change.CallOf(ctx).SaltEnv)
	if change.Test(ctx) {
		words.Update(a.others())
		return m.compare(ctx, a, words)
	}
	return m.replace(ctx, a, words)
}

// copied puts a text into a new file.
func copied(text string) (string, error) {
	f, err := os.CreateTemp("", "__salt.tmp.")
	if err != nil {
		return "", err
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// others returns the words that file.managed may know, without those that a run adds.
func (a fileArgs) others() *data.Map {
	words := &data.Map{}
	for key, v := range a.Kwargs.All() {
		if !strings.HasPrefix(data.Str(key), "__") {
			words.Set(key, v)
		}
	}
	return words
}

// compare says what would become of the crontab.
func (m *module) compare(ctx context.Context, a fileArgs, words *data.Map) (any, error) {
	v, err := m.env.Call(ctx, "file.check_managed", nil, words)
	if err != nil {
		return nil, err
	}
	var pair []any
	switch v := v.(type) {
	case []any:
		pair = v
	case data.Tuple:
		pair = v
	}
	if len(pair) != 2 {
		return nil, loader.Execution("file.check_managed returned no result: %s", data.Str(v))
	}
	return change.New(data.Str(a.Name), pair[0], nil, pair[1]), nil
}

// replace writes the crontab where it differs.
func (m *module) replace(ctx context.Context, a fileArgs, words *data.Map) (any, error) {
	name := data.Str(a.Name)
	unable := func(err error) (any, error) { return change.Failed(name, "Unable to manage file: "+err.Error()), nil }
	found, err := m.three(ctx, "file.source_list", []any{a.Name, a.SourceHash, words.Value("saltenv")}, nil, 2)
	if err != nil {
		return nil, err
	}
	words.Set("source", found[0])
	words.Set("source_hash", found[1])
	asked := words.Clone()
	asked.Set("skip_verify", false)
	asked.Update(a.others())
	got, err := m.three(ctx, "file.get_managed", nil, asked, 3)
	if err != nil {
		return unable(err)
	}
	if data.Truth(got[2]) {
		return change.Failed(name, data.Str(got[2])), nil
	}
	for _, key := range []string{"source_hash", "source_hash_name", "template", "context", "defaults"} {
		words.Delete(key)
	}
	words.Update(data.NewMap("sfn", got[0], "source_sum", got[1], "ret", change.New(name, true, nil, ""), "backup", a.Backup))
	v, err := m.env.Call(ctx, "file.manage_file", nil, words)
	if err != nil {
		return unable(err)
	}
	ret, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Execution("file.manage_file returned no result: %s", data.Str(v))
	}
	return m.install(ctx, a, words.Text("name"), ret)
}

// three calls a function that returns so many values.
func (m *module) three(ctx context.Context, fun string, args []any, words *data.Map, n int) ([]any, error) {
	v, err := m.env.Call(ctx, fun, args, words)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if t, is := v.(data.Tuple); is {
		list, ok = t, true
	}
	if !ok || len(list) != n {
		return nil, loader.Execution("%s returned no result: %s", fun, data.Str(v))
	}
	return list, nil
}

// install makes the file at path the crontab where manage_file found a difference.
func (m *module) install(ctx context.Context, a fileArgs, path string, ret *data.Map) (any, error) {
	changes, _ := ret.Value("changes").(*data.Map)
	name := data.Str(a.Name)
	switch {
	case !changes.Has("diff") && data.Truth(ret.Value("result")):
		return change.Done(name, fmt.Sprintf("Crontab for user %s is in the correct state", a.User)), nil
	case !changes.Has("diff"):
		return ret, nil
	}
	v, err := m.env.Call(ctx, "cron.write_cron_file_verbose", []any{a.User, path}, nil)
	if err != nil {
		return nil, err
	}
	if ran, ok := v.(*data.Map); !ok || ran.Value("retcode") != int64(0) {
		return change.Failed(name, fmt.Sprintf("Unable to update user %s crontab %s. Error: %s", a.User, path, ran.Text("stderr"))), nil
	}
	return change.New(name, true, changes, fmt.Sprintf("Crontab for user %s was updated", a.User)), nil
}
