package key

import (
	"context"
	"errors"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

func (m *module) changes() []loader.Func {
	return []loader.Func{
		loader.F("accept", m.accept),
		loader.F("accept_dict", m.acceptDict),
		loader.F("delete", m.deleteKeys),
		loader.F("delete_dict", m.deleteDict),
		loader.F("reject", m.reject),
		loader.F("reject_dict", m.rejectDict),
	}
}

type acceptArgs struct {
	Match           any
	IncludeRejected bool `default:"False"`
	IncludeDenied   bool `default:"False"`
}

// accept accepts the pending keys that match a glob, and returns the matching keys by their state.
//
// include_rejected
//
//	True also accepts rejected keys.
//
// include_denied
//
//	True also accepts denied keys.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.accept minion1
func (m *module) accept(ctx context.Context, a acceptArgs) (any, error) {
	return m.change(ctx, keyring.Accept, a.Match, states(a))
}

// acceptDict accepts the pending keys of a dictionary from states to ids, and returns the keys by
// their new state.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.accept_dict "{'minions_pre': ['jerry', 'stuart', 'bob']}"
func (m *module) acceptDict(ctx context.Context, a acceptArgs) (any, error) {
	return m.changeDict(ctx, keyring.Accept, a.Match, states(a))
}

func states(a acceptArgs) []pki.State {
	return withStates(a.IncludeRejected, pki.Rejected, a.IncludeDenied)
}

func withStates(also bool, other pki.State, denied bool) []pki.State {
	list := []pki.State{pki.Pending}
	if also {
		list = append(list, other)
	}
	if denied {
		list = append(list, pki.Denied)
	}
	return list
}

type rejectArgs struct {
	Match           any
	IncludeAccepted bool `default:"False"`
	IncludeDenied   bool `default:"False"`
}

// reject rejects the pending keys that match a glob, and returns the matching keys by their state.
//
// include_accepted
//
//	True also rejects accepted keys.
//
// include_denied
//
//	True also rejects denied keys.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.reject minion1
func (m *module) reject(ctx context.Context, a rejectArgs) (any, error) {
	return m.change(ctx, keyring.Reject, a.Match,
		withStates(a.IncludeAccepted, pki.Accepted, a.IncludeDenied))
}

// rejectDict rejects the pending keys of a dictionary from states to ids, and returns the keys by
// their new state.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.reject_dict "{'minions_pre': ['jerry', 'stuart', 'bob']}"
func (m *module) rejectDict(ctx context.Context, a rejectArgs) (any, error) {
	return m.changeDict(ctx, keyring.Reject, a.Match,
		withStates(a.IncludeAccepted, pki.Accepted, a.IncludeDenied))
}

// deleteKeys deletes the keys that match a glob, in any state, and returns those that remain.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.delete minion1
func (m *module) deleteKeys(ctx context.Context, a matchArgs) (any, error) {
	return m.change(ctx, keyring.Delete, a.Match, keyring.States())
}

// deleteDict deletes the keys of a dictionary from states to ids, and returns those that remain.
//
// CLI Example:
//
//	salt-call saltutil.wheel key.delete_dict "{'minions': ['jerry', 'stuart', 'bob']}"
func (m *module) deleteDict(ctx context.Context, a matchArgs) (any, error) {
	return m.changeDict(ctx, keyring.Delete, a.Match, keyring.States())
}

// change applies an action to the keys in these states that match a glob.
func (m *module) change(ctx context.Context, act string, globs any, from []pki.State) (any, error) {
	found, err := m.match(ctx, globs, false)
	if err != nil {
		return nil, err
	}
	if err := m.carryOut(ctx, act, ofStates(found, from)); err != nil {
		return nil, err
	}
	found, err = m.match(ctx, globs, false)
	return keyring.Shown(found), err
}

// changeDict applies an action to the keys in these states that a dictionary names.
func (m *module) changeDict(
	ctx context.Context, act string, dict any, from []pki.State,
) (any, error) {
	given, err := shelvesOf(dict)
	if err != nil {
		return nil, err
	}
	if err := m.carryOut(ctx, act, ofStates(given, from)); err != nil {
		return nil, err
	}
	now, err := m.ring(ctx).NowIn(given)
	return keyring.Shown(now), err
}

// shelvesOf parses a dictionary from directories to lists of ids. As in Salt any other value names
// no keys.
func shelvesOf(v any) ([]keyring.Shelf, error) {
	m, _ := v.(*data.Map)
	var shelves []keyring.Shelf
	for k, list := range m.All() {
		i := slices.IndexFunc(keyring.States(), func(s pki.State) bool { return s.Dir() == k })
		ids, ok := list.([]any)
		if i < 0 || !ok {
			return nil, loader.Invocation("%s: %s is not a directory of keys with a list of ids",
				data.Str(k), data.Repr(list))
		}
		shelf := keyring.Shelf{State: keyring.States()[i]}
		for _, id := range ids {
			if err := pki.ValidID(data.Str(id)); err != nil {
				return nil, loader.Invocation("%w", err)
			}
			shelf.IDs = append(shelf.IDs, data.Str(id))
		}
		pki.SortIDs(shelf.IDs)
		shelves = append(shelves, shelf)
	}
	return shelves, nil
}

// ofStates returns the shelves that an action applies to, in the order of the states.
func ofStates(shelves []keyring.Shelf, states []pki.State) []keyring.Shelf {
	var chosen []keyring.Shelf
	for _, s := range states {
		for _, shelf := range shelves {
			if shelf.State == s {
				chosen = append(chosen, shelf)
			}
		}
	}
	return chosen
}

// carryOut applies an action to keys and cleans up.
func (m *module) carryOut(ctx context.Context, act string, chosen []keyring.Shelf) error {
	ring := m.ring(ctx)
	changes := ring.Change(act, chosen)
	for _, id := range changes.Invalid {
		m.env.Log.Errorf("Invalid RSA public key: %s", id)
	}
	err := errors.Join(changes.Errs...)
	if act == keyring.Accept {
		return errors.Join(err, ring.Replaced(chosen))
	}
	caches, rotation := ring.ClearUp(act, chosen)
	if caches != nil {
		m.env.Log.Warnf("Key: Delete cache: %v", caches)
	}
	return errors.Join(err, rotation)
}
