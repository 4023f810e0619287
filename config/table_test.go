package config

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

var renew = flag.Bool("update", false, "write what is generated from options.yaml")

// TestTable compares the files generated from options.yaml, or rewrites them.
func TestTable(t *testing.T) {
	src, err := os.ReadFile("options.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, others, err := readOptions(src)
	if err != nil {
		t.Fatal(err)
	}
	for file, write := range map[string]func() ([]byte, error){
		"options_gen.go":     func() ([]byte, error) { return writeTable(list, others) },
		"structs_gen.go":     func() ([]byte, error) { return writeStructs(list) },
		"../docs/options.md": func() ([]byte, error) { return writePage(list), nil },
	} {
		want, err := write()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if *renew {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not that of options.yaml: run go generate ./config (%v)", file, err)
		}
	}
}

// sections are the groups of options.yaml, in the order of docs/options.md, with their titles
// there.
var sections = [][2]string{
	{"identity", "The daemon itself"}, {"network", "Network"}, {"paths", "Paths"}, {"log", "Log"},
	{"keys", "Keys and sign-in"}, {"access", "Who may do what"}, {"jobs", "Jobs"}, {"events", "Events"},
	{"files", "Files"}, {"grains", "Grains, pillar and mine"}, {"states", "States"}, {"metrics",
		"Metrics"}, {"programs", "Programs"}, {"http", "Web servers"}, {"api", "salt-api"},
	{"plugins", "Plug-ins"}, {"masters", "Many masters"}, {"syndic", "Syndics"}, {"ssh", "salt-ssh"}, {"proxy", "Proxy minions"},
	{"windows", "Windows packages"}, {"processes", "Processes"}, {"general", "Others"},
}

// An entry is one option of options.yaml.
type entry struct {
	name, about, group, why string
	kinds                   []string
	roles                   map[role]*data.Map // the properties for a role, including the common ones
}

// others are the options that options.yaml only lists by name.
type others struct{ maybe, unread []string }

// readOptions parses options.yaml.
func readOptions(src []byte) ([]entry, others, error) {
	v, err := yaml.Load(src, yaml.Options{})
	if err != nil {
		return nil, others{}, err
	}
	file, _ := v.(*data.Map)
	options, _ := file.Value("options").(*data.Map)
	var list []entry
	for name, about := range options.All() {
		e, err := readEntry(data.Str(name), about)
		if err != nil {
			return nil, others{}, fmt.Errorf("options.yaml: %s: %w", name, err)
		}
		list = append(list, e)
	}
	return list, others{strings.Fields(file.Text("other")), strings.Fields(file.Text("unread"))}, nil
}

func readEntry(name string, v any) (entry, error) {
	m, ok := v.(*data.Map)
	if !ok {
		return entry{}, fmt.Errorf("is no mapping")
	}
	e := entry{
		name: name, about: m.Text("about"), group: m.Text("group"), why: m.Text("why"),
		kinds: words(m.Value("is")), roles: map[role]*data.Map{},
	}
	common, _ := m.Value("use").(*data.Map)
	for _, r := range []role{masterRole, minionRole} {
		own, ok := m.Value(string(r)).(*data.Map)
		if !ok {
			continue
		}
		all := &data.Map{}
		if m.Has("effect") {
			all.Set("effect", m.Value("effect"))
		}
		all.Update(common)
		all.Update(own)
		e.roles[r] = all
		if err := e.check(all); err != nil {
			return e, err
		}
	}
	if !slices.ContainsFunc(sections, func(g [2]string) bool { return g[0] == e.group }) {
		return e, fmt.Errorf("group %s is none of those in this test", e.group)
	}
	if e.about == "" || len(e.kinds) == 0 || len(e.roles) == 0 {
		return e, fmt.Errorf("about, is, and master or minion are missing")
	}
	return e, nil
}

// check finds unknown words and inconsistent properties.
func (e entry) check(use *data.Map) error {
	known := []any{"default", "effect", "field", "go", "unit", "none", "min", "max", "oneof",
		"lower", "split", "needed", "same"}
	for k := range use.All() {
		if !slices.Contains(known, k) {
			return fmt.Errorf("%s is no word of this file", k)
		}
	}
	effect := use.Text("effect")
	if !slices.Contains([]string{string(noEffect), string(atStart), string(live)}, effect) {
		return fmt.Errorf("effect is %q", effect)
	}
	if effect == string(noEffect) && e.why == "" {
		return fmt.Errorf("has no effect and no why")
	}
	if use.Has("field") && e.goType(use) == "" {
		return fmt.Errorf("needs go: the type of its field is not clear")
	}
	return nil
}

// goType returns the type of the option's field, or "" if the key go has to name it.
func (e entry) goType(use *data.Map) string {
	if use.Has("unit") {
		return "time.Duration"
	}
	kinds := slices.DeleteFunc(slices.Clone(e.kinds), func(k string) bool { return k == "none" })
	kind := use.Text("go")
	if kind == "" && len(kinds) == 1 {
		kind = kinds[0]
	}
	return map[string]string{
		"str": "string", "bool": "bool", "int": "int", "list": "[]string", "dict": "*data.Map", "any": "any",
	}[kind]
}

const generated = "// Code generated from options.yaml by go generate. DO NOT EDIT.\n\npackage config\n\n"

// writeTable returns the Go text of the table of options.
func writeTable(list []entry, o others) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(generated + "import \"github.com/brineproject/brine/data\"\n\n" +
		"// optionTable is a variable, because a function that returned it would be twice as large.\n" +
		"var optionTable = []option{\n")
	for _, e := range list {
		fmt.Fprintf(&b, "{name: %q, kinds: %s", e.name, literalWords(e.kinds))
		if e.why != "" {
			fmt.Fprintf(&b, ", why: %q", e.why)
		}
		for _, r := range []role{masterRole, minionRole} {
			if use := e.roles[r]; use != nil {
				fmt.Fprintf(&b, ", %s: %s", r, literalUse(use))
			}
		}
		b.WriteString("},\n")
	}
	for _, name := range o.maybe {
		fmt.Fprintf(&b, "{name: %q},\n", name)
	}
	for _, name := range o.unread {
		fmt.Fprintf(&b, "{name: %q, why: \"only plug-ins and programs of Salt read it\"},\n", name)
	}
	b.WriteString("}\n")
	return format.Source(b.Bytes())
}

