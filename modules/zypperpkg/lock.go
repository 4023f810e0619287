package zypperpkg

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type rootArgs struct {
	Root any `default:"None"`
}

// listLocks returns what is locked, by package: the lines of zypper's file of locks.
//
// CLI Example:
//
//	salt '*' pkg.list_locks
func (m *module) listLocks(_ context.Context, a rootArgs) (any, error) { return m.locks(a.Root) }

func (m *module) locks(root any) (*data.Map, error) {
	text, err := os.ReadFile(m.path(root, "/etc/zypp/locks"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, loader.Execution("read locks: %w", err)
	}
	return parseLocks(string(text)), nil
}

// parseLocks reads zypper's file of locks: paragraphs of lines with a key, a colon and a value.
func parseLocks(text string) *data.Map {
	locks := &data.Map{}
	for part := range strings.SplitSeq(text, "\n\n") {
		lock := &data.Map{}
		for line := range strings.Lines(part) {
			if key, value, ok := strings.Cut(line, ":"); ok {
				lock.Set(strings.TrimSpace(key), strings.TrimSpace(value))
			}
		}
		if name := lock.Text("solvable_name"); name != "" {
			lock.Delete("solvable_name")
			locks.Set(name, lock)
		}
	}
	return locks
}

type holdArgs struct {
	Name   any       `default:"None"`
	Pkgs   any       `default:"None"`
	Root   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// A target is a package that is to be held or not, with its version or nil.
type target struct {
	name    string
	version any
}

func (a holdArgs) targets() ([]target, error) {
	switch {
	case data.Truth(a.Pkgs):
	case data.Truth(a.Name):
		return []target{{data.Str(a.Name), nil}}, nil
	default:
		return nil, loader.Execution("Name or packages must be specified.")
	}
	var all []target
	for _, p := range listOf(a.Pkgs) {
		if one, ok := p.(*data.Map); ok && one.Len() > 0 {
			name, version := one.At(0)
			all = append(all, target{data.Str(name), version})
		} else {
			all = append(all, target{data.Str(p), nil})
		}
	}
	return all, nil
}

// word returns what zypper is told of a package and its version.
func word(name string, version any) any {
	if !data.Truth(version) {
		return name
	}
	return name + "=" + data.Str(version)
}

func told(name string, result bool, changes *data.Map, comment string) *data.Map {
	return data.NewMap("name", name, "changes", changes, "result", result, "comment", comment)
}

// hold keeps packages at their versions, and returns by package what came of it.
//
// CLI Example:
//
//	salt '*' pkg.hold pkgs='["vim", "zsh"]'
func (m *module) hold(ctx context.Context, a holdArgs) (any, error) {
	return m.lock(ctx, a, "al", func(t target, lock *data.Map) (*data.Map, any) {
		if lock != nil {
			return told(t.name, true, &data.Map{}, "Package "+t.name+" is already set to be held."), nil
		}
		return told(t.name, true, data.NewMap("new", "hold", "old", ""), "Package "+t.name+" is now being held."), word(t.name, t.version)
	})
}

// unhold lets packages go to other versions again, and returns by package what came of it.
//
// CLI Example:
//
//	salt '*' pkg.unhold pkgs='["vim", "zsh"]'
func (m *module) unhold(ctx context.Context, a holdArgs) (any, error) {
	return m.lock(ctx, a, "rl", func(t target, lock *data.Map) (*data.Map, any) {
		held := strings.TrimLeft(lock.Text("version"), "= ")
		switch {
		case lock == nil:
			return told(t.name, true, &data.Map{}, "Package "+t.name+" was already unheld."), nil
		case data.Truth(t.version) && data.Str(t.version) != held:
			return told(t.name, false, &data.Map{}, "Unable to unhold package "+t.name+" as it is held with the other version."), nil
		}
		return told(t.name, true, data.NewMap("new", "", "old", "hold"), "Package "+t.name+" is no longer held."), word(t.name, held)
	})
}

// lock runs zypper's verb for the packages of which judge gives a word, and returns what judge says of each.
func (m *module) lock(ctx context.Context, a holdArgs, verb string, judge func(target, *data.Map) (*data.Map, any)) (any, error) {
	targets, err := a.targets()
	if err != nil {
		return nil, err
	}
	locks, err := m.locks(a.Root)
	if err != nil {
		return nil, err
	}
	ret, words := &data.Map{}, []any{verb}
	for _, t := range targets {
		lock, _ := locks.Value(t.name).(*data.Map)
		outcome, word := judge(t, lock)
		ret.Set(t.name, outcome)
		if word != nil {
			words = append(words, word)
		}
	}
	if len(words) > 1 {
		_, err = m.run(ctx, call{root: a.Root}, words...)
	}
	return ret, err
}
