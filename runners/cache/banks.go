package cache

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/runners"
)

func (m *module) banks() []loader.Func {
	return []loader.Func{
		loader.F("clear_git_lock", m.clearGitLock),
		loader.F("cloud", m.cloud),
		loader.F("fetch", m.fetch).SecretResult(loader.SecretAll),
		loader.F("flush", m.flush),
		loader.F("list", m.list).Def("list_"),
		loader.F("store", m.storeValue).Secret("data"),
	}
}

// in calls do with the bank of a cachedir; None means the master's own.
func (m *module) in(cachedir any, do func(b cache.Bank) error) error {
	if cachedir == nil || data.Str(cachedir) == m.env.Opts.Text("cachedir") {
		return do(m.needs.Bank)
	}
	dir := data.Str(cachedir)
	if !filepath.IsAbs(dir) {
		return loader.Execution("cachedir %q is not an absolute path", dir)
	}
	b, err := localfs.Open(filepath.Clean(dir))
	if err != nil {
		return loader.Execution("%w", err)
	}
	return errors.Join(do(b), b.Close())
}

type storeArgs struct {
	Bank     string
	Key      string
	Data     any
	Cachedir any `default:"None"`
}

// storeValue stores a value in a bank of the cache.
//
// CLI Example:
//
//	salt-run cache.store mycache mykey 'The time has come the walrus said'
func (m *module) storeValue(_ context.Context, a storeArgs) (any, error) {
	return nil, m.in(a.Cachedir, func(b cache.Bank) error { return store(b, a.Bank, a.Key, a.Data) })
}

type listArgs struct {
	Bank     string
	Cachedir any `default:"None"`
}

// list returns the keys in a bank of the cache, and the banks below it.
//
// CLI Example:
//
//	salt-run cache.list cloud/active/ec2/myec2 cachedir=/var/cache/salt/
func (m *module) list(_ context.Context, a listArgs) (any, error) {
	ret := []any{}
	err := m.in(a.Cachedir, func(b cache.Bank) error {
		keys, err := b.List(a.Bank)
		for _, k := range keys {
			ret = append(ret, k)
		}
		return err
	})
	return ret, err
}

type fetchArgs struct {
	Bank     string
	Key      string
	Cachedir any `default:"None"`
}

// fetch returns a value of a bank of the cache, or an empty dictionary if it does not exist. The
// value may be a minion's pillar, so events and the job cache omit it.
//
// CLI Example:
//
//	salt-run cache.fetch cloud/active/ec2/myec2 myminion cachedir=/var/cache/salt/
func (m *module) fetch(_ context.Context, a fetchArgs) (any, error) {
	var v any = data.NewMap()
	err := m.in(a.Cachedir, func(b cache.Bank) error {
		raw, err := b.Fetch(a.Bank, a.Key)
		if errors.Is(err, cache.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		v, err = payload.UnmarshalText(raw, payload.WireLimits())
		return err
	})
	return v, err
}

type flushArgs struct {
	Bank     string
	Key      any `default:"None"`
	Cachedir any `default:"None"`
}

// flush deletes a value of a bank of the cache, or the whole bank and those below it. It returns
// whether anything was deleted.
//
// CLI Example:
//
//	salt-run cache.flush cloud/active/ec2/myec2 cachedir=/var/cache/salt/
//	salt-run cache.flush cloud/active/ec2/myec2 myminion cachedir=/var/cache/salt/
func (m *module) flush(_ context.Context, a flushArgs) (any, error) {
	there := false
	err := m.in(a.Cachedir, func(b cache.Bank) error {
		if a.Key == nil {
			keys, err := b.List(a.Bank)
			there = len(keys) > 0
			return errors.Join(err, b.Flush(a.Bank, ""))
		}
		key := data.Str(a.Key)
		if key == "" {
			return loader.Execution("the key is empty")
		}
		_, err := b.Fetch(a.Bank, key)
		if errors.Is(err, cache.ErrNotFound) {
			return nil
		}
		there = err == nil
		return errors.Join(err, b.Flush(a.Bank, key))
	})
	return there, err
}

type gitLockArgs struct {
	Role   string
	Remote string    `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// clearGitLock removes the locks that block updates of git repositories, for example after an
// interrupted update.
//
// role
//
//	gitfs, git_pillar or winrepo.
//
// remote
//
//	Only those remotes whose address contains this text.
//
// type
//
//	The kinds of locks, as a list or comma-separated: update, checkout, mountpoint.
//
// CLI Example:
//
//	salt-run cache.clear_git_lock gitfs
//	salt-run cache.clear_git_lock gitfs type=update,checkout
func (m *module) clearGitLock(ctx context.Context, a gitLockArgs) (any, error) {
	if !slices.Contains([]string{"gitfs", "git_pillar", "winrepo"}, a.Role) {
		return nil, loader.Invocation("Invalid role '%s'", a.Role)
	}
	kinds := []string{"update", "checkout", "mountpoint"}
	for k, v := range a.Kwargs.All() {
		switch name := data.Str(k); {
		case name == "type":
			kinds = loader.SplitList(v)
		case !strings.HasPrefix(name, "__"):
			return nil, loader.Invocation("The following keyword arguments are not valid: %s=%s",
				name, data.Str(v))
		}
	}
	if m.needs.Locks == nil {
		return nil, &runners.UnableError{Text: "There are no git repositories here."}
	}
	return m.clearLocks(ctx, a, kinds)
}

func (m *module) clearLocks(ctx context.Context, a gitLockArgs, kinds []string) (any, error) {
	var cleared, failed []any
	for _, kind := range kinds {
		done, wrong, err := m.needs.Locks.ClearLock(ctx, a.Role, a.Remote, kind)
		if err != nil {
			return nil, err
		}
		for _, s := range done {
			cleared = append(cleared, s)
		}
		for _, s := range wrong {
			failed = append(failed, s)
		}
	}
	ret := &data.Map{}
	if cleared != nil {
		ret.Set("cleared", cleared)
	}
	if failed != nil {
		ret.Set("errors", failed)
	}
	if ret.Len() == 0 {
		return "No locks were removed", nil
	}
	return ret, nil
}

type cloudArgs struct {
	Tgt      any
	Provider any `default:"None"`
}

// cloud is not supported: it would return salt-cloud's cached machines, and there is no salt-cloud
// here.
//
// CLI Example:
//
//	salt-run cache.cloud 'salt*'
func (m *module) cloud(context.Context, cloudArgs) (any, error) {
	return nil, &runners.UnableError{Text: "cache.cloud needs salt-cloud, which this release does not have."}
}