// literalUse returns the Go text of the properties for a role.
func literalUse(use *data.Map) string {
	parts := []string{"effect: " +
		map[effect]string{noEffect: "noEffect", atStart: "atStart", live: "live"}[effect(use.Text("effect"))]}
	if v, ok := use.Get("default"); ok {
		parts = append(parts, "set: true")
		if v != nil {
			parts = append(parts, "value: "+literal(v))
		}
	}
	for _, name := range []string{"unit", "none", "min", "max", "split"} {
		if v, ok := use.Get(name); ok {
			parts = append(parts, fmt.Sprintf("%s: %q", name, data.Str(v)))
		}
	}
	if one := words(use.Value("oneof")); one != nil {
		parts = append(parts, "oneOf: "+literalWords(one))
	}
	for _, name := range []string{"lower", "needed"} {
		if use.Value(name) == true {
			parts = append(parts, name+": true")
		}
	}
	if same, ok := use.Get("same"); ok {
		parts = append(parts, "same: "+literal(same))
	}
	if use.Has("none") {
		parts = append(parts, "mayBeNone: true")
	}
	return "&use{" + strings.Join(parts, ", ") + "}"
}

func literalWords(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(s)
	}
	return "[]string{" + strings.Join(quoted, ", ") + "}"
}

// literal returns the Go text of a value.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return fmt.Sprintf("int64(%d)", v)
	case float64:
		return fmt.Sprintf("float64(%s)", strconv.FormatFloat(v, 'g', -1, 64))
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = literal(e)
		}
		return "[]any{" + strings.Join(parts, ", ") + "}"
	case *data.Map:
		var parts []string
		for k, e := range v.All() {
			parts = append(parts, literal(k), literal(e))
		}
		return "data.NewMap(" + strings.Join(parts, ", ") + ")"
	}
	panic(fmt.Sprintf("no literal for %T", v)) // a type that the file has not contained so far
}

