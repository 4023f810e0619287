package state

import (
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
)

// merge merges top files according to the option top_file_merging_strategy (salt/state.py,
// merge_tops).
func (c *Compiler) merge(t *tops) (*data.Map, error) {
	switch strategy := c.text("top_file_merging_strategy"); strategy {
	case "same":
		return c.mergeSame(t)
	case "merge_all":
		return mergeAll(t)
	case "", "merge":
	default:
		c.env().Log.Warnf("Invalid top_file_merging_strategy '%s', falling back to 'merge'",
			strategy)
	}
	return mergeBase(t)
}

// mergeBase gives the top file of base priority. The top file of another environment counts only
// for its own section, and only if base has no such section.
func mergeBase(t *tops) (*data.Map, error) {
	top := data.NewMap()
	for _, file := range t.files["base"] {
		if err := takeSections(top, file, func(any) bool { return true }); err != nil {
			return nil, err
		}
	}
	for _, saltenv := range t.envs {
		if saltenv == "base" {
			continue
		}
		for _, file := range t.files[saltenv] {
			if err := takeSections(top, file,
				func(section any) bool {
					return section == saltenv &&
						!top.Has(section)
				}); err != nil {
				return nil, err
			}
		}
	}
	return top, nil
}

// mergeSame uses for each environment its own top file, or the one of default_top if it has none.
func (c *Compiler) mergeSame(t *tops) (*data.Map, error) {
	top := data.NewMap()
	for _, saltenv := range t.envs {
		files := t.files[saltenv]
		if allEmpty(files) {
			if files = t.files[c.text("default_top")]; allEmpty(files) {
				c.env().Log.Errorf("The '%s' saltenv has no top file, and the fallback saltenv specified by default_top (%s) also has no top file",
					saltenv, c.text("default_top"))
				continue
			}
		}
		for _, file := range files {
			if err := takeSections(top, file,
				func(section any) bool { return section == saltenv }); err != nil {
				return nil, err
			}
		}
	}
	return top, nil
}

func allEmpty(files []*data.Map) bool {
	return !slices.ContainsFunc(files, func(file *data.Map) bool { return file.Len() > 0 })
}

// takeSections copies the wanted sections of a top file. A later entry for the same target replaces
// the earlier one.
func takeSections(top, file *data.Map, wanted func(section any) bool) error {
	return eachSection(file, func(section any, targets *data.Map) {
		if targets.Len() > 0 && wanted(section) {
			subMap(top, section).Update(targets)
		}
	}, wanted)
}

// mergeAll concatenates the lists of targets that appear in several top files.
func mergeAll(t *tops) (*data.Map, error) {
	top := data.NewMap()
	all := func(any) bool { return true }
	for _, saltenv := range t.envs {
		for _, file := range t.files[saltenv] {
			if err := eachSection(file, func(section any, targets *data.Map) { joinTargets(top, section, targets) }, all); err != nil {
				return nil, err
			}
		}
	}
	return top, nil
}

func joinTargets(top *data.Map, section any, targets *data.Map) {
	for target, mods := range targets.All() {
		at := subMap(top, section)
		if old, ok := at.Get(target); ok {
			mods = joinMods(old, mods)
		}
		at.Set(target, mods)
	}
}

// joinMods concatenates the lists of one target: the later match option, then the names of both.
func joinMods(first, second any) []any {
	option1, names1 := readTarget(first)
	option2, names2 := readTarget(second)
	var mods []any
	switch {
	case option2.Len() > 0:
		mods = append(mods, option2)
	case option1 != nil:
		mods = append(mods, option1)
	}
	mods = append(mods, names1...)
	for _, name := range names2 {
		if !slices.ContainsFunc(mods, func(m any) bool { return m == name }) {
			mods = append(mods, name)
		}
	}
	return mods
}

func readTarget(mods any) (option *data.Map, names []any) {
	list, _ := mods.([]any)
	for _, item := range list {
		switch item := item.(type) {
		case *data.Map:
			option = item
		case string:
			names = append(names, item)
		}
	}
	return option, names
}

// eachSection calls do for the wanted sections of a top file with their targets.
func eachSection(
	file *data.Map, do func(section any, targets *data.Map), wanted func(section any) bool,
) error {
	for section, v := range file.All() {
		if section == "include" || !wanted(section) {
			continue
		}
		targets, ok := v.(*data.Map)
		if list, isList := v.([]any); !ok && (!isList || len(list) > 0) {
			return fmt.Errorf("%w Below %s a top file has %s instead of targets, each with a list of SLS", ErrTop, data.Str(section), kind(v))
		}
		do(section, targets)
	}
	return nil
}

// kind describes a value that is not the expected dictionary.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case []any:
		return "a list"
	}
	return "a single value"
}

// subMap returns the dictionary at a key and creates it if it is missing.
func subMap(m *data.Map, key any) *data.Map {
	if sub, ok := m.Value(key).(*data.Map); ok {
		return sub
	}
	sub := data.NewMap()
	m.Set(key, sub)
	return sub
}
