package pkg

import (
	"cmp"
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
func (m *module) held(ctx context.Context, a heldArgs) (change.Result, error) {
	if emptyList(a.Pkgs) && !a.Replace {
		return change.Leave(a.Name, "No packages to be held provided")
	}
	if data.Truth(a.Name) && a.Pkgs == nil {
		a.Pkgs = alone(a.Name, a.Version)
	}
	h, refusal, err := m.holding(ctx, a.Name, a.Pkgs)
	switch {
	case err != nil:
		return change.Result{}, err
	case refusal != "":
		return change.Refuse(a.Name, refusal)
	case !m.has("pkg.hold"):
		return change.Refuse(a.Name, "`hold` function is not implemented for the package manager.")
	}
	for name, version := range h.wanted.All() {
		h.add(m.hold(ctx, h, data.Str(name), version))
	}
	for _, name := range names(h.locks) {
		if a.Replace && !h.wanted.Has(name) && h.isPackage(name) {
			h.add(m.unhold(ctx, h, name, "The following package would be unheld: "+name))
		}
	}
	return h.result()
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
func (m *module) unheld(ctx context.Context, a unheldArgs) (change.Result, error) {
	if emptyList(a.Pkgs) && !a.All {
		return change.Leave(a.Name, "No packages to be unheld provided")
	}
	if data.Truth(a.Name) && a.Pkgs == nil {
		a.Pkgs = alone(a.Name, a.Version)
	}
	h, refusal, err := m.holding(ctx, a.Name, a.Pkgs)
	switch {
	case err != nil:
		return change.Result{}, err
	case refusal != "":
		return change.Refuse(a.Name, refusal)
	}
	for _, name := range names(h.locks) {
		version, text := h.locked(name), "The following package would be unheld: "+name
		if !h.isPackage(name) || !a.All && !(h.wanted.Has(name) && (version == "" || version == data.Str(h.wanted.Value(name)))) {
			continue
		}
		if data.Truth(h.wanted.Value(name)) {
			text += " (version = " + version + ")"
		}
		h.add(m.unhold(ctx, h, name, text))
	}
	return h.result()
}

// A held is a run of pkg.held or pkg.unheld.
type held struct {
	name     any
	wanted   *data.Map // versions by package
	locks    *data.Map // what is held
	versions bool      // holds are those of versions

	parts []change.Result
	err   error // the first that was raised
}

// add takes what became of one package.
func (h *held) add(part change.Result, err error) {
	h.parts = append(h.parts, part)
	h.err = cmp.Or(h.err, err)
}

func (h *held) result() (change.Result, error) {
	ret := change.Join(h.name, h.parts...)
	if ret.Changes.Len() == 0 && ret.Comment == "" {
		ret.Comment = "No changes made"
	}
	return ret, h.err
}

// holding reads what is held, and what is wanted of it. A refusal is why the state fails.
func (m *module) holding(ctx context.Context, name, pkgs any) (h *held, refusal string, err error) {
	locks, versions, ok, err := m.locks(ctx)
	if err != nil {
		return nil, "", err
	}
	if !ok {
		return nil, "No any function to get the list of held packages available.\n" +
			"Check if the package manager supports package locking.", nil
	}
	wanted := &data.Map{}
	if !emptyList(pkgs) {
		if wanted, err = m.repack(ctx, pkgs, true); err != nil {
			return nil, "", err
		}
		if wanted.Len() == 0 {
			return nil, "Invalidly formatted pkgs parameter. See minion log.", nil
		}
	}
	return &held{name: name, wanted: wanted, locks: locks, versions: versions}, "", nil
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
func (m *module) hold(
	ctx context.Context, h *held, name string, version any,
) (change.Result, error) {
	there := h.locks.Has(name)
	wanted, shown := "", ""
	if data.Truth(version) {
		wanted = data.Str(version)
		shown = " (version = " + wanted + ")"
	}
	if there && (!h.versions || h.locked(name) == wanted) {
		return change.Result{Verdict: change.Success, Comment: ""}, nil
	}
	would := "The following package would be held: "
	if there {
		would = "The following package's hold rule would be updated: "
	}
	return h.one(ctx, would+name+shown, func(ctx context.Context) (changes *data.Map, comment string, err error) {
		updated := false
		if there {
			ret, err := m.dictionary(ctx, "pkg.unhold", nil, data.NewMap("name", h.name, "pkgs", []any{name}))
			if err != nil {
				return nil, "", change.Raise(err)
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
			return nil, "", change.Raise(err)
		}
		changes, good := taken(ret, name)
		switch {
		case !good:
			return changes, "", change.Reason("Package " + name + " was not held")
		case updated:
			return changes, "Package " + name + " was updated with hold rule", nil
		}
		return changes, "Package " + name + " is now being held", nil
	})
}

// unhold lifts one hold; would is said in test mode.
func (m *module) unhold(ctx context.Context, h *held, name, would string) (change.Result, error) {
	return h.one(ctx, would, func(ctx context.Context) (changes *data.Map, comment string, err error) {
		ret, err := m.dictionary(ctx, "pkg.unhold", nil, data.NewMap("name", h.name, "pkgs", []any{name}))
		if err != nil {
			return nil, "", change.Raise(err)
		}
		if one, ok := ret.Value(name).(*data.Map); ok && data.Truth(one.Value("comment")) {
			comment = data.Str(one.Value("comment"))
		}
		changes, good := taken(ret, name)
		if !good {
			err = change.Reason(comment)
		}
		return changes, comment, err
	})
}

// one changes the hold of one package.
func (h *held) one(
	ctx context.Context, would string,
	do func(ctx context.Context) (changes *data.Map, comment string, err error),
) (change.Result, error) {
	if h.err != nil {
		return change.Result{}, h.err
	}
	o := &order{texts: change.Texts{Would: would}, silent: true}
	find := func(context.Context) error {
		o.wanted = data.NewMap("hold", would)
		return nil
	}
	return o.give(ctx, h.name, find, func(ctx context.Context) (err error) {
		o.changes, o.texts.Done, err = do(ctx)
		return err
	})
}

// taken returns what a call changed, and whether it did what it should for a package.
func taken(ret *data.Map, name string) (changes *data.Map, good bool) {
	changes = &data.Map{}
	for pkg, v := range ret.All() {
		if one, ok := v.(*data.Map); ok && data.Truth(one.Value("changes")) {
			changes.Set(pkg, one)
		}
	}
	one, _ := ret.Value(name).(*data.Map)
	return changes, data.Truth(one.Value("result"))
}
