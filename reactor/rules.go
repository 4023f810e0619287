package reactor

import (
	"errors"
	"slices"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// A Rule names the files that react to matching events.
type Rule struct {
	Tag   string   // a glob with the rules of Python's fnmatch
	Files []string // paths, globs of paths, and salt:// paths
}

// Map returns the rule in the form of the option.
func (r Rule) Map() *data.Map { return data.NewMap(r.Tag, data.Values(r.Files)) }

// example shows how to write a rule.
const example = "write - 'salt/minion/*/start': [/srv/reactor/start.sls]"

// ParseRules parses the option reactor: a list of maps, each from one tag to a file or a list of
// files. As in Salt, invalid entries are left out. The error lists them; its parts are findings of
// package config.
func ParseRules(option any) ([]Rule, error) {
	entries, ok := option.([]any)
	if !ok && option != nil {
		return nil, config.Expected("a list of tags and files", option, example)
	}
	var rules []Rule
	var faults []error
	for i, entry := range entries {
		rule, err := parseRule(entry)
		if err != nil {
			faults = append(faults, config.Doubt(config.Below(config.Entry{Index: i, Value: entry},
				err)))
			continue
		}
		rules = append(rules, rule)
	}
	return rules, errors.Join(faults...)
}

func parseRule(entry any) (Rule, error) {
	m, ok := entry.(*data.Map)
	if !ok || m.Len() != 1 {
		return Rule{}, config.Expected("one tag with its files", entry, example)
	}
	for tag, value := range m.All() {
		files, ok := value.([]any)
		if text, isText := value.(string); isText {
			files, ok = []any{text}, true
		}
		if !ok {
			return Rule{}, config.Below(tag,
				config.Expected("a file or a list of files", value, example))
		}
		rule := Rule{Tag: data.Str(tag)}
		for i, f := range files {
			text, ok := f.(string)
			if !ok || text == "" {
				return Rule{}, config.Below(tag,
					config.Below(config.Entry{Index: i, Value: f},
						config.Expected("the path of a file", f, example)))
			}
			rule.Files = append(rule.Files, text)
		}
		return rule, nil
	}
	return Rule{}, nil
}

// A table finds the files for a tag. It is immutable.
type table struct {
	rules []Rule
	globs []*match.Glob
}

func newTable(rules []Rule) *table {
	t := &table{rules: rules}
	for _, r := range rules {
		t.globs = append(t.globs, match.CompileGlob(r.Tag))
	}
	return t
}

func (t *table) wants(tag string) bool {
	return slices.ContainsFunc(t.globs, func(g *match.Glob) bool { return g.Match(tag) })
}

// files returns the files of all matching rules in order.
func (t *table) files(tag string) []string {
	var files []string
	for i, g := range t.globs {
		if g.Match(tag) {
			files = append(files, t.rules[i].Files...)
		}
	}
	return files
}
