package user

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// changed returns the differences between two states of a user, without hashes, and the home
// directory if it was created.
func changed(before, after account) *data.Map {
	changes := &data.Map{}
	for key, v := range after.user.All() {
		if !data.Equal(before.user.Value(key), v) {
			changes.Set(key, v)
		}
	}
	for key, v := range after.shadow.All() {
		switch {
		case data.Equal(before.shadow.Value(key), v):
		case key == "passwd":
			changes.Set(key, redacted)
		default:
			changes.Set(key, v)
		}
	}
	if home, missed := before.lacks.Get("homeDoesNotExist"); missed &&
		!after.lacks.Has("homeDoesNotExist") {
		changes.Set("homeDoesNotExist", home)
	}
	return changes
}

// A move is one function call.
type move struct {
	fun  string
	args []any
}

// apply applies the differences of a user. Groups come last, because the primary group is one of
// them.
func (m *module) apply(ctx context.Context, now account, w *desired) error {
	lacks := now.lacks
	for _, do := range slices.Concat(passwordMoves(w, lacks), homeMoves(w, lacks),
		otherMoves(w, lacks)) {
		if _, err := m.call(ctx, do.fun, append([]any{w.Name}, do.args...)...); err != nil {
			return err
		}
	}
	if home, ok := lacks.Get("homeDoesNotExist"); ok {
		return m.makeHome(ctx, now.user, data.Str(home))
	}
	return nil
}

func passwordMoves(w *desired, lacks *data.Map) (list []move) {
	if lacks.Has("passwd") {
		list = append(list, move{"shadow.set_password", []any{w.Password}})
	}
	if lacks.Has("empty_password") {
		list = append(list, move{"shadow.del_password", nil})
	}
	if lock := w.PasswordLock; data.Truth(lock) &&
		(lacks.Has("passwd") || lacks.Has("password_lock")) {
		list = append(list, move{"shadow.lock_password", nil})
	} else if lacks.Has("password_lock") {
		list = append(list, move{"shadow.unlock_password", nil})
	}
	return list
}

// homeMoves returns the calls that set the home directory of a user, even to its current path.
func homeMoves(w *desired, lacks *data.Map) []move {
	for _, key := range []string{"homeDoesNotExist", "home"} {
		if home, ok := lacks.Get(key); ok {
			return []move{{"user.chhome", []any{home, w.PersistHome}}}
		}
	}
	return nil
}

// otherMoves returns the calls that set days, IDs, shell, comment and groups.
func otherMoves(w *desired, lacks *data.Map) (list []move) {
	for _, d := range w.daysWanted() {
		if lacks.Has(d.key) {
			list = append(list, move{"shadow.set_" + d.key, []any{d.value}})
		}
	}
	for _, key := range []string{"uid", "gid", "shell", "fullname", "roomnumber", "workphone",
		"homephone", "other"} {
		if v, ok := lacks.Get(key); ok {
			list = append(list, move{"user.ch" + key, []any{v}})
		}
	}
	if v, ok := lacks.Get("groups"); ok {
		list = append(list, move{"user.chgroups", []any{v, !data.Truth(w.RemoveGroups)}})
	}
	return list
}

// makeHome creates a missing home directory, with the user's current owner.
func (m *module) makeHome(ctx context.Context, was *data.Map, home string) error {
	user, ok, err := calls.UserInfo(ctx, m.env, was.Value("name"))
	if err != nil {
		return err
	}
	if !ok {
		return loader.Execution("user %s no longer exists", data.Str(was.Value("name")))
	}
	return calls.Mkdir(ctx, m.env, m.path(home), calls.Owned{
		User: user.UID, Group: user.GID, Mode: int64(0o755),
	})
}
