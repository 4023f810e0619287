package cron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
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

// file installs a file as the crontab of a user.
//
// name
//
//	The location of the file, as in source of file.managed. source_hash, source_hash_name,
//	template, context, defaults and backup work as there.
//
// user
//
//	The user whose crontab it is. Default: root.
//
// replace
//
//	False: keep an existing crontab.
//
//	salt://web/crontab:
//	  cron.file:
//	    - user: www-data
func (m *module) file(ctx context.Context, a fileArgs) (any, error) {
	user, _, err := calls.UserInfo(ctx, m.env, a.User)
	if err != nil || len(user.Groups) == 0 {
		return change.Failed(data.Str(a.Name), "Could not identify group for user "+a.User), nil //nolint:nilerr // Salt's text
	}
	now, err := loader.CallAs[string](ctx, m.env, "cron.raw_cron", []any{a.User}, nil)
	if err != nil {
		return nil, err
	}
	if !data.Truth(a.Replace) && now != "" {
		return change.Unchanged(data.Str(a.Name),
			fmt.Sprintf("User %s already has a crontab. No changes made", a.User)), nil
	}
	path, err := copied(now)
	if err != nil {
		return nil, loader.Execution("keep the crontab of %s for comparison: %w", a.User, err)
	}
	defer os.Remove(path)
	words := data.NewMap("name", path, "source", a.Name, "source_hash", a.SourceHash,
		"source_hash_name", a.SourceHashName, "user", a.User,
		"group", user.Groups[0], "mode", "0600", "attrs", nil, "template", a.Template, "context",
		a.Context, "defaults", a.Defaults, "saltenv", change.CallOf(ctx).SaltEnv)
	if change.Test(ctx) {
		words.Update(a.others())
		return m.compare(ctx, a, words)
	}
	return m.replace(ctx, a, words)
}

// copied writes a text to a new temporary file.
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

// others returns the further keyword arguments for file.managed, without those that the runner
// adds.
func (a fileArgs) others() *data.Map {
	words := &data.Map{}
	for key, v := range a.Kwargs.All() {
		if !strings.HasPrefix(data.Str(key), "__") {
			words.Set(key, v)
		}
	}
	return words
}

// compare returns the test mode result for the crontab.
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

// replace writes the crontab if it differs.
func (m *module) replace(ctx context.Context, a fileArgs, words *data.Map) (any, error) {
	name := data.Str(a.Name)
	unable := func(err error) (any, error) { return change.Failed(name, "Unable to manage file: "+err.Error()), nil }
	found, err := m.callList(ctx, "file.source_list",
		[]any{a.Name, a.SourceHash, words.Value("saltenv")}, nil, 2)
	if err != nil {
		return nil, err
	}
	words.Set("source", found[0])
	words.Set("source_hash", found[1])
	asked := words.Clone()
	asked.Set("skip_verify", false)
	asked.Update(a.others())
	got, err := m.callList(ctx, "file.get_managed", nil, asked, 3)
	if err != nil {
		return unable(err)
	}
	if data.Truth(got[2]) {
		return change.Failed(name, data.Str(got[2])), nil
	}
	for _, key := range []string{"source_hash", "source_hash_name", "template", "context",
		"defaults"} {
		words.Delete(key)
	}
	words.Update(data.NewMap("sfn", got[0], "source_sum", got[1],
		"ret", change.New(name, true, nil, ""), "backup", a.Backup))
	ret, err := loader.CallAs[*data.Map](ctx, m.env, "file.manage_file", nil, words)
	if err != nil {
		return unable(err)
	}
	return m.install(ctx, a, words.Text("name"), ret)
}

// callList calls a function that returns a list of n values.
func (m *module) callList(
	ctx context.Context, fun string, args []any, words *data.Map, n int,
) ([]any, error) {
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

// install makes the file at path the crontab if manage_file found a difference.
func (m *module) install(ctx context.Context, a fileArgs, path string, ret *data.Map) (any, error) {
	changes, _ := ret.Value("changes").(*data.Map)
	name := data.Str(a.Name)
	switch {
	case !changes.Has("diff") && data.Truth(ret.Value("result")):
		return change.Unchanged(name, fmt.Sprintf("Crontab for user %s is in the correct state",
			a.User)), nil
	case !changes.Has("diff"):
		return ret, nil
	}
	ran, err := loader.CallAs[*data.Map](ctx, m.env, "cron.write_cron_file_verbose",
		[]any{a.User, path}, nil)
	if err != nil {
		return nil, err
	}
	if ran.Value("retcode") != int64(0) {
		return change.Failed(name, fmt.Sprintf("Unable to update user %s crontab %s. Error: %s",
			a.User, path, ran.Text("stderr"))), nil
	}
	return change.New(name, true, changes,
		fmt.Sprintf("Crontab for user %s was updated", a.User)), nil
}