// writeStructs returns the Go text of the structs, one per group. If both roles have the same
// group, they share a struct.
func writeStructs(list []entry) ([]byte, error) {
	var structs bytes.Buffer
	for _, g := range sections {
		texts := map[role]string{}
		for _, r := range []role{masterRole, minionRole} {
			texts[r] = structFields(list, g[0], r)
		}
		title := strings.ToUpper(g[0][:1]) + g[0][1:]
		if texts[masterRole] == texts[minionRole] && texts[masterRole] != "" {
			writeStruct(&structs, title, "both roles", g[0], texts[masterRole])
			continue
		}
		for _, r := range []role{masterRole, minionRole} {
			if texts[r] == "" {
				continue
			}
			name := strings.ToUpper(string(r[:1])) + string(r[1:]) + title
			writeStruct(&structs, name, "a "+string(r), g[0], texts[r])
		}
	}
	return format.Source([]byte(generated +
		"import (\n\t\"time\"\n\n\t\"github.com/brineproject/brine/data\"\n)\n\n" +
		structs.String()))
}

func writeStruct(b *bytes.Buffer, name, whose, group, fields string) {
	fmt.Fprintf(b, "// %s holds the options of %s in the group %s.\ntype %s struct {\n%s}\n\n",
		name, whose, group, name, fields)
}

// structFields returns the Go text of the fields of a group for a role.
func structFields(list []entry, group string, r role) string {
	var b strings.Builder
	for _, e := range list {
		use := e.roles[r]
		if e.group == group && use.Has("field") {
			fmt.Fprintf(&b, "\t// %s\n\t%s %s `yaml:%q`\n", e.about, use.Text("field"), e.goType(use), e.name)
		}
	}
	return b.String()
}

// writePage returns docs/options.md.
func writePage(list []entry) []byte {
	var b bytes.Buffer
	b.WriteString("# Options\n\n<!-- Generated from config/options.yaml by go generate ./config. -->\n\n" +
		"The options of `/etc/salt/master` and `/etc/salt/minion`, with Salt's names. Effect: *live* applies within " +
		"two checks of `config_reload_interval` after the file is saved, or at SIGHUP, *start* applies at the next start of the daemon, " +
		"and *none* is accepted and does nothing; `salt-master --check-config` and " +
		"`salt-minion --check-config` name such options where they are set. Where both roles have an option, the first value is the " +
		"master's. A role that is not listed does not know the option.\n")
	for _, g := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n| Option | Type | Default | Effect | Meaning |\n|---|---|---|---|---|\n", g[1])
		for _, e := range list {
			if e.group == g[0] {
				b.WriteString(e.row())
			}
		}
	}
	return b.Bytes()
}

// withoutEffect names the role for which an option has no effect if it has one for the other.
func (e entry) withoutEffect() string {
	var without []string
	for _, r := range []role{masterRole, minionRole} {
		if use := e.roles[r]; use != nil && use.Text("effect") == "none" {
			without = append(without, string(r))
		}
	}
	if len(without) == len(e.roles) {
		return ""
	}
	return " on the " + strings.Join(without, " and the ")
}

// row returns the line of docs/options.md for an option.
func (e entry) row() string {
	var defaults, effects []string
	for _, r := range []role{masterRole, minionRole} {
		use := e.roles[r]
		if use == nil {
			continue
		}
		effects = append(effects, string(r)+": "+use.Text("effect"))
		if v, ok := use.Get("default"); ok {
			defaults = append(defaults, "`"+strings.ReplaceAll(data.Repr(v), "|", "\\|")+"`")
		} else {
			defaults = append(defaults, "-")
		}
	}
	about := e.about
	if e.why != "" {
		about += " No effect" + e.withoutEffect() + ": " + e.why + "."
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", e.name, strings.Join(e.kinds, ", "),
		strings.Join(slices.Compact(defaults), ", "), strings.Join(effects, ", "),
		strings.ReplaceAll(about, "|", "\\|"))
}
