package file

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/dacl"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/loader"
)

// perms sets owners and access control lists.
type perms struct{ env *loader.Env }

func newPerms(env *loader.Env) perms { return perms{env} }

type checkPermsArgs struct {
	Path        string
	Ret         any       `default:"None"`
	Owner       any       `default:"None"`
	GrantPerms  *data.Map `default:"None"`
	DenyPerms   *data.Map `default:"None"`
	Inheritance any       `default:"True"`
	Reset       bool      `default:"False"`
}

// checkAccess sets the owner and the access control list of a file if they differ, and returns a
// state result with the changes.
//
// ret
//
//	The state result so far, or an empty dictionary.
//
// grant_perms, deny_perms
//
//	For each user or group a dictionary with perms (the name of a basic permission, or a list of
//	advanced ones) and applies_to.
//
// inheritance : True
//
//	Whether the permissions of the directory above apply too; None keeps it as it is.
//
// reset : False
//
//	Remove permissions of other users and groups that are not inherited.
//
// CLI Example:
//
//	salt '*' file.check_perms 'C:\\Temp\\' '{}' Administrators '{"Users": {"perms": "read_execute"}}'
func (m perms) checkAccess(ctx context.Context, a checkPermsArgs) (any, error) {
	if !paths.Exists(a.Path) {
		return nil, loader.Execution("Path not found: %s", a.Path)
	}
	ret, _, err := m.set(ctx, permsArgs{Name: a.Path, Ret: a.Ret, User: a.Owner,
		access: accessList{a.GrantPerms, a.DenyPerms, a.Inheritance, a.Reset}})
	return ret, err
}

type setPermsArgs struct {
	Path        string
	GrantPerms  *data.Map `default:"None"`
	DenyPerms   *data.Map `default:"None"`
	Inheritance any       `default:"True"`
	Reset       bool      `default:"False"`
}

// setPerms changes the access control list of a file, and returns True.
//
// CLI Example:
//
//	salt '*' file.set_perms 'C:\\Temp\\' '{"Users": {"perms": "read_execute"}}'
func (m perms) setPerms(ctx context.Context, a setPermsArgs) (any, error) {
	ret, _, err := m.set(ctx, permsArgs{Name: a.Path,
		access: accessList{a.GrantPerms, a.DenyPerms, a.Inheritance, a.Reset}})
	if err == nil && ret.Value("result") == false {
		err = loader.Execution("%s", ret.Text("comment"))
	}
	return err == nil, err
}

// A permit is the state of one check_perms call.
type permit struct {
	permsArgs
	ret, changes *data.Map
	comments     []string
	list         dacl.List
	edited       bool
}

// set gives a file its owner and its access control list, or in test mode only reports what would
// change. The second map is empty: Windows has no earlier mode to compare with.
func (m perms) set(ctx context.Context, a permsArgs) (ret, was *data.Map, err error) {
	a.Name = home(a.Name)
	p := &permit{permsArgs: a}
	p.begin()
	test := testMode(ctx, m.env)
	if err := p.own(test); err != nil {
		return nil, nil, err
	}
	if p.access != (accessList{}) {
		if err := p.permit(test); err != nil {
			return nil, nil, err
		}
	}
	p.ret.Set("comment", strings.Join(p.comments, "\n"))
	if test && p.changes.Len() > 0 {
		p.ret.Set("result", nil)
	}
	return p.ret, data.NewMap(), nil
}

// begin copies the result so far.
func (p *permit) begin() {
	p.changes = data.NewMap()
	so, _ := p.Ret.(*data.Map)
	if so.Len() == 0 {
		p.ret = data.NewMap("name", p.Name, "changes", p.changes, "comment", "", "result", true)
		return
	}
	p.ret = so.Clone()
	if old, ok := so.Value("changes").(*data.Map); ok {
		p.changes = old.Clone()
	}
	p.ret.Set("changes", p.changes)
	if said := so.Text("comment"); said != "" {
		p.comments = []string{said}
	}
}

// own sets the owner.
func (p *permit) own(test bool) error {
	if !data.Truth(p.User) {
		return nil
	}
	name := dacl.Name(data.Str(p.User))
	now, err := dacl.Owner(p.Name)
	if err != nil {
		return loader.Execution("read the owner of %s: %w", p.Name, err)
	}
	if wanted, err := dacl.SID(data.Str(p.User)); err == nil && wanted == now {
		return nil
	}
	if !test {
		if err := dacl.SetOwner(p.Name, data.Str(p.User)); err != nil {
			p.fail(`Failed to change owner to "` + name + `"`)
			return nil
		}
	}
	p.changes.Set("owner", name)
	return nil
}

