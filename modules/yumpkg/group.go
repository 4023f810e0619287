package yumpkg

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

// sections maps the headings of the program's output to the keys of pkg.group_list.
func sections() map[string]string {
	return map[string]string{
		"installed groups:": "installed", "available groups:": "available",
		"installed environment groups:": "installed environments",
		"available environment groups:": "available environments",
		"available language groups:":    "available languages",
	}
}

// groupList returns the package groups: installed ones, available ones, environments, and
// languages.
//
// CLI Example:
//
//	salt '*' pkg.group_list
func (m *module) groupList(ctx context.Context, _ loader.NoArgs) (any, error) {
	text, err := m.output(ctx, m.program, "grouplist", "hidden")
	return parseGroups(text), err
}

var language = regexp.MustCompile(`^(.+) \[(.+)\]`)

func parseGroups(text string) *data.Map {
	languages := &data.Map{}
	groups := data.NewMap("installed", []any{}, "available", []any{}, "installed environments",
		[]any{}, "available environments", []any{}, "available languages", languages)
	key := ""
	for line := range strings.SplitSeq(text, "\n") {
		heading := strings.ToLower(line)
		if heading == "done" {
			break
		}
		if section, ok := sections()[heading]; ok {
			key = section
			continue
		}
		line = strings.TrimSpace(line)
		switch {
		case key == "" || line == "":
		case key != "available languages":
			groups.Set(key, append(groups.Value(key).([]any), line))
		default:
			if match := language.FindStringSubmatch(line); match != nil {
				languages.Set(line, data.NewMap("name", match[1], "language", match[2]))
			}
		}
	}
	return groups
}

// pkgTypes returns the kinds of packages in a group.
func pkgTypes() []string { return []string{"mandatory", "optional", "default", "conditional"} }

type groupInfoArgs struct {
	Name         string
	Expand       any `default:"False"`
	IgnoreGroups any `default:"None"`
}

// groupInfo returns the details of a group: its packages, or for an environment its groups.
//
// expand : False
//
//	True: for an environment, return the packages of its groups.
//
// CLI Example:
//
//	salt '*' pkg.group_info 'Perl Support'
func (m *module) groupInfo(ctx context.Context, a groupInfoArgs) (any, error) {
	done := map[string]bool{}
	for _, g := range listOf(a.IgnoreGroups) {
		done[data.Str(g)] = true
	}
	return m.group(ctx, a.Name, data.Truth(a.Expand), done)
}

// group returns the details of a group. done holds the groups that need not be queried again.
func (m *module) group(
	ctx context.Context, name string, expand bool, done map[string]bool,
) (*data.Map, error) {
	if err := packages.Names(name); err != nil {
		return nil, err
	}
	text, err := m.output(ctx, m.program, "--quiet", "groupinfo", name)
	if err != nil {
		return nil, err
	}
	facts := groupFacts(text)
	id, title := facts["environment-id"], facts["environment group"]
	if id == "" {
		id = facts["group-id"]
	}
	kind := "environment group"
	if _, ok := facts[kind]; !ok {
		kind, title = "package group", facts["group"]
	}
	if title == "" && id == "" {
		return nil, loader.Execution("Group '%s' not found", name)
	}
	ret := &data.Map{}
	for _, t := range pkgTypes() {
		ret.Set(t, members(text, t))
	}
	if expand && kind == "environment group" {
		if err := m.expand(ctx, ret, done); err != nil {
			return nil, err
		}
	}
	for k, v := range map[string]string{"group": title, "id": id} {
		ret.Set(k, nil)
		if v != "" {
			ret.Set(k, v)
		}
	}
	ret.Set("type", kind)
	ret.Set("description", facts["description"])
	return ret, nil
}

// groupFacts parses the lines of a group that have exactly one colon.
func groupFacts(text string) map[string]string {
	facts := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if key, value, ok := strings.Cut(line, ":"); ok && !strings.Contains(value, ":") {
			facts[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
		}
	}
	return facts
}

