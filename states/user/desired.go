package user

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// desired is the desired state of a user.
type desired struct {
	presentArgs
	ownGroup any   // primary group, by ID or name; nil for any
	wanted   []any // the listed groups that exist
	gids     groups
	made     bool // a new user was created
	complete bool // and everything was set
}

// groups maps the names of the system's groups to their IDs.
type groups map[string]int64

// desired parses the arguments. refusal is a message if they cannot be satisfied.
func (m *module) desired(
	ctx context.Context, a presentArgs,
) (w *desired, refusal string, err error) {
	w = &desired{presentArgs: a, ownGroup: a.GID}
	for _, field := range []*any{&w.Fullname, &w.Roomnumber, &w.Workphone, &w.Homephone, &w.Other} {
		if *field != nil {
			*field = data.Str(*field)
		}
	}
	// parts of the comment field
	for _, field := range []any{w.Fullname, w.Roomnumber, w.Workphone} {
		if text, ok := field.(string); ok && strings.Contains(text, ",") {
			return nil, "Unsupported char ',' in " + text, nil
		}
	}
	for _, day := range []*any{&w.Date, &w.Expire, &w.Mindays, &w.Maxdays, &w.Inactdays,
		&w.Warndays} {
		*day = days(*day)
	}
	if w.gids, err = m.groups(ctx); err != nil {
		return nil, "", err
	}
	if missing := w.choose(m); missing != nil {
		return nil, "The following group(s) are not present: " + strings.Join(missing, ","), nil
	}
	if _, there := w.gids[a.Name]; there && data.Truth(a.Usergroup) {
		w.ownGroup = a.Name
	}
	if data.Truth(a.Password) && data.Truth(a.HashPassword) {
		w.Password, err = m.hash(ctx, a.Name, data.Str(a.Password))
	}
	return w, "", err
}

// days converts a date to days since 1970, and a numeric string to a number. Anything else is
// returned as it is.
func days(v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.Unix() / (24 * 60 * 60)
	}
	if n, err := loader.Int(text); err == nil {
		return n
	}
	return v
}

func (m *module) groups(ctx context.Context) (groups, error) {
	g := groups{}
	list, err := loader.CallAs[[]any](ctx, m.env, "group.getent", []any{true}, nil)
	for _, v := range list {
		e, err := loader.ResultAs[*data.Map]("group.getent", v)
		if err != nil {
			return nil, err
		}
		id, err := loader.ResultAs[int64]("group.getent", e.Value("gid"))
		if err != nil {
			return nil, err
		}
		if _, known := g[e.Text("name")]; !known {
			g[e.Text("name")] = id
		}
	}
	return g, err
}

// choose stores the listed groups that exist in wanted, and returns the missing ones.
func (w *desired) choose(m *module) (missing []string) {
	required := listed(w.Groups)
	for _, name := range required {
		if _, ok := w.gids[data.Str(name)]; !ok {
			missing = append(missing, data.Str(name))
		}
	}
	w.wanted = slices.Clone(required)
	for _, name := range listed(w.OptionalGroups) {
		_, there := w.gids[data.Str(name)]
		switch {
		case !there:
			m.env.Log.Debugf("Optional group \"%s\" for user \"%s\" is not present",
				data.Str(name), w.Name)
		case slices.Contains(required, name):
			m.env.Log.Warnf("Group \"%s\" specified in both groups and optional_groups for user %s",
				data.Str(name), w.Name)
		default:
			w.wanted = append(w.wanted, name)
		}
	}
	return missing
}

// listed returns the elements of a list. A string becomes a list of one element.
func listed(v any) []any {
	if text, ok := v.(string); ok && text != "" {
		return []any{text}
	}
	list, _ := v.([]any)
	return list
}

// An account is the current state of a user according to the modules user and shadow, with the
// differences from the desired state.
type account struct {
	user, shadow *data.Map
	lacks        *data.Map // under Salt's names; everything if the user does not exist
}

func (a account) there() bool { return a.user.Len() > 0 }

func (m *module) look(ctx context.Context, w *desired) (now account, err error) {
	if now.user, err = m.dictionary(ctx, "user.info", w.Name); err != nil {
		return now, err
	}
	if !now.there() {
		now.lacks = data.NewMap("name", w.Name)
		return now, nil
	}
	if m.env.Functions.Has("shadow.info") {
		if now.shadow, err = m.dictionary(ctx, "shadow.info", w.Name); err != nil {
			return now, err
		}
	}
	now.lacks, err = m.lacks(now, w)
	return now, err
}

// lacks returns the differences of an existing user, under Salt's names.
func (m *module) lacks(now account, w *desired) (*data.Map, error) {
	l := &data.Map{}
	if data.Truth(w.UID) && !data.Equal(now.user.Value("uid"), w.UID) {
		l.Set("uid", w.UID)
	}
	if w.ownGroup != nil && !data.Equal(now.user.Value("gid"), w.ownGroup) &&
		now.user.Value("gid") != w.gids.id(w.ownGroup) {
		l.Set("gid", w.ownGroup)
	}
	if groups, differ := w.otherGroups(now.user); differ {
		l.Set("groups", groups)
	}
	if err := m.lacksHome(now, w, l); err != nil {
		return nil, err
	}
	if data.Truth(w.Shell) && now.user.Value("shell") != w.Shell {
		l.Set("shell", w.Shell)
	}
	if now.shadow != nil {
		w.lacksPassword(now.shadow, l)
		w.lacksDays(now.shadow, l)
		w.lacksLock(now.shadow.Text("passwd"), l)
	}
	for _, f := range []struct {
		key   string
		value any
	}{{"fullname", w.Fullname}, {"roomnumber", w.Roomnumber}, {"workphone", w.Workphone},
		{"homephone", w.Homephone}, {"other", w.Other}} {
		if f.value != nil && now.user.Value(f.key) != f.value {
			l.Set(f.key, f.value)
		}
	}
	return l, nil
}

