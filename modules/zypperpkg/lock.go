package zypperpkg

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type rootArgs struct {
	Root any `default:"None"`
}

// listLocks returns the locks by package, from zypper's file of locks.
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

// parseLocks parses zypper's file of locks: paragraphs of lines with a key, a colon and a value.
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

// A target is a package to hold or release, and its version or nil.
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

// word returns zypper's argument for a package and its version.
func word(name string, version any) any {
	if !data.Truth(version) {
		return name
	}
	return name + "=" + data.Str(version)
}

func holdResult(name string, result bool, changes *data.Map, comment string) *data.Map {
	return data.NewMap("name", name, "changes", changes, "result", result, "comment", comment)
}

// hold keeps packages at their current versions, and returns the result for each package.
//
// CLI Example:
//
//	salt '*' pkg.hold pkgs='["vim", "zsh"]'
func (m *module) hold(ctx context.Context, a holdArgs) (any, error) {
	return m.lock(ctx, a, "al", func(t target, lock *data.Map) (*data.Map, any) {
		if lock != nil {
			return holdResult(t.name, true, &data.Map{}, "Package "+t.name+
				" is already set to be held."), nil
		}
		return holdResult(t.name, true, data.NewMap("new", "hold", "old", ""), "Package "+t.name+
			" is now being held."), word(t.name, t.version)
	})
}

// unhold allows packages to change versions again, and returns the result for each package.
//
// CLI Example:
//
//	salt '*' pkg.unhold pkgs='["vim", "zsh"]'
func (m *module) unhold(ctx context.Context, a holdArgs) (any, error) {
	return m.lock(ctx, a, "rl", func(t target, lock *data.Map) (*data.Map, any) {
		held := strings.TrimLeft(lock.Text("version"), "= ")
		switch {
		case lock == nil:
			return holdResult(t.name, true, &data.Map{}, "Package "+t.name+
				" was already unheld."), nil
		case data.Truth(t.version) && data.Str(t.version) != held:
			return holdResult(t.name, false, &data.Map{}, "Unable to unhold package "+t.name+
				" as it is held with the other version."), nil
		}
		return holdResult(t.name, true, data.NewMap("new", "", "old", "hold"), "Package "+t.name+
			" is no longer held."), word(t.name, held)
	})
}

// lock returns the outcome that judge returns for each package. It runs zypper's verb for the
// packages for which judge returns an argument.
func (m *module) lock(
	ctx context.Context, a holdArgs, verb string, judge func(target, *data.Map) (*data.Map, any),
) (any, error) {
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

type listHoldsArgs struct {
	Pattern any       `default:"None"`
	Full    any       `default:"True"`
	Root    any       `default:"None"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// listHolds returns the installed packages that are locked, each with its version.
//
// pattern
//
//	A regular expression for the beginning of names.
//
// full : True
//
//	False: only names.
//
// CLI Example:
//
//	salt '*' pkg.list_holds full=False
func (m *module) listHolds(ctx context.Context, a listHoldsArgs) (any, error) {
	fits := func(string) bool { return true }
	if data.Truth(a.Pattern) {
		form, err := regexp.Compile(`^(?:` + data.Str(a.Pattern) + `)-\S+`)
		if err != nil {
			return nil, loader.Invocation("pattern: %w", err)
		}
		fits = form.MatchString
	}
	names, err := m.held(ctx, a.Root)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, name := range names {
		v, err := m.infoInstalled(ctx,
			namesArgs{[]any{name}, data.NewMap("root", a.Root, "attr", "edition,epoch",
				"all_versions", true)})
		if err != nil {
			return nil, err
		}
		for _, text := range holdTexts(name, v, data.Truth(a.Full)) {
			if !slices.Contains(list, any(text)) && fits(text) {
				list = append(list, text)
			}
		}
	}
	return list, nil
}

// held returns the names of the installed packages that a lock covers.
func (m *module) held(ctx context.Context, root any) (names []string, err error) {
	locks, err := m.locks(root)
	for name, v := range locks.All() {
		lock := v.(*data.Map)
		if kind := lock.Text("type"); kind != "" && kind != "package" {
			continue
		}
		options := []any{"--case-sensitive", "--installed-only", "--details"}
		if !strings.Contains(data.Str(name), "*") {
			options = append([]any{"--match-exact"}, options...)
		}
		found, err := m.matches(ctx, data.Str(name), root, options...)
		if err != nil {
			return nil, err
		}
		for k := range found.All() {
			if k := data.Str(k); !slices.Contains(names, k) {
				names = append(names, k)
			}
		}
	}
	return names, err
}

// holdTexts returns a package with each of its versions in zypper's form for locks, or only its
// name.
func holdTexts(name string, info *data.Map, full bool) (list []string) {
	for _, v := range listOf(info.Value(name)) {
		p := v.(*data.Map)
		if !full {
			list = append(list, name)
			continue
		}
		epoch := p.Text("epoch")
		if epoch == "" {
			epoch = "0"
		}
		list = append(list, name+"-"+epoch+":"+p.Text("edition")+".*")
	}
	return list
}

// cleanLocks removes the locks that match no package, and returns their number.
//
// CLI Example:
//
//	salt '*' pkg.clean_locks
func (m *module) cleanLocks(ctx context.Context, a rootArgs) (any, error) {
	var removed any = int64(0)
	_, err := os.Stat(m.path(a.Root, "/etc/zypp/locks"))
	if errors.Is(err, fs.ErrNotExist) {
		return data.NewMap("removed", removed), nil
	}
	if err != nil {
		return nil, loader.Execution("check locks: %w", err)
	}
	nodes, err := m.nodes(ctx, call{root: a.Root}, "message", "cl")
	for _, n := range nodes {
		if words := strings.Fields(strings.ToLower(n.text)); len(words) > 1 &&
			strings.HasPrefix(words[0], "removed") {
			removed = words[1]
			break
		}
	}
	return data.NewMap("removed", removed), err
}
