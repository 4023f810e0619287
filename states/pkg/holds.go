package pkg

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// holds are what became of holding packages, or of lifting that, by package.
type holds struct{ modified, same, failed []*data.Map }

func sorted(all *data.Map) *holds {
	h := &holds{}
	for _, v := range all.All() {
		one, _ := v.(*data.Map)
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

func (h *holds) tellModified(r *report) {
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

func (h *holds) tellSame(r *report) {
	if h != nil {
		for _, one := range h.same {
			r.comments = append(r.comments, data.Str(one.Value("comment")))
		}
	}
}

func (h *holds) tellFailed(r *report) {
	if h != nil {
		for _, one := range h.failed {
			r.comments = append(r.comments, data.Str(one.Value("comment")))
			r.failed = true
		}
	}
}

// refused returns the text of a call that as a whole failed.
func refused(all *data.Map) (string, bool) {
	if result, ok := all.Get("result"); ok && !data.Truth(result) {
		return "An error was encountered while holding/unholding package(s): " + data.Str(all.Value("comment")), true
	}
	return "", false
}

// holds holds packages that were installed, or lifts that, where the state is to. A result that is not nil is that of the state.
func (m *module) holds(ctx context.Context, p *plan, r *report) (*holds, any, error) {
	fun, ok := p.holdsCalled(m)
	if !ok {
		return nil, nil, nil
	}
	all, err := m.dictionary(ctx, fun, nil, data.NewMap("name", p.a.Name, "pkgs", p.desired.Keys()))
	if err != nil {
		if !caught(err) && loader.KindOf(err) != loader.KindInvocation {
			return nil, nil, err
		}
		return nil, with(change.New(p.a.Name, false, r.changes, strings.Join(append(r.comments, err.Error()), "\n")), p.warnings), nil
	}
	if text, ok := refused(all); ok {
		return nil, with(change.New(p.a.Name, false, r.changes, text), p.warnings), nil
	}
	return sorted(all), nil, nil
}

// holdAsIs holds packages that were installed before, or lifts that, where the state is to.
func (m *module) holdAsIs(ctx context.Context, p *plan, ret *data.Map) (any, error) {
	fun, ok := p.holdsCalled(m)
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

// holdOrForecast holds packages or lifts that; in test mode it only says what would be.
func (m *module) holdOrForecast(ctx context.Context, fun string, p *plan) (*data.Map, error) {
	if !change.Test(ctx) {
		return m.dictionary(ctx, fun, nil, data.NewMap("name", p.a.Name, "pkgs", p.desired.Keys()))
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
		all.Set(name, data.NewMap("name", name, "changes", &data.Map{}, "result", result, "comment", fmt.Sprintf(text, name)))
	}
	return all, nil
}

// lockWord is a lock of yum: name, epoch, version.
var lockWord = regexp.MustCompile(`^(.+)-(\d+):(.*)\.\*`)

// locks returns what is held, each with what is known of the hold. versions says that holds are those of versions; ok is false where
// the package manager cannot tell.
func (m *module) locks(ctx context.Context) (locks *data.Map, versions, ok bool, err error) {
	switch {
	case m.has("pkg.list_locks"):
		locks, err = m.dictionary(ctx, "pkg.list_locks", nil, nil)
		return locks, true, true, err
	case m.has("pkg.list_holds"):
		v, err := m.env.Call(ctx, "pkg.list_holds", nil, data.NewMap("full", true))
		return lockWords(texts(v)), false, true, err
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

// selected returns what dpkg holds, under the names that the package manager has for the packages.
func (m *module) selected(ctx context.Context) (*data.Map, error) {
	all, err := m.dictionary(ctx, "pkg.get_selections", nil, data.NewMap("state", "hold"))
	if err != nil {
		return nil, err
	}
	locks := &data.Map{}
	for _, word := range texts(all.Value("hold")) {
		name, err := m.normal(ctx, word, true)
		if err != nil {
			return nil, err
		}
		locks.Set(name, &data.Map{})
	}
	return locks, nil
}
