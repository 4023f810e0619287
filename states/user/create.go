package user

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

// make creates a user, and then sets what is still missing: the password and its days.
func (m *module) make(ctx context.Context, w *desired) error {
	added, err := m.env.Call(ctx, "user.add", nil, w.added())
	switch {
	case err != nil:
		return change.Raise(err)
	case added != true:
		return change.Reason(fmt.Sprintf("Failed to create new user %s", w.Name))
	}
	w.made = true
	if w.gids, err = m.groups(ctx); err != nil { // a group may have been created with the user
		return err
	}
	now, err := m.look(ctx, w)
	if err == nil {
		err = m.apply(ctx, now, w)
	}
	w.complete = err == nil
	return err
}

// created returns the changes of a new user. Password and days are included only if everything has
// been set.
func (w *desired) created(after account) *data.Map {
	if !after.there() {
		return nil
	}
	changes := after.user.Clone()
	if !data.Truth(w.Createhome) {
		changes.Set("home", "") // the user database has a home even if the directory does not exist
	}
	if w.complete {
		changes.Update(w.requested(after.shadow))
	}
	return changes
}

// added returns the arguments of user.add.
func (w *desired) added() *data.Map {
	var groups any
	if w.Groups != nil || len(w.wanted) > 0 {
		groups = append([]any{}, w.wanted...)
	}
	return data.NewMap("name", w.Name, "uid", w.UID, "gid", w.GID, "groups", groups, "home", w.Home,
		"shell", w.Shell, "unique", w.Unique, "system", w.System, "fullname", w.Fullname,
		"roomnumber", w.Roomnumber, "workphone", w.Workphone, "homephone", w.Homephone,
		"other", w.Other, "createhome", w.Createhome, "nologinit", w.Nologinit, "loginclass",
		w.Loginclass, "usergroup", w.Usergroup)
}

// requested returns the changes of a new user beyond the user database: what was requested and set.
func (w *desired) requested(shadow *data.Map) *data.Map {
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

// missed returns a message about what could not be set for a new user, "" if all was set.
func (w *desired) missed(left *data.Map) string {
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
			// the last one is reported
			text = created + "set " + d.called + " to " + data.Str(d.value)
		}
	}
	if text == "" {
		text = "These values could not be changed: " + data.Str(left)
	}
	return text
}
