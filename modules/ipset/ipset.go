// Package ipset is Salt's module ipset: sets of addresses for packet filters, by the program ipset
// (salt/modules/ipset.py).
//
// Differences from Salt: words that ipset would read as options are refused, and so are line ends. A
// comment may have several words. The option nomatch gets no value. ipset.check compares an entry with
// what the kernel would make of it: a network or a range is there if all of it is, and not with one of
// its addresses; ports may have a protocol or a name; nomatch and the other options count, except
// counters and what is left of a timeout.
package ipset

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/ipsets"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module ipset. It is available on hosts with the program ipset.
func Plugin() loader.Plugin { return loader.Plugin{Name: "ipset", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("ipset") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The ipset execution modules cannot be loaded: ipset binary not in path.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add", m.add),
		loader.F("check", m.check),
		loader.F("check_set", m.checkSet),
		loader.F("delete", m.remove),
		loader.F("delete_set", m.deleteSet),
		loader.F("flush", m.flush),
		loader.F("list_sets", m.listSets),
		loader.F("new_set", m.newSet),
		loader.F("rename_set", m.renameSet),
		loader.F("test", m.test),
		loader.F("version", m.version),
	}}, nil
}

// A setType is a type of sets: the options to create one, and those of its entries.
type setType struct {
	required string
	create   string
	entry    string
}

const (
	counted = " timeout counters comment skbinfo"
	hashed  = "family hashsize maxelem netmask" + counted
	marks   = "timeout packets bytes skbmark skbprio"
	queues  = marks + " skbqueue"
	nets    = ipsets.Options
)

func setTypes() map[string]setType {
	return map[string]setType{
		"bitmap:ip":         {"range", "range netmask" + counted, queues},
		"bitmap:ip,mac":     {"range", "range" + counted, queues},
		"bitmap:port":       {"range", "range" + counted, marks},
		"hash:ip":           {"", hashed, queues},
		"hash:ip,mark":      {"", "family markmask hashsize maxelem" + counted, queues},
		"hash:ip,port":      {"", hashed, nets},
		"hash:ip,port,ip":   {"", hashed, queues},
		"hash:ip,port,net":  {"", hashed, nets},
		"hash:mac":          {"", "hashsize maxelem" + counted, queues},
		"hash:net":          {"", hashed, nets},
		"hash:net,iface":    {"", hashed, nets},
		"hash:net,net":      {"", hashed, nets},
		"hash:net,port":     {"", hashed, nets},
		"hash:net,port,net": {"", hashed, nets},
		"list:set":          {"", "size timeout counters comment", queues},
	}
}

func family(name any) (string, error) {
	switch name {
	case "ipv4", "ip4":
		return "inet", nil
	case "ipv6", "ip6":
		return "inet6", nil
	}
	return "", loader.Exception("KeyError", "%s", data.Repr(name))
}

func (m *module) run(ctx context.Context, command []string, words ...string) (calls.Ran, error) {
	return ipsets.Run(ctx, m.env, command, words...)
}

// act runs a command of ipset. It returns True, or what ipset prints.
func (m *module) act(ctx context.Context, command string, words ...string) (any, error) {
	ran, err := m.run(ctx, []string{command}, words...)
	if text, failed := failure(ran); err != nil || failed {
		return text, err
	}
	return true, nil
}

// failure returns what ipset prints, and whether it failed: then it prints something, or has a code.
func failure(ran calls.Ran) (text string, failed bool) {
	if ran.Stdout == "" && ran.Retcode != 0 {
		return "ipset ended with code " + strconv.Itoa(ran.Retcode), true
	}
	return ran.Stdout, ran.Stdout != ""
}

type noArgs struct{}

// version returns the version of ipset.
//
// CLI Example:
//
//	salt '*' ipset.version
func (m *module) version(ctx context.Context, _ noArgs) (any, error) {
	ran, err := m.run(ctx, []string{"--version"})
	if err != nil {
		return nil, err
	}
	words := strings.Fields(ran.Stdout)
	if len(words) < 2 {
		return nil, loader.Execution("ipset does not report its version: %q", ran.Stdout)
	}
	return words[1], nil
}

