package user

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

// make makes a user.
func (m *module) make(ctx context.Context, w *wish) (*data.Map, error) {
	if change.Test(ctx) {
		return change.Would(w.Name, nil, fmt.Sprintf("User %s set to be added", w.Name)), nil
	}
	made, err := m.env.Call(ctx, "user.add", nil, w.added())
	switch {
	case err != nil:
		return nil, err
	case made != true:
		return change.Failed(w.Name, fmt.Sprintf("Failed to create new user %s", w.Name)), nil
	}
	comment := fmt.Sprintf("New user %s created", w.Name)
	set, failure, err := m.complete(ctx, w)
	if err != nil {
		failure = err.Error()
	}
	changes, err := m.dictionary(ctx, "user.info", w.Name)
	if err != nil {
		return nil, err
	}
	if !data.Truth(w.Createhome) {
		changes.Set("home", "") // the users' file has one also where there is no directory
	}
	changes.Update(set)
	if failure != "" {
		return change.New(w.Name, false, changes, failure), nil
	}
	return change.New(w.Name, true, changes, comment), nil
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

// complete gives a new user its password and its days, and what else it still lacks. It returns what that changed, and what failed.
func (m *module) complete(ctx context.Context, w *wish) (set *data.Map, failure string, err error) {
	if w.gids, err = m.groups(ctx); err != nil { // one may have come with the user
		return nil, "", err
	}
	now, err := m.look(ctx, w.Name)
	if err != nil {
		return nil, "", err
	}
	lacks, err := m.lacks(now, w)
	if err != nil {
		return nil, "", err
	}
	if err = m.bring(ctx, now, w, lacks); err != nil {
		return nil, "", err
	}
	if now, err = m.look(ctx, w.Name); err != nil {
		return nil, "", err
	}
	left, err := m.lacks(now, w)
	return w.told(now.shadow), w.missed(left), err
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
