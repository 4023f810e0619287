// Package git is Salt's state git: cloning, updating and configuring repositories
// (salt/states/git.py).
//
// latest.go contains git.latest, which reads the repository and the remote refs; clone.go clones,
// update.go updates an existing clone. detached.go, cloned.go, present.go and config.go contain the
// other functions.
//
// Differences from Salt: git before 2.0 is not supported. Tags in changes are sorted. For an
// up-to-date repository, git.latest reports what it did in sentences, whereas Salt puts a full stop
// after each letter.
package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state git. It loads only if the program git is installed.
func Plugin() loader.Plugin { return loader.Plugin{Name: "git", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("git") == "" {
		return nil, errors.New("git module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("cloned", m.cloned).Secret("password", "https_pass"),
		loader.F("config_set", m.configSet).Secret("password"),
		loader.F("config_unset", m.configUnset).Secret("password"),
		loader.F("detached", m.detached).Secret("password", "https_pass"),
		loader.F("latest", m.latest).Secret("password", "https_pass"),
		loader.F("present", m.present).Secret("password"),
	}}, nil
}

// A caller calls functions of the module git for one repository.
type caller struct {
	m                        *module
	target                   string
	user, password, encoding any
	identity                 any
	httpsUser, httpsPass     any
}

// call calls a function with the user's arguments and more keywords.
func (c *caller) call(ctx context.Context, fun string, args []any, more ...any) (any, error) {
	kwargs := data.NewMap("user", c.user, "password", c.password, "output_encoding", c.encoding)
	kwargs.Update(data.NewMap(more...))
	return c.m.env.Call(ctx, "git."+fun, args, kwargs)
}

// text calls a function that returns a string.
func (c *caller) text(ctx context.Context, fun string, args []any, more ...any) (string, error) {
	v, err := c.call(ctx, fun, args, more...)
	if err != nil {
		return "", err
	}
	return data.Str(v), nil
}

// dict calls a function that returns a dictionary.
func (c *caller) dict(ctx context.Context, fun string, args []any, more ...any) (*data.Map, error) {
	v, err := c.call(ctx, fun, args, more...)
	if err != nil {
		return nil, err
	}
	return calls.FoundIn[*data.Map]("git."+fun, v)
}

// list calls a function that returns a list.
func (c *caller) list(ctx context.Context, fun string) ([]string, error) {
	v, err := c.call(ctx, fun, []any{c.target})
	if err != nil {
		return nil, err
	}
	list, err := calls.FoundIn[[]any]("git."+fun, v)
	return data.Texts(list), err
}

// parse returns the commit of a revision, "" if there is none.
func (c *caller) parse(ctx context.Context, rev string, opts ...any) (string, error) {
	return c.found(c.text(ctx, "rev_parse", []any{c.target, rev}, "opts", opts,
		"ignore_retcode", true))
}

// found treats a failure of git as "".
func (c *caller) found(v string, err error) (string, error) {
	if loader.KindOf(err) == loader.KindExecution {
		return "", nil
	}
	return v, err
}

// head returns the commit and the branch that are checked out, "" if there is none.
func (c *caller) head(ctx context.Context) (rev, branch string, err error) {
	if rev, err = c.found(c.text(ctx, "revision", []any{c.target},
		"ignore_retcode", true)); err != nil {
		return "", "", err
	}
	branch, err = c.found(c.text(ctx, "current_branch", []any{c.target}, "ignore_retcode", true))
	return rev, branch, err
}

// hasRepository reports whether the target is a repository with a working tree, or inside one.
func (c *caller) hasRepository(ctx context.Context, sign string) (bool, error) {
	if paths.IsDir(filepath.Join(c.target, sign)) {
		return true, nil
	}
	v, err := c.call(ctx, "is_worktree", []any{c.target})
	return data.Truth(v), err
}

// remoteURL returns the fetch URL of a remote, "" if there is no such remote.
func (c *caller) remoteURL(ctx context.Context, remote string) (string, error) {
	all, err := c.dict(ctx, "remotes", []any{c.target}, "redact_auth", false)
	if err != nil {
		return "", err
	}
	one, err := calls.FoundIn[*data.Map]("git.remotes", all.Value(remote))
	return one.Text("fetch"), err
}

func (c *caller) clone(ctx context.Context, url string, opts []any) error {
	_, err := c.call(ctx, "clone", []any{c.target, url}, "opts", opts, "identity", c.identity,
		"https_user", c.httpsUser, "https_pass", c.httpsPass,
		"saltenv", change.CallOf(ctx).SaltEnv)
	return err
}

func (c *caller) fetch(
	ctx context.Context, remote string, force bool, refspecs []any,
) (bool, error) {
	v, err := c.call(ctx, "fetch", []any{c.target}, "remote", remote, "force", force,
		"refspecs", refspecs, "identity", c.identity, "saltenv",
		change.CallOf(ctx).SaltEnv)
	return data.Truth(v), err
}

func (c *caller) submodules(ctx context.Context) error {
	_, err := c.call(ctx, "submodule", []any{c.target, "update"},
		"opts", []any{"--init", "--recursive"}, "identity", c.identity, "saltenv",
		change.CallOf(ctx).SaltEnv)
	return err
}

// A report collects the result of a state, and the actions so far.
type report struct {
	ret  *data.Map
	done []string
}

func newReport(name any) *report {
	return &report{ret: data.NewMap("name", name, "result", true, "comment", "",
		"changes", data.NewMap())}
}

func (r *report) changes() *data.Map { return r.ret.Value("changes").(*data.Map) }

func (r *report) addAction(what string) { r.done = append(r.done, what) }

func (r *report) end(result any, comment string) *data.Map {
	r.ret.Set("result", result)
	r.ret.Set("comment", comment)
	return r.ret
}

func (r *report) fail(comment string) *data.Map {
	if r.done != nil {
		comment += "\n\nChanges already made: " + sentences(r.done)
	}
	return r.end(false, comment)
}

// ended returns the result of a Thing with its keys in the same order as other results.
func ended(ret change.Result, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	r, m := newReport(ret.Name), ret.Map()
	r.ret.Set("changes", m.Value("changes"))
	return r.end(m.Value("result"), m.Text("comment")), nil
}

// neutral ends a test mode run that would change something.
func (r *report) neutral(comment string) *data.Map { return r.end(nil, comment) }

// upToDate ends a run with nothing to do for the checked out commit.
func (r *report) upToDate(ctx context.Context, target string, what []string, local bool) *data.Map {
	comment := "Repository " + target + " is up-to-date"
	if local {
		comment += ", but with uncommitted changes. Set 'force_reset' to True to purge uncommitted changes."
	}
	return r.end(true, comment+made(ctx, what))
}

func made(ctx context.Context, what []string) string {
	if len(what) == 0 {
		return ""
	}
	would := ""
	if change.Test(ctx) {
		would = "that would be "
	}
	return "\n\nChanges " + would + "made: " + sentences(what)
}

func sentences(list []string) string {
	if len(list) > 1 {
		return strings.Join(list, ". ") + "."
	}
	return strings.Join(list, "")
}

// unexpected ends a state because of an error of a function that it called.
func (r *report) unexpected(err error) (any, error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return r.fail(bare(err)), nil
}

// bare returns git's error message without the command.
func bare(err error) string {
	return regexp.MustCompile(`^Command ['"].+['"] failed: `).ReplaceAllString(err.Error(), "")
}

func redact(text string) string {
	return regexp.MustCompile(`(?i)(https?)://.*@`).ReplaceAllString(text, "$1://<redacted>@")
}

// full returns a URL with user and password. The second result is an error message.
func full(url string, user, password any) (string, string) {
	if user == nil && password == nil {
		return url, ""
	}
	rest, ok := strings.CutPrefix(url, "https://")
	if !ok {
		return "", "Basic Auth only supported for HTTPS"
	}
	who := data.Str(user)
	if password != nil {
		who += ":" + data.Str(password)
	}
	return "https://" + who + "@" + rest, ""
}

// identities returns keys as a list of absolute paths or salt:// URLs. The second result is an
// error message.
func identities(v any, word string) (any, string) {
	var list []any
	switch v := v.(type) {
	case nil:
		return nil, ""
	case string:
		list = []any{v}
	case []any:
		list = slices.Clone(v)
	default:
		return nil, word + " must be either a list or a string"
	}
	for i := range list {
		path := accounts.Expand(data.Str(list[i]))
		if !strings.Contains(path, "salt://") && !filepath.IsAbs(path) {
			return nil, word + " '" + path + "' is not an absolute path"
		}
		list[i] = path
	}
	return list, ""
}

// unknown returns an error message for unexpected keyword arguments.
func unknown(kwargs *data.Map, known ...string) string {
	bad := &data.Map{}
	for k, v := range kwargs.All() {
		if name := data.Str(k); !strings.HasPrefix(name, "__") && !slices.Contains(known, name) {
			bad.Set(k, v)
		}
	}
	if err := loader.Unknown(bad); err != nil {
		return err.Error()
	}
	return ""
}

// text returns an argument as a string, "" for None.
func text(v any) string {
	if v == nil {
		return ""
	}
	return data.Str(v)
}

func short(commit string) string { return commit[:min(7, len(commit))] }

func shortOrNone(commit string) string {
	if commit == "" {
		return "None"
	}
	return short(commit)
}

func orNone(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// hexadecimal reports whether a revision may be a commit.
func hexadecimal(rev string) bool {
	return len(rev) <= 40 && strings.Trim(rev, "0123456789abcdefABCDEF") == ""
}

// vacate empties a directory if force is set. It returns a result if the state ends there.
func (r *report) vacate(
	ctx context.Context, target, name string, force bool, would func(),
) *data.Map {
	list, err := os.ReadDir(target)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return r.fail(loader.OSError(err).Error())
	case !force && len(list) > 0:
		return r.fail("Target '" + target +
			"' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to remove " +
			"this directory's contents and proceed with cloning the remote repository")
	case !force:
		return nil
	case change.Test(ctx):
		would()
		return r.neutral("Target directory " + target +
			" exists. Since force_clone=True, the contents of " + target +
			" would be deleted, and " + name +
			" would be cloned into this directory.")
	}
	var failed []string
	for _, entry := range list {
		path := filepath.Join(target, entry.Name())
		if err := os.RemoveAll(path); err != nil {
			failed = append(failed, "  "+path+"\n    "+loader.OSError(err).Error())
		}
	}
	if failed != nil {
		return r.fail("Unable to remove\n" + strings.Join(failed, "\n"))
	}
	r.changes().Set("forced clone", true)
	return nil
}
