//go:build unix

package file

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

// perms sets owners, modes, attributes and SELinux contexts.
type perms struct {
	env        *loader.Env
	attributes attributes
	contexts   contexts
}

func newPerms(env *loader.Env) perms { return perms{env, attributes{env}, contexts{env}} }

type checkPermsArgs struct {
	Name           string
	Ret            any
	User           any
	Group          any
	Mode           any
	Attrs          any       `default:"None"`
	FollowSymlinks bool      `default:"False"`
	Seuser         any       `default:"None"`
	Serole         any       `default:"None"`
	Setype         any       `default:"None"`
	Serange        any       `default:"None"`
	More           *data.Map `only:"within"` // a directory that links must not leave
}

// checkPerms sets the owners, mode and attributes of a file if they differ. It returns a state
// result with the changes, and the values from before. Attributes are ignored if the program lsattr
// is not installed.
//
// ret
//
//	The state result so far, or an empty dictionary.
//
// CLI Example:
//
//	salt '*' file.check_perms /etc/sudoers '{}' root root 400 ai
func (m perms) checkPerms(ctx context.Context, a checkPermsArgs) (any, error) {
	p := &permit{within: a.More.Value("within"),
		permsArgs: permsArgs{Name: a.Name, Ret: a.Ret,
			User: a.User, Group: a.Group, Mode: a.Mode, Attrs: a.Attrs,
			FollowSymlinks: a.FollowSymlinks, Seuser: a.Seuser, Serole: a.Serole, Setype: a.Setype,
			Serange: a.Serange}}
	ret, was, err := m.apply(ctx, p)
	if err != nil {
		return nil, err
	}
	return []any{ret, was}, nil
}

// A permit is the state of one check_perms call.
type permit struct {
	permsArgs
	ret, changes, was *data.Map
	comments          []string
	test              bool
	mode              string
	hasMode           bool // a mode is wanted
	through           bool // the path is not a link, or links are followed
	within            any  // the directory that must contain the file
}

func (m perms) set(ctx context.Context, a permsArgs) (ret, was *data.Map, err error) {
	return m.apply(ctx, &permit{permsArgs: a})
}

func (m perms) apply(ctx context.Context, p *permit) (ret, was *data.Map, err error) {
	p.Name, p.test = home(p.Name), testMode(ctx, m.env)
	a := p.permsArgs
	p.through = a.FollowSymlinks || !paths.IsLink(a.Name)
	p.mode, p.hasMode = normalMode(a.Mode)
	p.begin()
	before, err := statsOf(statsArgs{Path: a.Name, FollowSymlinks: a.FollowSymlinks})
	if err != nil {
		return nil, nil, err
	}
	p.remember(before)
	if err := p.change(ctx, before); err != nil {
		return nil, nil, err
	}
	after, err := statsOf(statsArgs{Path: a.Name, FollowSymlinks: a.FollowSymlinks})
	if err != nil {
		return nil, nil, err
	}
	p.verify(after)
	if a.Attrs != nil && !paths.IsDir(a.Name) && p.through {
		if err := m.attributes.permit(ctx, p); err != nil {
			return nil, nil, err
		}
	}
	if err := m.contexts.permit(ctx, p); err != nil {
		return nil, nil, err
	}
	p.ret.Set("comment", strings.Join(p.comments, "; "))
	if p.test && p.changes.Len() > 0 {
		p.ret.Set("result", nil)
	}
	return p.ret, p.was, nil
}

// begin copies the result so far.
func (p *permit) begin() {
	so, _ := p.Ret.(*data.Map)
	if so.Len() == 0 {
		p.changes = data.NewMap()
		p.ret = data.NewMap("name", p.Name, "changes", p.changes, "comment", "", "result", true)
		return
	}
	p.ret = so.Clone()
	if old, ok := so.Value("changes").(*data.Map); ok {
		p.changes = old.Clone()
	} else {
		p.changes = data.NewMap()
	}
	p.ret.Set("changes", p.changes)
	if said := so.Text("comment"); said != "" {
		p.comments = []string{said}
	}
}

// remember records the current values, and which of them differ.
func (p *permit) remember(st *data.Map) {
	p.was = data.NewMap("luser", st.Value("user"), "lgroup", st.Value("group"),
		"lmode", st.Value("mode"))
	if _, ok := p.User.(int64); ok {
		p.was.Set("luser", st.Value("uid"))
	}
	if _, ok := p.Group.(int64); ok {
		p.was.Set("lgroup", st.Value("gid"))
	}
	if p.userDiffers(st) {
		p.was.Set("cuser", p.User)
	}
	if p.groupDiffers(st) {
		p.was.Set("cgroup", p.Group)
	}
	if p.modeDiffers(st) && !p.test {
		p.was.Set("cmode", p.mode)
	}
}

func (p *permit) userDiffers(st *data.Map) bool {
	return data.Truth(p.User) && !data.Equal(p.User, st.Value("user")) &&
		!data.Equal(p.User, st.Value("uid"))
}

func (p *permit) groupDiffers(st *data.Map) bool {
	return data.Truth(p.Group) && !data.Equal(p.Group, st.Value("group")) &&
		!data.Equal(p.Group, st.Value("gid"))
}

func (p *permit) modeDiffers(st *data.Map) bool {
	return p.hasMode && p.through && p.mode != st.Text("mode")
}

// change sets owners and mode, unless in test mode.
func (p *permit) change(ctx context.Context, now *data.Map) error {
	if p.test {
		return nil
	}
	if p.userDiffers(now) || p.groupDiffers(now) {
		if err := p.own(ctx, now); err != nil {
			return err
		}
	}
	if p.modeDiffers(now) {
		return p.chmod(ctx, p.mode)
	}
	return nil
}

// own sets the owners. The system then clears setuid and setgid, so the mode is set again.
func (p *permit) own(ctx context.Context, now *data.Map) error {
	a := chownArgs{p.Name, p.User, p.Group}
	if a.User == nil {
		a.User = now.Value("user")
	}
	if a.Group == nil {
		a.Group = now.Value("group")
	}
	give := chown
	if !p.FollowSymlinks {
		give = func(ctx context.Context, a chownArgs) (any, error) { return chownIn(ctx, p.within, a) }
	}
	complaint, err := give(ctx, a)
	switch {
	case err != nil:
		p.ret.Set("result", false)
		return nil
	case complaint != nil:
		p.ret.Set("result", false)
		p.comments = append(p.comments, data.Str(complaint))
		return nil
	case !p.through:
		return nil
	}
	return p.chmod(ctx, now.Value("mode"))
}

// verify records what has changed, would change, or could not be changed.
func (p *permit) verify(now *data.Map) {
	p.record("user", p.User, p.userDiffers(now), "cuser")
	p.record("group", p.Group, p.groupDiffers(now), "cgroup")
	p.record("mode", p.mode, p.modeDiffers(now), "cmode")
}

func (p *permit) record(what string, want any, differs bool, mark string) {
	switch {
	case differs && !p.test:
		p.ret.Set("result", false)
		p.comments = append(p.comments, "Failed to change "+what+" to "+data.Str(want))
	case differs || p.was.Has(mark):
		p.changes.Set(what, want)
	}
}
