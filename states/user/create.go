package user

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

// make makes a user, and gives it what it then still lacks: its password and its days.
func (m *module) make(ctx context.Context, w *wish) error {
	added, err := m.env.Call(ctx, "user.add", nil, w.added())
	switch {
	case err != nil:
		return change.Raise(err)
	case added != true:
		return change.Reason(fmt.Sprintf("Failed to create new user %s", w.Name))
	}
	w.made = true
	if w.gids, err = m.groups(ctx); err != nil { // one may have come with the user
		return err
	}
	now, err := m.look(ctx, w)
	if err == nil {
		err = m.bring(ctx, now, w)
	}
	w.complete = err == nil
	return err
}

// created returns the changes of a new user. Those of its password and its days are there where all
// that it was to get was asked for.
func (w *wish) created(after account) *data.Map {
	if !after.there() {
		return nil
	}
	changes := after.user.Clone()
	if !data.Truth(w.Createhome) {
		changes.Set("home", "") // the users' file has one also where there is no directory
	}
	if w.complete {
		changes.Update(w.told(after.shadow))
	}
	return changes
}

// added returns the arguments of user.add.
func (w *wish) added() *data.Map {
	var groups any
	if w.Groups != nil || len(w.wanted) > 0 {
		groups = append([]any{}, w.wanted...)
	}
	return data.NewMap("name", w.Name, "uid", w.UID, "gid", w.GID, "groups", groups, "home", w.Home, "shell", w.Shell, "unique", w.Unique,
		"system", w.System, "fullname", w.Fullname, "roomnumber", w.Roomnumber, "workphone", w.Workphone, "homephone", w.Homephone,
		"other", w.Other, "createhome", w.Createhome, "nologinit", w.Nologinit, "loginclass", w.Loginclass, "usergroup", w.Usergroup)
}

// told returns the changes of a new user beyond what the users' file has: what was asked for and is there.
func (w *wish) told(shadow *data.Map) *data.Map {
	set := &data.Map{}
	switch {
	case shadow == nil:
	case data.Truth(w.EmptyPassword):
		set.Set("password", "")
	case data.Truth(w.Password):
		set.Set("password", redacted)
	}
	for _, d := range w.daysWanted() {
		if shadow != nil && (data.Truth(d.value) || d.key == "date" && d.value != nil) {
			set.Set(d.key, shadow.Value(d.entry))
		}
	}
	return set
}

// missed says what a new user did not get, "" where it has all.
func (w *wish) missed(left *data.Map) string {
	created := fmt.Sprintf("User %s created but failed to ", w.Name)
	switch {
	case left.Len() == 0:
		return ""
	case left.Has("passwd"):
		return created + "set password to " + redacted
	case left.Has("empty_password"):
		return created + "empty password"
	}
	text := ""
	for _, d := range w.daysWanted() {
		if left.Has(d.key) {
			text = created + "set " + d.called + " to " + data.Str(d.value) // the last one is told
		}
	}
	if text == "" {
		text = "These values could not be changed: " + data.Str(left)
	}
	return text
}
