package pkg

import (
	"cmp"
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

type heldArgs struct {
	Name    any
	Version any       `default:"None"`
	Pkgs    any       `default:"None"`
	Replace bool      `default:"False"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// held holds packages, so that they are not upgraded.
//
// pkgs
//
//	A list of packages instead of the name. Each is a name or a dictionary of name and version.
//
// version
//
//	The version to hold, if the package manager holds versions.
//
// replace
//
//	True: hold no other packages.
//
//	zsh:
//	  pkg.held:
//	    - version: 5.0.5-4.63
func (m *module) held(ctx context.Context, a heldArgs) (change.Result, error) {
	if emptyList(a.Pkgs) && !a.Replace {
		return change.Leave(a.Name, "No packages to be held provided")
	}
	if data.Truth(a.Name) && a.Pkgs == nil {
		a.Pkgs = singlePackage(a.Name, a.Version)
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

// unheld removes the hold of packages.
//
// pkgs
//
//	A list of packages instead of the name. Each is a name or a dictionary of name and version.
//
// version
//
//	Only if this version is held.
//
// all
//
//	True: remove the holds of all packages.
//
//	zsh:
//	  pkg.unheld
func (m *module) unheld(ctx context.Context, a unheldArgs) (change.Result, error) {
	if emptyList(a.Pkgs) && !a.All {
		return change.Leave(a.Name, "No packages to be unheld provided")
	}
	if data.Truth(a.Name) && a.Pkgs == nil {
		a.Pkgs = singlePackage(a.Name, a.Version)
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
		if !h.isPackage(name) || !a.All &&
			!(h.wanted.Has(name) && (version == "" || version == data.Str(h.wanted.Value(name)))) {
			continue
		}
		if data.Truth(h.wanted.Value(name)) {
			text += " (version = " + version + ")"
		}
		h.add(m.unhold(ctx, h, name, text))
	}
	return h.result()
}

// A held is one call of pkg.held or pkg.unheld.
type held struct {
	name     any
	wanted   *data.Map // versions by package
	locks    *data.Map // current holds: dictionaries by name
	versions bool      // holds apply to versions

	parts []change.Result
	err   error // the first error that was raised
}

// add merges the outcome for one package.
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

// holding reads the current holds and the desired ones. refusal is the reason if the state fails.
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

// locked returns the held version of a package, "" if the hold does not apply to a version.
func (h *held) locked(name string) string {
	lock, _ := h.locks.Value(name).(*data.Map)
	if !h.versions {
		return ""
	}
	return strings.TrimLeft(lock.Text("version"), "= ")
}

// isPackage reports whether a lock applies to a package, and not to a pattern or something else.
func (h *held) isPackage(name string) bool {
	lock, _ := h.locks.Value(name).(*data.Map)
	kind, ok := lock.Get("type")
	return !ok || kind == "package"
}

// hold holds one package unless it is already held in this way.
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
	return h.changeHold(ctx, would+name+shown,
		func(ctx context.Context) (changes *data.Map, comment string, err error) {
			updated := false
			if there {
				ret, err := calls.Unhold(ctx, m.env, h.name, []any{name})
				if err != nil {
					return nil, "", change.Raise(err)
				}
				_, updated = holdOutcome(ret, name)
			}
			entry := any(name)
			if wanted != "" {
				entry = data.NewMap(name, version)
			}
			ret, err := calls.Hold(ctx, m.env, h.name, []any{entry})
			if err != nil {
				return nil, "", change.Raise(err)
			}
			changes, good := holdOutcome(ret, name)
			switch {
			case !good:
				return changes, "", change.Reason("Package " + name + " was not held")
			case updated:
				return changes, "Package " + name + " was updated with hold rule", nil
			}
			return changes, "Package " + name + " is now being held", nil
		})
}

// unhold removes one hold. would is the comment in test mode.
func (m *module) unhold(ctx context.Context, h *held, name, would string) (change.Result, error) {
	return h.changeHold(ctx, would,
		func(ctx context.Context) (changes *data.Map, comment string, err error) {
			ret, err := calls.Unhold(ctx, m.env, h.name, []any{name})
			if err != nil {
				return nil, "", change.Raise(err)
			}
			if one, ok := ret.Value(name).(*data.Map); ok && data.Truth(one.Value("comment")) {
				comment = data.Str(one.Value("comment"))
			}
			changes, good := holdOutcome(ret, name)
			if !good {
				err = change.Reason(comment)
			}
			return changes, comment, err
		})
}

// changeHold changes the hold of one package.
func (h *held) changeHold(
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
	return o.run(ctx, h.name, find, func(ctx context.Context) (err error) {
		o.changes, o.texts.Done, err = do(ctx)
		return err
	})
}

// holdOutcome returns the changes of a call, and whether it succeeded for a package.
func holdOutcome(ret *data.Map, name string) (changes *data.Map, good bool) {
	changes = &data.Map{}
	for pkg, v := range ret.All() {
		if one, ok := v.(*data.Map); ok && data.Truth(one.Value("changes")) {
			changes.Set(pkg, one)
		}
	}
	one, ok := ret.Value(name).(*data.Map)
	return changes, ok && data.Truth(one.Value("result"))
}
