package pkg

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// holds are the results of holding or unholding packages, by package. They are dictionaries whose
// changes are dictionaries or None, which calls.Hold checks.
type holds struct{ modified, same, failed []*data.Map }

func sorted(all *data.Map) *holds {
	h := &holds{}
	for _, v := range all.All() {
		one := v.(*data.Map)
		switch {
		case data.Truth(one.Value("changes")):
			h.modified = append(h.modified, one)
		case data.Truth(one.Value("result")):
			h.same = append(h.same, one)
		default:
			h.failed = append(h.failed, one)
		}
	}
	return h
}

func (h *holds) reportModified(r *report) {
	if h == nil {
		return
	}
	for _, one := range h.modified {
		r.comments = append(r.comments, data.Str(one.Value("comment")))
		name, changes := one.Value("name"), one.Value("changes").(*data.Map)
		was, ok := r.changes.Value(name).(*data.Map)
		if !ok {
			r.changes.Set(name, data.NewMap("new", data.Str(changes.Value("new"))))
			continue
		}
		for _, key := range []string{"new", "old"} {
			text := data.Str(was.Value(key))
			if text != "" {
				text += "\n"
			}
			was.Set(key, text+data.Str(changes.Value(key)))
		}
	}
}

func (h *holds) reportSame(r *report) {
	if h != nil {
		for _, one := range h.same {
			r.comments = append(r.comments, data.Str(one.Value("comment")))
		}
	}
}

func (h *holds) reportFailed(r *report) {
	if h != nil {
		for _, one := range h.failed {
			r.comments = append(r.comments, data.Str(one.Value("comment")))
			r.failed = true
		}
	}
}

// refused returns the error message of a call that failed as a whole.
func refused(all *data.Map) (string, bool) {
	if result, ok := all.Get("result"); ok && !data.Truth(result) {
		return "An error was encountered while holding/unholding package(s): " +
			data.Str(all.Value("comment")), true
	}
	return "", false
}

// turnHolds calls pkg.hold or pkg.unhold for the desired packages.
func (m *module) turnHolds(ctx context.Context, fun string, p *plan) (*data.Map, error) {
	if fun == "pkg.hold" {
		return calls.Hold(ctx, m.env, p.a.Name, p.desired.Keys())
	}
	return calls.Unhold(ctx, m.env, p.a.Name, p.desired.Keys())
}

// holds holds or unholds newly installed packages if the state asks for it. A non-nil result is
// that of the state.
func (m *module) holds(ctx context.Context, p *plan, r *report) (*holds, any, error) {
	fun, ok := p.holdFunction(m)
	if !ok {
		return nil, nil, nil
	}
	all, err := m.turnHolds(ctx, fun, p)
	if err != nil {
		if !caught(err) && loader.KindOf(err) != loader.KindInvocation {
			return nil, nil, err
		}
		return nil, with(change.New(p.a.Name, false, r.changes,
			strings.Join(append(r.comments, err.Error()), "\n")), p.warnings), nil
	}
	if text, ok := refused(all); ok {
		return nil, with(change.New(p.a.Name, false, r.changes, text), p.warnings), nil
	}
	return sorted(all), nil, nil
}

// holdAsIs holds or unholds packages that were already installed if the state asks for it.
func (m *module) holdAsIs(ctx context.Context, p *plan, ret *data.Map) (any, error) {
	fun, ok := p.holdFunction(m)
	if !ok || ret.Value("result") != true {
		return ret, nil
	}
	all, err := m.holdOrForecast(ctx, fun, p)
	if err != nil {
		if !caught(err) && loader.KindOf(err) != loader.KindInvocation {
			return nil, err
		}
		return change.Failed(p.a.Name, err.Error()), nil
	}
	if text, ok := refused(all); ok {
		return change.Failed(p.a.Name, text), nil
	}
	h := sorted(all)
	comment, changes := data.Str(ret.Value("comment")), ret.Value("changes").(*data.Map)
	for _, some := range [][]*data.Map{h.modified, h.same, h.failed} {
		for _, one := range some {
			comment += ".\n" + data.Str(one.Value("comment"))
			ret.Set("result", one.Value("result"))
			if data.Truth(one.Value("changes")) {
				changes.Set(one.Value("name"), one.Value("changes"))
			}
		}
	}
	ret.Set("comment", comment)
	return ret, nil
}

// holdOrForecast holds or unholds packages. In test mode it only returns what would change.
func (m *module) holdOrForecast(ctx context.Context, fun string, p *plan) (*data.Map, error) {
	if !change.Test(ctx) {
		return m.turnHolds(ctx, fun, p)
	}
	locks, _, ok, err := m.locks(ctx)
	if err != nil || !ok {
		return nil, err
	}
	all := &data.Map{}
	for _, name := range names(p.desired) {
		hold, result := fun == "pkg.hold", any(true)
		text := "Package %s is already set to be held."
		switch {
		case hold && !locks.Has(name):
			result, text = nil, "Package %s is set to be held."
		case !hold && locks.Has(name):
			result, text = nil, "Package %s is set not to be held."
		case !hold:
			text = "Package %s is already set not to be held."
		}
		all.Set(name, data.NewMap("name", name, "changes", &data.Map{}, "result", result,
			"comment", fmt.Sprintf(text, name)))
	}
	return all, nil
}

// lockWord matches a lock of yum: name, epoch, version.
var lockWord = regexp.MustCompile(`^(.+)-(\d+):(.*)\.\*`)

// locks returns the current holds with their properties. versions is true if holds apply to
// versions. ok is false if the package manager cannot list holds.
func (m *module) locks(ctx context.Context) (locks *data.Map, versions, ok bool, err error) {
	switch {
	case m.has("pkg.list_locks"):
		locks, err = calls.ListLocks(ctx, m.env)
		return locks, true, true, err
	case m.has("pkg.list_holds"):
		holds, err := calls.ListHolds(ctx, m.env)
		return lockWords(holds), false, true, err
	case m.has("pkg.get_selections"):
		locks, err = m.selected(ctx)
		return locks, false, true, err
	}
	return nil, false, false, nil
}

func lockWords(words []string) *data.Map {
	locks := &data.Map{}
	for _, word := range words {
		found := lockWord.FindStringSubmatch(word)
		if found == nil {
			locks.Set(word, &data.Map{})
			continue
		}
		epoch := found[2] + ":"
		if epoch == "0:" {
			epoch = ""
		}
		locks.Set(found[1], data.NewMap("version", epoch+found[3]))
	}
	return locks
}

// selected returns the packages that dpkg holds, under the names that the package manager uses.
func (m *module) selected(ctx context.Context) (*data.Map, error) {
	held, err := calls.GetSelections(ctx, m.env, "hold")
	if err != nil {
		return nil, err
	}
	locks := &data.Map{}
	for _, word := range held {
		name, err := packages.Normal(ctx, m.env, word, true)
		if err != nil {
			return nil, err
		}
		locks.Set(name, &data.Map{})
	}
	return locks, nil
}
