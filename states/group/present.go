package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type presentArgs struct {
	Name      string
	GID       any `default:"None"`
	System    any `default:"False"`
	Addusers  any `default:"None"`
	Delusers  any `default:"None"`
	Members   any `default:"None"`
	NonUnique any `default:"False"`
}

// present creates a group, or changes it to the desired state.
//
// gid
//
//	The group ID. Default: keep it, or use the next free one.
//
// system
//
//	True: a new group gets an ID in the system range.
//
// addusers
//
//	Users to add to the group.
//
// delusers
//
//	Users to remove from the group.
//
// members
//
//	The complete list of users in the group.
//
// non_unique
//
//	True: the ID may be shared with another group.
//
//	cheese:
//	  group.present:
//	    - gid: 7648
//	    - addusers:
//	      - user1
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	// Salt returns the test mode result here, even for a real run
	if text := a.conflict(); text != "" {
		return change.Result{Name: a.Name, Verdict: change.Pending, Comment: text}, nil
	}
	return change.Thing[*data.Map]{
		Name: a.Name,
		Look: func(ctx context.Context) (*data.Map, error) { return m.info(ctx, a.Name) },
		Wants: func(now *data.Map) *data.Map {
			if now.Len() == 0 {
				return data.NewMap("name", a.Name)
			}
			return a.lacks(now)
		},
		Apply: func(ctx context.Context, now *data.Map) error {
			if now.Len() == 0 {
				return m.make(ctx, a)
			}
			return m.apply(ctx, a, a.lacks(now))
		},
		Changed: a.changed,
		Say:     a.comment,
		Texts:   change.Texts{Same: "Group " + a.Name + " is present and up to date"},
		Silent:  true,
	}.Ensure(ctx)
}

// changed returns the changes: all properties of a new group, otherwise those that differed.
func (a presentArgs) changed(before, after *data.Map) *data.Map {
	switch {
	case after.Len() == 0:
		return nil
	case a.lacks(after).Len() > 0:
		return data.NewMap("Failed", a.lacks(after))
	case before.Len() == 0:
		return after
	}
	return data.NewMap("Final", "All changes applied successfully")
}

func (a presentArgs) comment(o change.Outcome[*data.Map]) any {
	comment := "The following group attributes are set to be changed:\n" +
		a.lines(a.lacks(o.Before))
	made := o.Before.Len() == 0
	switch {
	case o.Stage == change.StageSame || o.Err != nil:
		return nil
	case made && o.Stage == change.StageWould:
		return "Group " + a.Name + " set to be added"
	case made && o.Stage == change.StageDone:
		return "New group " + a.Name + " created"
	case made:
		return "Group " + a.Name + " has been created but, some changes could not be applied"
	case o.Stage == change.StageFailed:
		return comment + "Some changes could not be applied"
	}
	return comment
}

// conflict returns a message if arguments contradict each other.
func (a presentArgs) conflict() string {
	if a.Members != nil && (a.Addusers != nil || a.Delusers != nil) {
		return `Error: Conflicting options "members" with "addusers" and/or "delusers" can not be used together. `
	}
	out := users(a.Delusers)
	if slices.ContainsFunc(users(a.Addusers), func(u any) bool { return slices.Contains(out, u) }) {
		return "Error. Same user(s) can not be added and deleted simultaneously"
	}
	return ""
}

// users returns the elements of a list. A string becomes a list of one element.
func users(v any) []any {
	if text, ok := v.(string); ok && text != "" {
		return []any{text}
	}
	list, _ := v.([]any)
	return list
}

// lacks returns the differences of an existing group, under Salt's names.
func (a presentArgs) lacks(now *data.Map) *data.Map {
	l := &data.Map{}
	if data.Truth(a.GID) {
		gid, err := loader.Int(a.GID)
		if err != nil {
			return data.NewMap("result", false, "comment", "Invalid gid")
		}
		if now.Value("gid") != gid {
			l.Set("gid", gid)
		}
	}
	in, _ := now.Value("members").([]any)
	wanted := users(a.Members)
	switch same := within(in, wanted) && within(wanted, in); {
	case a.Members == nil || same:
	case len(wanted) == 0:
		l.Set("delusers", in)
	default:
		l.Set("members", wanted)
	}
	if add := without(users(a.Addusers), in); len(add) > 0 {
		l.Set("addusers", add)
	}
	if staying := without(users(a.Delusers), in); len(staying) < len(users(a.Delusers)) {
		l.Set("delusers", without(users(a.Delusers), staying))
	}
	return l
}

func within(some, all []any) bool { return len(without(some, all)) == 0 }

// without returns the elements of list that are not in other.
func without(list, other []any) []any {
	return slices.DeleteFunc(slices.Clone(list),
		func(v any) bool { return slices.Contains(other, v) })
}

// lines formats the differences for the comment. If all members are to be removed, they are shown
// as a sorted set.
func (a presentArgs) lines(lacks *data.Map) string {
	var b strings.Builder
	for key, v := range lacks.All() {
		text := data.Str(v)
		if key == "delusers" && a.Members != nil {
			text = "{" + strings.Trim(text, "[]") + "}"
		}
		fmt.Fprintf(&b, "%s: %s\n", data.Str(key), text)
	}
	return b.String()
}

// apply applies the differences to a group.
func (m *module) apply(ctx context.Context, a presentArgs, lacks *data.Map) error {
	call := func(fun string, args ...any) error {
		_, err := m.env.Call(ctx, fun, append([]any{a.Name}, args...), nil)
		return err
	}
	for key, v := range lacks.All() {
		var err error
		switch key {
		case "gid":
			err = call("group.chgid", v, nil, a.NonUnique)
		case "members":
			err = call("group.members", joined(v))
		case "addusers", "delusers":
			for _, user := range users(v) {
				if err = call("group."+strings.TrimSuffix(data.Str(key), "s"), user); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func joined(v any) string {
	return strings.Join(data.Texts(users(v)), ",")
}

// make creates a group.
func (m *module) make(ctx context.Context, a presentArgs) error {
	holder, err := m.holder(ctx, a)
	switch {
	case err != nil:
		return err
	case holder != "":
		return errors.New("Group " + a.Name + " is not present but gid " + data.Str(a.GID) +
			" is already taken by group " + holder)
	}
	words := data.NewMap("gid", a.GID, "system", a.System, "non_unique", a.NonUnique)
	made, err := change.Ask[bool](ctx, m.env, "group.add", []any{a.Name}, words)
	switch {
	case err != nil:
		return err
	case !made:
		return errors.New("Failed to create new group " + a.Name)
	}
	members := joined(a.Members) + joined(a.Addusers) // only one of them is set
	if members == "" {
		return nil
	}
	return change.Do(ctx, m.env, "group.members", []any{a.Name, members}, nil)
}

// holder returns the name of the other group that has the desired ID, "" for none.
func (m *module) holder(ctx context.Context, a presentArgs) (string, error) {
	gid, err := loader.Int(a.GID)
	if a.GID == nil || err != nil || data.Truth(a.NonUnique) {
		return "", nil //nolint:nilerr // an invalid ID belongs to nobody
	}
	list, err := change.Ask[[]any](ctx, m.env, "group.getent", []any{true}, nil)
	for _, g := range list {
		if g, ok := g.(*data.Map); ok && g.Value("gid") == gid {
			return g.Text("name"), nil
		}
	}
	return "", err
}