type newSetArgs struct {
	Name    any       `default:"None"`
	SetType any       `name:"set_type" default:"None"`
	Family  any       `default:"'ipv4'"`
	Comment any       `default:"False"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// newSet creates a set. It returns True, or the reason why not.
//
// comment
//
//	True: entries may have comments.
//
// Further arguments are options of the type, such as range, timeout, counters or maxelem.
//
// CLI Example:
//
//	salt '*' ipset.new_set custom_set list:set
//	salt '*' ipset.new_set custom_set hash:ip comment=True family=ipv6
func (m *module) newSet(ctx context.Context, a newSetArgs) (any, error) {
	inet, err := family(a.Family)
	if err != nil {
		return nil, err
	}
	kind, known := setTypes()[data.Str(a.SetType)]
	switch {
	case !data.Truth(a.Name):
		return "Error: Set Name needs to be specified", nil
	case !data.Truth(a.SetType):
		return "Error: Set Type needs to be specified", nil
	case !known:
		return "Error: Set Type is invalid", nil
	case kind.required != "" && !a.Kwargs.Has(kind.required):
		return "Error: " + kind.required + " is a required argument", nil
	}
	words := []string{data.Str(a.Name), data.Str(a.SetType)}
	for _, option := range strings.Fields(kind.create) {
		switch v, given := a.Kwargs.Get(option); {
		case !given:
		case option == "counters", option == "skbinfo":
			words = append(words, option)
		default:
			words = append(words, option, data.Str(v))
		}
	}
	if strings.HasPrefix(kind.create, "family") {
		words = append(words, "family", inet)
	}
	if data.Truth(a.Comment) {
		words = append(words, "comment")
	}
	return m.act(ctx, "create", words...)
}

type setArgs struct {
	Name   any `default:"None"`
	Family any `default:"'ipv4'"`
}

const noSet = "Error: Set needs to be specified"

// deleteSet destroys a set. It returns True, or the reason why not.
//
// CLI Example:
//
//	salt '*' ipset.delete_set custom_set
func (m *module) deleteSet(ctx context.Context, a setArgs) (any, error) {
	if !data.Truth(a.Name) {
		return noSet, nil
	}
	return m.act(ctx, "destroy", data.Str(a.Name))
}

type renameArgs struct {
	Name   any `default:"None"`
	NewSet any `name:"new_set" default:"None"`
	Family any `default:"'ipv4'"`
}

// renameSet renames a set. It returns True, or the reason why not.
//
// CLI Example:
//
//	salt '*' ipset.rename_set custom_set new_set=new_set_name
func (m *module) renameSet(ctx context.Context, a renameArgs) (any, error) {
	switch {
	case !data.Truth(a.Name):
		return noSet, nil
	case !data.Truth(a.NewSet):
		return "Error: New name for set needs to be specified", nil
	}
	info, err := m.info(ctx, a.Name)
	if err != nil || info == nil {
		return "Error: Set does not exist", err
	}
	other, err := m.info(ctx, a.NewSet)
	if err != nil || other != nil {
		return "Error: New Set already exists", err
	}
	return m.act(ctx, "rename", data.Str(a.Name), data.Str(a.NewSet))
}

type familyArgs struct {
	Family any `default:"'ipv4'"`
}

// listSets returns a dictionary for each set, with what ipset reports of it.
//
// CLI Example:
//
//	salt '*' ipset.list_sets
func (m *module) listSets(ctx context.Context, _ familyArgs) (any, error) {
	ran, err := m.run(ctx, []string{"list", "-t"})
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		return nil, ipsets.Failed(ran, "list", "-t")
	}
	sets := []any{}
	for block := range strings.SplitSeq(ran.Stdout, "\n\n") {
		sets = append(sets, ipsets.Fields(block))
	}
	if ran.Stdout == "" { // as in Salt
		sets = append(sets, &data.Map{})
	}
	return sets, nil
}

// info returns what ipset reports of a set, nil if it does not exist.
func (m *module) info(ctx context.Context, name any) (*data.Map, error) {
	text, found, err := ipsets.List(ctx, m.env, []string{"list", "-t"}, data.Str(name))
	if err != nil || !found {
		return nil, err
	}
	return ipsets.Fields(text), nil
}

// members returns the entries of a set.
func (m *module) members(ctx context.Context, name any) ([]string, error) {
	text, _, err := ipsets.List(ctx, m.env, []string{"list"}, data.Str(name))
	return ipsets.Members(text), err
}

// checkSet returns whether a set exists.
//
// CLI Example:
//
//	salt '*' ipset.check_set name
func (m *module) checkSet(ctx context.Context, a setArgs) (any, error) {
	if !data.Truth(a.Name) {
		return noSet, nil
	}
	info, err := m.info(ctx, a.Name)
	return info.Len() > 0, err
}

type addArgs struct {
	Name   any       `default:"None"`
	Entry  any       `default:"None"`
	Family any       `default:"'ipv4'"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// missing returns the text for a call without a name or an entry, "" for a complete one.
func missing(name, entry any) string {
	switch {
	case !data.Truth(name):
		return noSet
	case !data.Truth(entry):
		return "Error: Entry needs to be specified"
	}
	return ""
}

// add adds an entry to a set. It returns Success, or the reason why not.
//
// entry
//
//	The entry with its options, such as 192.168.1.26 timeout 30.
//
// Further arguments are options of the entry: timeout, comment, packets, bytes, nomatch, skbmark,
// skbprio, skbqueue.
//
// CLI Example:
//
//	salt '*' ipset.add name 192.168.1.26
//	salt '*' ipset.add name 192.168.0.3,AA:BB:CC:DD:EE:FF comment='a host'
func (m *module) add(ctx context.Context, a addArgs) (any, error) {
	if text := missing(a.Name, a.Entry); text != "" {
		return text, nil
	}
	name, entry := data.Str(a.Name), data.Str(a.Entry)
	info, err := m.info(ctx, a.Name)
	if err != nil || info == nil {
		return "Error: Set " + name + " does not exist", err
	}
	if lacking := unsupported(info.Text("Header"), a.Kwargs); lacking != "" {
		return "Error: Set " + name + " not created with " + lacking + " support", nil
	}
	if err := process.PlainOperands(entry); err != nil {
		return nil, loader.Execution("%w", err)
	}
	words := ipsets.Words(entry)
	if comment, ok := a.Kwargs.Get("comment"); ok && !slices.Contains(words[1:], "comment") {
		words = append(words, "comment", data.Str(comment))
	}
	for _, option := range strings.Fields(setTypes()[info.Text("Type")].entry) {
		switch v, given := a.Kwargs.Get(option); {
		case !given, slices.Contains(words[1:], option), option == "nomatch" && !data.Truth(v):
		case option == "nomatch":
			words = append(words, option)
		default:
			words = append(words, option, data.Str(v))
		}
	}
	members, err := m.members(ctx, a.Name)
	if err != nil || slices.Contains(members, entry) {
		return "Warn: Entry " + entry + " already exists in set " + name, err
	}
	ran, err := m.run(ctx, []string{"add", "-exist"}, append([]string{name}, words...)...)
	if text, failed := failure(ran); err != nil || failed {
		return "Error: " + text, err
	}
	return "Success", nil
}

// unsupported returns which of the options for an entry need a support that the set lacks.
func unsupported(header string, kwargs *data.Map) string {
	for _, need := range []struct{ options, support string }{
		{"timeout", "timeout"}, {"packets bytes", "counters"}, {"comment", "comment"},
		{"skbmark skbprio skbqueue", "skbinfo"},
	} {
		if slices.ContainsFunc(strings.Fields(need.options), func(s string) bool { return kwargs.Has(s) }) &&
			!strings.Contains(header, need.support) {
			return need.support
		}
	}
	return ""
}

// remove deletes an entry from a set. It returns Success, or the reason why not.
//
// CLI Example:
//
//	salt '*' ipset.delete name 192.168.0.3,AA:BB:CC:DD:EE:FF
func (m *module) remove(ctx context.Context, a addArgs) (any, error) {
	if text := missing(a.Name, a.Entry); text != "" {
		return text, nil
	}
	info, err := m.info(ctx, a.Name)
	if err != nil || info == nil {
		return "Error: Set " + data.Str(a.Name) + " does not exist", err
	}
	ran, err := m.run(ctx, []string{"del"}, data.Str(a.Name), data.Str(a.Entry))
	if text, failed := failure(ran); err != nil || failed {
		return "Error: " + text, err
	}
	return "Success", nil
}

type entryArgs struct {
	Name   any `default:"None"`
	Entry  any `default:"None"`
	Family any `default:"'ipv4'"`
}

// check returns whether a set has an entry, or one that contains it, with these options.
//
// entry
//
//	An address, a range such as 192.168.0.2-192.168.0.19, a network, or a list of them: one of them
//	is enough.
//
// CLI Example:
//
//	salt '*' ipset.check name '192.168.0.1 comment "Hello"'
func (m *module) check(ctx context.Context, a entryArgs) (any, error) {
	if text := missing(a.Name, a.Entry); text != "" {
		return text, nil
	}
	info, err := m.info(ctx, a.Name)
	if err != nil || info == nil {
		return "Error: Set " + data.Str(a.Name) + " does not exist", err
	}
	members, err := m.members(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	entries := []string{data.Str(a.Entry)}
	if _, ok := a.Entry.([]any); ok {
		entries = data.TextsOf(a.Entry)
	}
	return slices.ContainsFunc(entries, ipsets.New(info, members).Has), nil
}

// test returns whether ipset finds an entry in a set.
//
// CLI Example:
//
//	salt '*' ipset.test name 192.168.0.2
func (m *module) test(ctx context.Context, a addArgs) (any, error) {
	if text := missing(a.Name, a.Entry); text != "" {
		return text, nil
	}
	info, err := m.info(ctx, a.Name)
	if err != nil || info == nil {
		return "Error: Set " + data.Str(a.Name) + " does not exist", err
	}
	ran, err := m.run(ctx, []string{"test"}, data.Str(a.Name), data.Str(a.Entry))
	return err == nil && ran.Retcode <= 0, err
}

// flush deletes all entries of a set, or of all sets without a name. It returns whether ipset printed
// nothing.
//
// CLI Example:
//
//	salt '*' ipset.flush set
func (m *module) flush(ctx context.Context, a setArgs) (any, error) {
	var words []string
	if data.Truth(a.Name) {
		words = []string{data.Str(a.Name)}
	}
	v, err := m.act(ctx, "flush", words...)
	return v == true, err
}
