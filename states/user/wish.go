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

// A wish is how a user is wanted.
type wish struct {
	presentArgs
	ownGroup any   // group of its own, by id or name; nil for any
	wanted   []any // groups that are there, of those that are listed
	gids     groups
	made     bool // a new user is there
	complete bool // and was given all that it is to have
}

// groups are the ids of the groups of the system by their names.
type groups map[string]int64

// wish reads what is wanted. A refusal says that it cannot be had.
func (m *module) wish(ctx context.Context, a presentArgs) (w *wish, refusal string, err error) {
	w = &wish{presentArgs: a, ownGroup: a.GID}
	for _, field := range []*any{&w.Fullname, &w.Roomnumber, &w.Workphone, &w.Homephone, &w.Other} {
		if *field != nil {
			*field = data.Str(*field)
		}
	}
	for _, field := range []any{w.Fullname, w.Roomnumber, w.Workphone} { // commas part the fields of the comment
		if text, ok := field.(string); ok && strings.Contains(text, ",") {
			return nil, "Unsupported char ',' in " + text, nil
		}
	}
	for _, day := range []*any{&w.Date, &w.Expire, &w.Mindays, &w.Maxdays, &w.Inactdays, &w.Warndays} {
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

// days returns the days since 1970 of a date, and the number of a text; anything else as it is.
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
	v, err := m.call(ctx, "group.getent", true)
	list, _ := v.([]any)
	for _, e := range list {
		e, _ := e.(*data.Map)
		id, _ := e.Value("gid").(int64)
		if _, known := g[e.Text("name")]; !known {
			g[e.Text("name")] = id
		}
	}
	return g, err
}

// choose puts the listed groups that are there into wanted, and returns those that are missing.
func (w *wish) choose(m *module) (missing []string) {
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
			m.env.Log.Debugf("Optional group \"%s\" for user \"%s\" is not present", data.Str(name), w.Name)
		case slices.Contains(required, name):
			m.env.Log.Warnf("Group \"%s\" specified in both groups and optional_groups for user %s", data.Str(name), w.Name)
		default:
			w.wanted = append(w.wanted, name)
		}
	}
	return missing
}

// listed returns the elements of a list; one text counts as a list of itself.
func listed(v any) []any {
	if text, ok := v.(string); ok && text != "" {
		return []any{text}
	}
	list, _ := v.([]any)
	return list
}

// An account is how a user is: what the modules user and shadow tell of it, and what it lacks.
type account struct {
	user, shadow *data.Map
	lacks        *data.Map // by Salt's names; of a user that is not there all
}

func (a account) there() bool { return a.user.Len() > 0 }

func (m *module) look(ctx context.Context, w *wish) (now account, err error) {
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

// lacks returns what a user that is there lacks, by Salt's names.
func (m *module) lacks(now account, w *wish) (*data.Map, error) {
	l := &data.Map{}
	if data.Truth(w.UID) && !data.Equal(now.user.Value("uid"), w.UID) {
		l.Set("uid", w.UID)
	}
	if w.ownGroup != nil && !data.Equal(now.user.Value("gid"), w.ownGroup) && now.user.Value("gid") != w.gids.id(w.ownGroup) {
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
	}{{"fullname", w.Fullname}, {"roomnumber", w.Roomnumber}, {"workphone", w.Workphone}, {"homephone", w.Homephone}, {"other", w.Other}} {
		if f.value != nil && now.user.Value(f.key) != f.value {
			l.Set(f.key, f.value)
		}
	}
	return l, nil
}

// id returns the id of a group by its id or name, "" where there is none.
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

// otherGroups returns the groups, beside that of its own, that a user is to be in, and whether it is not. Neither group of its
// own counts, the one it has and the one it gets, nor one of its name that is not asked for. Groups of one id are the same. Where none are
// asked for, those that it is in are wanted, as documented; Salt 3006.0 alone takes them away.
func (w *wish) otherGroups(user *data.Map) (wanted []any, differ bool) {
	own := user.Value("gid")
	next := own
	if w.ownGroup != nil {
		next = w.gids.id(w.ownGroup)
	}
	now, _ := user.Value("groups").([]any)
	wanted = slices.Clone(w.wanted)
	remove := data.Truth(w.RemoveGroups) && (w.Groups != nil || data.Truth(w.OptionalGroups))
	if !remove {
		wanted = append(wanted, slices.DeleteFunc(slices.Clone(now), func(g any) bool { return w.gids.id(g) == own })...)
	}
	wanted = slices.DeleteFunc(sortedSet(wanted), func(g any) bool { return w.gids.id(g) == next })
	counts := slices.DeleteFunc(slices.Clone(now), func(g any) bool {
		id := w.gids.id(g)
		return id == next || id == own || g == w.Name && !slices.Contains(wanted, g)
	})
	return wanted, !w.within(wanted, counts) || remove && !w.within(counts, wanted)
}

// within reports whether each of some groups is among others.
func (w *wish) within(some, all []any) bool {
	return !slices.ContainsFunc(some, func(one any) bool {
		return !slices.ContainsFunc(all, func(g any) bool { return w.gids.id(g) == w.gids.id(one) })
	})
}

func sortedSet(list []any) []any {
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(data.Str(a), data.Str(b)) })
	return slices.Compact(list)
}

// lacksHome adds a home directory that is another, or is not there.
func (m *module) lacksHome(now account, w *wish, l *data.Map) error {
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
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir():
		l.Set("homeDoesNotExist", home)
	case err != nil:
		return loader.Execution("look for the home directory of %s: %w", w.Name, err)
	}
	return nil
}

func (m *module) path(name string) string { return filepath.Join("/", m.env.Root, name) }

func (w *wish) lacksPassword(shadow *data.Map, l *data.Map) {
	now, unset := shadow.Text("passwd"), shadow.Text("passwd") == "!"
	if w.PasswordLock == true && !unset {
		now = strings.TrimPrefix(now, "!") // it is locked as it is to be
	}
	if data.Truth(w.Password) && !data.Truth(w.EmptyPassword) && (unset || data.Truth(w.EnforcePassword)) && now != data.Str(w.Password) {
		l.Set("passwd", w.Password)
	}
	if data.Truth(w.EmptyPassword) && shadow.Text("passwd") != "" {
		l.Set("empty_password", true)
	}
}

// lacksDays adds days that differ. An end of the account that is not given, or 0, is none that is wanted.
func (w *wish) lacksDays(shadow *data.Map, l *data.Map) {
	for _, d := range w.daysWanted() {
		if d.value != nil && (d.key != "expire" || data.Truth(d.value)) && !data.Equal(shadow.Value(d.entry), d.value) {
			l.Set(d.key, d.value)
		}
	}
}

// A day is one of the days of a password: its name among arguments and in the entry, what it is called and what it shall be.
type day struct {
	key, entry, called string
	value              any
}

func (w *wish) daysWanted() []day {
	return []day{
		{"date", "lstchg", "last change date", w.Date}, {"mindays", "min", "minimum days", w.Mindays},
		{"maxdays", "max", "maximum days", w.Maxdays}, {"inactdays", "inact", "inactive days", w.Inactdays},
		{"warndays", "warn", "warn days", w.Warndays}, {"expire", "expire", "expire days", w.Expire},
	}
}

func (w *wish) lacksLock(password string, l *data.Map) {
	locked := strings.HasPrefix(password, "!")
	if data.Truth(w.PasswordLock) && !locked || w.PasswordLock == false && locked {
		l.Set("password_lock", w.PasswordLock)
	}
}