func (p *permit) fail(comment string) {
	p.ret.Set("result", false)
	p.comments = append(p.comments, comment)
}

// permit changes the access control list.
func (p *permit) permit(test bool) (err error) {
	if p.list, err = dacl.Read(p.Name); err != nil {
		return loader.Execution("read the access control list of %s: %w", p.Name, err)
	}
	if inherit, ok := p.access.inherit.(bool); ok && inherit != p.list.Inherits {
		p.list.Inherits, p.edited = inherit, true
		p.changes.Set("inheritance", inherit)
	}
	if p.access.reset {
		p.resetOthers()
	}
	for _, kind := range []struct {
		deny   bool
		wanted *data.Map
	}{{true, p.access.deny}, {false, p.access.grant}} {
		for account, wanted := range kind.wanted.All() {
			if err := p.allow(data.Str(account), wanted, kind.deny); err != nil {
				return err
			}
		}
	}
	if test || !p.edited {
		return nil
	}
	if err := p.list.Write(p.Name); err != nil {
		return loader.Execution("write the access control list of %s: %w", p.Name, err)
	}
	return nil
}

// resetOthers removes the entries of accounts that are not wanted.
func (p *permit) resetOthers() {
	wanted := map[bool]map[string]bool{true: sids(p.access.deny), false: sids(p.access.grant)}
	for _, e := range p.list.Ordered() {
		if wanted[e.Deny][e.SID] {
			continue
		}
		p.list, p.edited = p.list.Without(e.SID, e.Deny), true
		removed, _ := p.changes.Value("remove_perms").(*data.Map)
		if removed == nil {
			removed = data.NewMap()
			p.changes.Set("remove_perms", removed)
		}
		one, _ := removed.Value(dacl.Name(e.SID)).(*data.Map)
		if one == nil {
			one = data.NewMap()
			removed.Set(dacl.Name(e.SID), one)
		}
		one.Set(e.Kind(), data.NewMap("applies to", e.ScopeText(), "permissions", e.Rights()))
	}
}

func sids(accounts *data.Map) map[string]bool {
	set := map[string]bool{}
	for account := range accounts.All() {
		if sid, err := dacl.SID(data.Str(account)); err == nil {
			set[sid] = true
		}
	}
	return set
}

// allow sets the entry of one account.
func (p *permit) allow(account string, wanted any, deny bool) error {
	e := dacl.Entry{Deny: deny}
	label := e.Kind() + "_perms"
	sid, err := dacl.SID(account)
	if err != nil {
		p.comments = append(p.comments, strings.Title(e.Kind())+ //nolint:staticcheck // one word
			" Perms: Could not find a corresponding username for: "+account)
		return nil
	}
	now, there := p.list.Own(sid, deny)
	e, change, err := entryOf(sid, wanted, deny, now)
	if !paths.IsDir(p.Name) {
		e.Flags = 0 // nothing is below a file
	}
	if err != nil {
		return err
	}
	if there && now == e {
		return nil
	}
	p.list, p.edited = p.list.With(e), true
	changes, _ := p.changes.Value(label).(*data.Map)
	if changes == nil {
		changes = data.NewMap()
		p.changes.Set(label, changes)
	}
	changes.Set(account, change)
	return nil
}

// entryOf returns the wanted entry of an account, and how results show it. Without applies_to it
// keeps that of the entry there, or applies to a directory and all below it.
func entryOf(sid string, wanted any, deny bool, now dacl.Entry) (dacl.Entry, *data.Map, error) {
	settings, _ := wanted.(*data.Map)
	rights := settings.Value("perms")
	name, isBasic := rights.(string)
	names := []string{name}
	if list, ok := rights.([]any); ok {
		names = data.Texts(list)
	}
	mask, err := dacl.Mask(names, isBasic)
	if err != nil {
		return dacl.Entry{}, nil, loader.Execution("%w", err)
	}
	e := dacl.Entry{SID: sid, Deny: deny, Mask: mask, Flags: now.Flags}
	change := data.NewMap("permissions", rights)
	scope := settings.Text("applies_to")
	if scope != "" {
		change.Set("applies_to", scope)
	} else if now.SID == "" {
		scope = dacl.DefaultScope
	}
	if scope != "" {
		if e.Flags, err = dacl.Scope(scope); err != nil {
			return dacl.Entry{}, nil, loader.Invocation("%w", err)
		}
	}
	return e, change, nil
}
