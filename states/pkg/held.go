package pkg

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type heldArgs struct {
	Name    any
	Version any       `default:"None"`
	Pkgs    any       `default:"None"`
	Replace bool      `default:"False"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// held keeps packages held, so that they are not upgraded.
//
// pkgs
//
//	In place of the name a list of packages, each a name or a dictionary of name and version.
//
// version
//
//	The version to hold, where the package manager holds versions.
//
// replace
//
//	True: no other package is held.
//
//	zsh:
//	  pkg.held:
//	    - version: 5.0.5-4.63
func (m *module) held(ctx context.Context, a heldArgs) (any, error) {
	if emptyList(a.Pkgs) && !a.Replace {
		return change.Done(a.Name, "No packages to be held provided"), nil
	}
	if data.Truth(a.Name) && a.Pkgs == nil {
		a.Pkgs = alone(a.Name, a.Version)
	}
	h, ret, err := m.holding(ctx, a.Name, a.Pkgs)
	if ret != nil || err != nil {
		return ret, err
	}
	if !m.has("pkg.hold") {
		return change.Failed(a.Name, "`hold` function is not implemented for the package manager."), nil
	}
	for name, version := range h.wanted.All() {
		if err := m.hold(ctx, h, data.Str(name), version); err != nil {
			return nil, err
		}
	}
	for _, name := range names(h.locks) {
		if a.Replace && !h.wanted.Has(name) && h.isPackage(name) {
			if err := m.unhold(ctx, h, name, "The following package would be unheld: "+name); err != nil {
				return nil, err
			}
		}
	}
	return h.result(), nil
}

type unheldArgs struct {
	Name    any
	Version any       `default:"None"`
	Pkgs    any       `default:"None"`
	All     bool      `default:"False"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// unheld keeps packages from being held.
//
// pkgs
//
//	In place of the name a list of packages, each a name or a dictionary of name and version.
//
// version
//
//	Only where this version is held.
//
// all
//
//	True: no package at all is held.
//
//	zsh:
//	  pkg.unheld
func (m *module) unheld(ctx context.Context, a unheldArgs) (any, error) {
	if emptyList(a.Pkgs) && !a.All {
		return change.Done(a.Name, "No packages to be unheld provided"), nil
	}
	if data.Truth(a.Name) && a.Pkgs == nil {
		a.Pkgs = alone(a.Name, a.Version)
	}
	h, ret, err := m.holding(ctx, a.Name, a.Pkgs)
	if ret != nil || err != nil {
		return ret, err
	}
	for _, name := range names(h.locks) {
		version, text := h.locked(name), "The following package would be unheld: "+name
		if !h.isPackage(name) || !a.All && !(h.wanted.Has(name) && (version == "" || version == data.Str(h.wanted.Value(name)))) {
			continue
		}
		if data.Truth(h.wanted.Value(name)) {
			text += " (version = " + version + ")"
		}
		if err := m.unhold(ctx, h, name, text); err != nil {
			return nil, err
		}
	}
	return h.result(), nil
}

// A held is a run of pkg.held or pkg.unheld.
type held struct {
	name     any
	wanted   *data.Map // versions by package
	locks    *data.Map // what is held
	versions bool      // holds are those of versions
	test     bool

	changes  *data.Map
	comments []string
	failed   bool
	would    bool
}

// holding reads what is held, and what is wanted of it. A result that is not nil is that of the state.
func (m *module) holding(ctx context.Context, name, pkgs any) (*held, *data.Map, error) {
	locks, versions, ok, err := m.locks(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		return nil, change.Failed(name, "No any function to get the list of held packages available.\nCheck if the package manager supports package locking."), nil
	}
	wanted := &data.Map{}
	if !emptyList(pkgs) {
		if wanted, err = m.repack(ctx, pkgs, true); err != nil {
			return nil, nil, err
		}
		if wanted.Len() == 0 {
			return nil, change.Failed(name, "Invalidly formatted pkgs parameter. See minion log."), nil
		}
	}
	return &held{name: name, wanted: wanted, locks: locks, versions: versions, test: change.Test(ctx), changes: &data.Map{}}, nil, nil
}

// locked returns the version of a package that is held, "" where that is not of one.
func (h *held) locked(name string) string {
	lock, _ := h.locks.Value(name).(*data.Map)
	if !h.versions {
		return ""
	}
	return strings.TrimLeft(lock.Text("version"), "= ")
}

// isPackage reports whether a lock is that of a package, and not of a pattern or something else.
func (h *held) isPackage(name string) bool {
	lock, _ := h.locks.Value(name).(*data.Map)
	kind, ok := lock.Get("type")
	return !ok || kind == "package"
}

// hold holds one package, unless it is held so.
func (m *module) hold(ctx context.Context, h *held, name string, version any) error {
	there := h.locks.Has(name)
	wanted, shown := "", ""
	if data.Truth(version) {
		wanted = data.Str(version)
		shown = " (version = " + wanted + ")"
	}
	switch {
	case there && (!h.versions || h.locked(name) == wanted):
		return nil
	case h.test && there:
		h.forecast("The following package's hold rule would be updated: " + name + shown)
		return nil
	case h.test:
		h.forecast("The following package would be held: " + name + shown)
		return nil
	}
	updated := false
	if there {
		ret, err := m.dictionary(ctx, "pkg.unhold", nil, data.NewMap("name", h.name, "pkgs", []any{name}))
		if err != nil {
			return err
		}
		one, _ := ret.Value(name).(*data.Map)
		updated = data.Truth(one.Value("result"))
	}
	entry := any(name)
	if wanted != "" {
		entry = data.NewMap(name, version)
	}
	ret, err := m.dictionary(ctx, "pkg.hold", nil, data.NewMap("name", h.name, "pkgs", []any{entry}))
	if err != nil {
		return err
	}
	good := h.take(ret, name)
	switch {
	case !good:
		h.comments = append(h.comments, "Package "+name+" was not held")
	case updated:
		h.comments = append(h.comments, "Package "+name+" was updated with hold rule")
	default:
		h.comments = append(h.comments, "Package "+name+" is now being held")
	}
	return nil
}

// unhold lifts one hold; text is said in test mode.
func (m *module) unhold(ctx context.Context, h *held, name, text string) error {
	if h.test {
		h.forecast(text)
		return nil
	}
	ret, err := m.dictionary(ctx, "pkg.unhold", nil, data.NewMap("name", h.name, "pkgs", []any{name}))
	if err != nil {
		return err
	}
	h.take(ret, name)
	if one, ok := ret.Value(name).(*data.Map); ok && data.Truth(one.Value("comment")) {
		h.comments = append(h.comments, data.Str(one.Value("comment")))
	}
	return nil
}

func (h *held) forecast(text string) {
	h.would = true
	h.comments = append(h.comments, text)
}

// take adds to the changes what a call changed, and reports whether it did what it should.
func (h *held) take(ret *data.Map, name string) bool {
	for pkg, v := range ret.All() {
		if one, ok := v.(*data.Map); ok && data.Truth(one.Value("changes")) {
			h.changes.Set(pkg, one)
		}
	}
	one, _ := ret.Value(name).(*data.Map)
	good := data.Truth(one.Value("result"))
	h.failed = h.failed || !good
	return good
}

func (h *held) result() *data.Map {
	comment := strings.Join(h.comments, "\n")
	if h.changes.Len() == 0 && comment == "" {
		comment = "No changes made"
	}
	var result any = !h.failed
	if h.would {
		result = nil
	}
	return change.New(h.name, result, h.changes, comment)
}