var membersHeading = regexp.MustCompile(`^(mandatory|optional|default|conditional) (?:groups|packages):\s*$`)

// members returns the lines below the heading of a kind, sorted.
func members(text, kind string) []any {
	var names []string
	found := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimLeft(strings.TrimSpace(line), "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
		if match := membersHeading.FindStringSubmatch(strings.ToLower(line)); match != nil {
			if found {
				break
			}
			found = match[1] == kind
			continue
		}
		if found && line != "" {
			names = append(names, line)
		}
	}
	slices.Sort(names)
	return data.Values(slices.Compact(names))
}

// expand puts the packages of groups in place of the groups of an environment.
func (m *module) expand(ctx context.Context, env *data.Map, done map[string]bool) error {
	all := map[string][]string{}
	for _, t := range pkgTypes() {
		for _, group := range data.Texts(env.Value(t).([]any)) {
			if done[group] {
				continue
			}
			done[group] = true
			more, err := m.group(ctx, "@"+group, true, done)
			if err != nil {
				return err
			}
			for _, t := range pkgTypes() {
				all[t] = append(all[t], data.Texts(more.Value(t).([]any))...)
			}
		}
	}
	for _, t := range pkgTypes() {
		slices.Sort(all[t])
		env.Set(t, data.Values(slices.Compact(all[t])))
	}
	return nil
}

type groupDiffArgs struct{ Name string }

// groupDiff returns which packages of a group are installed, and which are not.
//
// CLI Example:
//
//	salt '*' pkg.group_diff 'Perl Support'
func (m *module) groupDiff(ctx context.Context, a groupDiffArgs) (any, error) {
	have, err := m.all(ctx, true)
	if err != nil {
		return nil, err
	}
	group, err := m.group(ctx, a.Name, true, map[string]bool{})
	if err != nil {
		return nil, err
	}
	ret := &data.Map{}
	for _, t := range pkgTypes() {
		in, out := []any{}, []any{}
		for _, name := range group.Value(t).([]any) {
			if have.Has(name) {
				in = append(in, name)
			} else {
				out = append(out, name)
			}
		}
		ret.Set(t, data.NewMap("installed", in, "not installed", out))
	}
	return ret, nil
}

type groupInstallArgs struct {
	Name    any
	Skip    any       `default:"()"`
	Include any       `default:"()"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// groupInstall installs the packages of groups, and returns what changed by package.
//
// name
//
//	The group, several with commas between, or a list of them.
//
// skip
//
//	Packages to leave out.
//
// include
//
//	Packages to install with them, as the optional ones.
//
// CLI Example:
//
//	salt '*' pkg.group_install 'My Group' skip=foo,bar include=baz
func (m *module) groupInstall(ctx context.Context, a groupInstallArgs) (any, error) {
	groups, err := groupNames(a.Name)
	if err != nil {
		return nil, err
	}
	skip, include := loader.SplitList(a.Skip), loader.SplitList(a.Include)
	var targets []string
	for _, g := range groups {
		group, err := m.group(ctx, g, false, map[string]bool{})
		if err != nil {
			return nil, err
		}
		targets = append(targets, data.Texts(group.Value("mandatory").([]any))...)
		for _, name := range data.Texts(group.Value("default").([]any)) {
			if !slices.Contains(skip, name) {
				targets = append(targets, name)
			}
		}
	}
	have, err := m.all(ctx, true)
	if err != nil {
		return nil, err
	}
	var missing []any
	for _, name := range append(targets, include...) {
		if name != "" && !have.Has(name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return &data.Map{}, nil
	}
	words := packages.Own(a.Kwargs)
	words.Set("pkgs", missing)
	return m.env.Call(ctx, "pkg.install", nil, words)
}

func groupNames(v any) ([]string, error) {
	text, isText := v.(string)
	list, isList := v.([]any)
	switch {
	case !data.Truth(v):
		return nil, loader.Invocation("no groups specified")
	case isText:
		return strings.Split(text, ","), nil
	case isList:
		return data.Texts(list), nil
	}
	return nil, loader.Invocation("'groups' must be a list")
}
