package fileserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/loader"
)

func (m *module) sources() []loader.Func {
	return []loader.Func{
		loader.F("clear_cache", m.clearCache),
		loader.F("clear_file_list_cache", m.clearFileListCache),
		loader.F("clear_lock", m.clearLock),
		loader.F("lock", m.lock),
		loader.F("update", m.update),
	}
}

type updateArgs struct {
	Backend any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// update fetches changes from the sources of the file server. With fileserver_events it fires an
// event about the changes.
//
// backend
//
//	As in fileserver.envs.
//
// remotes
//
//	Only the remotes with these names, or whose address contains one of them. Another name of the argument is remote.
//
// CLI Example:
//
//	salt-run fileserver.update
//	salt-run fileserver.update backend=roots,git
//	salt-run fileserver.update backend=git remotes=myrepo,yourrepo
func (m *module) update(ctx context.Context, a updateArgs) (any, error) {
	remotes := a.Kwargs.Value("remotes")
	if !data.Truth(remotes) {
		remotes = a.Kwargs.Value("remote")
	}
	announce := func(backend string, c fileserver.Change) { m.announce(ctx, backend, c) }
	m.warnOfBackends(backends(a.Backend))
	if !data.Truth(remotes) {
		err := m.files.Update(ctx, announce, backends(a.Backend)...)
		return true, err
	}
	for _, b := range m.files.Select(backends(a.Backend)...) {
		if r, ok := b.(fileserver.RemoteUpdater); ok {
			c, err := r.UpdateRemotes(ctx, loader.SplitList(remotes))
			if err != nil {
				return nil, loader.Execution("update %s: %w", b.Name(), err)
			}
			announce(b.Name(), c)
		}
	}
	return true, nil
}

// warnOfBackends logs unknown names of backends, which Salt also ignores.
func (m *module) warnOfBackends(asked []string) {
	if m.env.Log == nil {
		return
	}
	for _, name := range asked {
		if name = strings.TrimPrefix(name, "-"); len(m.files.Select(name)) == 0 {
			m.env.Log.Warnf("fileserver: backend %s is not in use and is ignored", name)
		}
	}
}

// announce fires an event about the changes of an update, if events of the file server are enabled
// and a master accepts them.
func (m *module) announce(ctx context.Context, backend string, c fileserver.Change) {
	if !data.Truth(m.env.Opts.Value("fileserver_events")) || m.env.Host.FireMaster == nil {
		return
	}
	if err := m.env.Host.FireMaster(ctx, eventbus.Tagify("fileserver", backend, "update"),
		c.Event(backend)); err != nil && m.env.Log != nil {
		m.env.Log.WithError(err).Debug("announce an update of the file server")
	}
}

type backendArgs struct {
	Backend any `default:"None"`
}

// clearCache deletes the backends' copies of repositories on disk.
//
// CLI Example:
//
//	salt-run fileserver.clear_cache
//	salt-run fileserver.clear_cache backend=git,hg
//	salt-run fileserver.clear_cache -roots
func (m *module) clearCache(ctx context.Context, a backendArgs) (any, error) {
	var cleared, failed []string
	for _, b := range m.files.Select(backends(a.Backend)...) {
		c, ok := b.(fileserver.Clearer)
		if !ok {
			continue
		}
		if wrong := c.ClearCache(ctx); len(wrong) > 0 {
			failed = append(failed, wrong...)
		} else {
			cleared = append(cleared, fmt.Sprintf("The %s fileserver cache was successfully cleared", b.Name()))
		}
	}
	return report("cleared", cleared, failed, "No cache was cleared"), nil
}

type lockArgs struct {
	Backend any `default:"None"`
	Remote  any `default:"None"`
}

// clearLock removes the locks that block updates of repositories, for example after an interrupted
// update.
//
// CLI Example:
//
//	salt-run fileserver.clear_lock
//	salt-run fileserver.clear_lock backend=git remote=github
func (m *module) clearLock(ctx context.Context, a lockArgs) (any, error) {
	cleared, failed := m.eachLocker(a,
		func(l fileserver.Locker, remote string) ([]string, []string) {
			return l.ClearLock(ctx, remote, "update")
		})
	return report("cleared", cleared, failed, "No locks were removed"), nil
}

// lock blocks updates of repositories.
//
// CLI Example:
//
//	salt-run fileserver.lock
//	salt-run fileserver.lock backend=git remote='*github.com*'
func (m *module) lock(ctx context.Context, a lockArgs) (any, error) {
	locked, failed := m.eachLocker(a,
		func(l fileserver.Locker, remote string) ([]string,
			[]string) {
			return l.Lock(ctx, remote)
		})
	return report("locked", locked, failed, "No locks were set"), nil
}

func (m *module) eachLocker(
	a lockArgs, do func(fileserver.Locker, string) ([]string, []string),
) (done, failed []string) {
	remote, ok := a.Remote.(string)
	for _, b := range m.files.Select(backends(a.Backend)...) {
		l, locks := b.(fileserver.Locker)
		switch {
		case !locks:
		case !ok && data.Truth(a.Remote):
			failed = append(failed, fmt.Sprintf("Badly formatted remote pattern '%s'",
				data.Str(a.Remote)))
		default:
			good, bad := do(l, remote)
			done, failed = append(done, good...), append(failed, bad...)
		}
	}
	return done, failed
}

// report returns what succeeded and what failed. If both are empty it returns the text nothing.
func report(verb string, done, failed []string, nothing string) any {
	ret := &data.Map{}
	if len(done) > 0 {
		ret.Set(verb, data.Values(done))
	}
	if len(failed) > 0 {
		ret.Set("errors", data.Values(failed))
	}
	if ret.Len() == 0 {
		return nothing
	}
	return ret
}

type clearListArgs struct {
	Saltenv any `default:"None"`
	Backend any `default:"None"`
}

// clearFileListCache drops the lists of files that the running master holds in memory. It returns
// the environments whose lists were dropped, by backend; none if no master runs. salt-run lets the
// master do it, as a job of its own in the job cache.
//
// saltenv
//
//	Only these environments: comma-separated names, or a list.
//
// backend
//
//	As in fileserver.envs.
//
// CLI Example:
//
//	salt-run fileserver.clear_file_list_cache
//	salt-run fileserver.clear_file_list_cache saltenv=base backend=roots
func (m *module) clearFileListCache(ctx context.Context, a clearListArgs) (any, error) {
	if m.master != nil {
		ret, running, err := m.master(ctx, "fileserver.clear_file_list_cache",
			data.NewMap("saltenv", a.Saltenv, "backend", a.Backend))
		if err != nil {
			return nil, fmt.Errorf("clear lists of files in the running master: %w", err)
		}
		if !running {
			return &data.Map{}, nil
		}
		return ret, nil
	}
	var envs []string
	if a.Saltenv != nil {
		envs = append([]string{}, loader.SplitList(a.Saltenv)...) // not nil, which means all
	}
	ret := &data.Map{}
	for _, b := range m.files.Select(backends(a.Backend)...) {
		l, ok := b.(fileserver.Lister)
		if !ok {
			continue
		}
		if cleared := l.ClearLists(ctx, envs); len(cleared) > 0 {
			slices.Sort(cleared)
			ret.Set(b.Name(), data.Values(cleared))
		}
	}
	return ret, nil
}