// id returns the ID of a group given by ID or name, "" if there is none.
func (g groups) id(group any) any {
	name, ok := group.(string)
	if !ok {
		return group
	}
	if id, ok := g[name]; ok {
		return id
	}
	return ""
}

// otherGroups returns the desired supplementary groups of a user, and whether they differ from the
// current ones. The old and the new primary group are ignored, and so is a group of the user's own
// name unless it is requested. Groups with the same ID are the same. If no groups are requested,
// the current ones are desired, as documented; only Salt 3006.0 removes them.
func (w *desired) otherGroups(user *data.Map) (wanted []any, differ bool) {
	own := user.Value("gid")
	next := own
	if w.ownGroup != nil {
		next = w.gids.id(w.ownGroup)
	}
	now, _ := user.Value("groups").([]any)
	wanted = slices.Clone(w.wanted)
	remove := data.Truth(w.RemoveGroups) && (w.Groups != nil || data.Truth(w.OptionalGroups))
	if !remove {
		wanted = append(wanted, slices.DeleteFunc(slices.Clone(now),
			func(g any) bool { return w.gids.id(g) == own })...)
	}
	wanted = slices.DeleteFunc(sortedSet(wanted), func(g any) bool { return w.gids.id(g) == next })
	counts := slices.DeleteFunc(slices.Clone(now), func(g any) bool {
		id := w.gids.id(g)
		return id == next || id == own || g == w.Name && !slices.Contains(wanted, g)
	})
	return wanted, !w.within(wanted, counts) || remove && !w.within(counts, wanted)
}

// within reports whether all elements of some are among all.
func (w *desired) within(some, all []any) bool {
	return !slices.ContainsFunc(some, func(one any) bool {
		return !slices.ContainsFunc(all, func(g any) bool { return w.gids.id(g) == w.gids.id(one) })
	})
}

func sortedSet(list []any) []any {
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(data.Str(a), data.Str(b)) })
	return slices.Compact(list)
}

// lacksHome adds the home directory if it differs or does not exist.
func (m *module) lacksHome(now account, w *desired, l *data.Map) error {
	home := now.user.Text("home")
	if data.Truth(w.Home) {
		if home != data.Str(w.Home) {
			l.Set("home", w.Home)
		}
		home = data.Str(w.Home)
	}
	if !data.Truth(w.Createhome) || home == "" {
		return nil
	}
	info, err := os.Stat(m.path(home))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) ||
		err == nil && !info.IsDir():
		l.Set("homeDoesNotExist", home)
	case err != nil:
		return loader.Execution("check the home directory of %s: %w", w.Name, err)
	}
	return nil
}

func (m *module) path(name string) string { return filepath.Join("/", m.env.Root, name) }

func (w *desired) lacksPassword(shadow *data.Map, l *data.Map) {
	now, unset := shadow.Text("passwd"), shadow.Text("passwd") == "!"
	if w.PasswordLock == true && !unset {
		now = strings.TrimPrefix(now, "!") // ignore the desired lock
	}
	if data.Truth(w.Password) && !data.Truth(w.EmptyPassword) &&
		(unset || data.Truth(w.EnforcePassword)) && now != data.Str(w.Password) {
		l.Set("passwd", w.Password)
	}
	if data.Truth(w.EmptyPassword) && shadow.Text("passwd") != "" {
		l.Set("empty_password", true)
	}
}

// lacksDays adds the days that differ. An expiry that is not given, or 0, means none.
func (w *desired) lacksDays(shadow *data.Map, l *data.Map) {
	for _, d := range w.daysWanted() {
		if d.value != nil && (d.key != "expire" || data.Truth(d.value)) &&
			!data.Equal(shadow.Value(d.entry), d.value) {
			l.Set(d.key, d.value)
		}
	}
}

// A day is one of the day counts of a password: its argument, its name in the entry, its
// description and its desired value.
type day struct {
	key, entry, called string
	value              any
}

func (w *desired) daysWanted() []day {
	return []day{
		{"date", "lstchg", "last change date", w.Date}, {"mindays", "min",
			"minimum days", w.Mindays},
		{"maxdays", "max", "maximum days", w.Maxdays}, {"inactdays", "inact",
			"inactive days", w.Inactdays},
		{"warndays", "warn", "warn days", w.Warndays}, {"expire", "expire",
			"expire days", w.Expire},
	}
}

func (w *desired) lacksLock(password string, l *data.Map) {
	locked := strings.HasPrefix(password, "!")
	if data.Truth(w.PasswordLock) && !locked || w.PasswordLock == false && locked {
		l.Set("password_lock", w.PasswordLock)
	}
}
