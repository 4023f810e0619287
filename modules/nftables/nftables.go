// Package nftables is Salt's module nftables: tables, chains and rules of the packet filter nftables, by
// the program nft (salt/modules/nftables.py).
//
// nftables.go has the functions on tables and chains, rule.go those on rules, build.go builds rules.
//
// Differences from Salt: names of tables and chains are words, and rules have one line; an argument in
// quotes keeps its blanks. A rule is found in any order of its sets, with or without names for numbers.
// delete takes a position alone or a rule, and get_policy returns the policy. A chain or table is
// found by its whole name. build_rule takes full=True as well as full='True'.
package nftables

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module nftables. It is available on hosts with the program nft.
func Plugin() loader.Plugin { return loader.Plugin{Name: "nftables", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("nft") == "" {
		//nolint:staticcheck // Salt's text
		return nil, errors.New("The nftables execution module failed to load: nftables is not installed.")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("append", m.appendRule),
		loader.F("build_rule", m.buildRule),
		loader.F("check", m.check),
		loader.F("check_chain", m.checkChain),
		loader.F("check_table", m.checkTable),
		loader.F("delete", m.deleteRule),
		loader.F("delete_chain", m.deleteChain),
		loader.F("delete_table", m.deleteTable),
		loader.F("flush", m.flush),
		loader.F("get_policy", m.getPolicy),
		loader.F("get_rule_handle", m.getRuleHandle),
		loader.F("get_rules", m.getRules),
		loader.F("get_rules_json", m.getRulesJSON),
		loader.F("get_saved_rules", m.getSavedRules),
		loader.F("insert", m.insertRule),
		loader.F("list_tables", m.listTables),
		loader.F("new_chain", m.newChain),
		loader.F("new_table", m.newTable),
		loader.F("save", m.save),
		loader.F("set_policy", m.setPolicy),
		loader.F("version", m.version),
	}}, nil
}

// families returns the families of nft, in the order in which they are saved.
func families() []string { return []string{"ip", "ip6", "inet", "arp", "bridge", "netdev"} }

// familyOf returns nft's word for a family.
func familyOf(v any) (string, error) {
	switch name := data.Str(v); name {
	case "ipv4", "ip4", "ip":
		return "ip", nil
	case "ipv6", "ip6":
		return "ip6", nil
	case "inet", "arp", "bridge", "netdev":
		return name, nil
	}
	return "", loader.Exception("KeyError", "%s", data.Repr(v))
}

// names refuses names of tables and chains that nft would read as something else.
func names(words ...any) error {
	for _, v := range words {
		word := data.Str(v)
		if err := process.PlainOperands(word); err != nil {
			return loader.Execution("%w", err)
		}
		if strings.ContainsAny(word, " \t;{}#\"") {
			return loader.Execution("'%s' is no name of a table or chain", word)
		}
	}
	return nil
}

// absent is what nft prints if a table or a chain does not exist.
var absent = regexp.MustCompile(`(?m)^Error: (Could not process rule: )?No such file or directory`)

// list runs nft to list something, and returns "" if that does not exist. Another failure is an error:
// it tells nothing of what there is.
func (m *module) list(ctx context.Context, argv ...string) (string, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: append([]string{"nft"}, argv...)})
	if err != nil || ran.Retcode == 0 {
		return ran.Stdout, err
	}
	text := strings.TrimSpace(ran.Stdout + "\n" + ran.Stderr)
	if ran.Retcode == 1 && absent.MatchString(text) {
		return "", nil
	}
	return "", loader.Execution("nft %s: code %d: %s", strings.Join(argv, " "), ran.Retcode, text)
}

// answer returns the result of most functions.
func answer(ok bool, comment string) *data.Map { return data.NewMap("comment", comment, "result", ok) }

// where names a chain in a comment.
func where(chain, table, family any) string {
	return "Chain " + data.Str(chain) + " in table " + data.Str(table) + " in family " + data.Str(family)
}

func whereTable(table, family any) string {
	return "Table " + data.Str(table) + " in family " + data.Str(family)
}

// ok reports whether the result of a function is a success.
func ok(result *data.Map) bool { return result.Value("result") == true }

type noArgs struct{}

// version returns the version of nft.
//
// CLI Example:
//
//	salt '*' nftables.version
func (m *module) version(ctx context.Context, _ noArgs) (any, error) {
	out, err := m.list(ctx, "--version")
	if err != nil {
		return nil, err
	}
	words := strings.Fields(out)
	if len(words) < 2 {
		return nil, loader.Execution("nft does not report its version: %q", out)
	}
	return words[1], nil
}

type familyArgs struct {
	Family any `default:"'ipv4'"`
}

// listTables returns the tables of a family, each with its family, name and handle.
//
// CLI Example:
//
//	salt '*' nftables.list_tables family=ipv6
func (m *module) listTables(ctx context.Context, a familyArgs) (any, error) {
	return m.tables(ctx, a.Family)
}

func (m *module) tables(ctx context.Context, family any) ([]any, error) {
	items, err := m.items(ctx, family, "--json", "--numeric", "--numeric", "--numeric", "list", "tables")
	if err != nil {
		return nil, err
	}
	tables := []any{}
	for _, v := range items {
		if item, ok := v.(*data.Map); ok && item.Has("table") {
			tables = append(tables, item.Value("table"))
		}
	}
	return tables, nil
}

// items runs nft for a family and returns the list in its JSON. Text without JSON is an error; Salt
// takes it for an empty list.
func (m *module) items(ctx context.Context, family any, argv ...string) ([]any, error) {
	word, err := familyOf(family)
	if err != nil {
		return nil, err
	}
	argv = append(argv, word)
	out, err := m.list(ctx, argv...)
	if err != nil || out == "" {
		return []any{}, err
	}
	v, err := pyjson.Load(out)
	if err != nil {
		return nil, loader.Execution("nft %s: read the list: %w", strings.Join(argv, " "), err)
	}
	all, _ := v.(*data.Map)
	list, _ := all.Value("nftables").([]any)
	return append([]any{}, list...), nil
}

// getRules returns the text of each table of a family.
//
// CLI Example:
//
//	salt '*' nftables.get_rules family=ipv6
func (m *module) getRules(ctx context.Context, a familyArgs) (any, error) {
	rules, err := m.rules(ctx, a.Family)
	return data.Values(rules), err
}

func (m *module) rules(ctx context.Context, family any) ([]string, error) {
	word, err := familyOf(family)
	if err != nil {
		return nil, err
	}
	tables, err := m.tables(ctx, family)
	if err != nil {
		return nil, err
	}
	var rules []string
	for _, v := range tables {
		table, _ := v.(*data.Map)
		out, err := m.list(ctx, "--numeric", "--numeric", "--numeric", "list", "table", word,
			table.Text("name"))
		if err != nil {
			return nil, err
		}
		rules = append(rules, out)
	}
	return rules, nil
}

// getRulesJSON returns the tables, chains and rules of a family as dictionaries.
//
// CLI Example:
//
//	salt '*' nftables.get_rules_json family=ipv6
func (m *module) getRulesJSON(ctx context.Context, a familyArgs) (any, error) {
	return m.ruleset(ctx, a.Family)
}

func (m *module) ruleset(ctx context.Context, family any) ([]any, error) {
	return m.items(ctx, family, "--numeric", "--numeric", "--numeric", "--json", "list", "ruleset")
}

// config returns the file for the rules, "" on systems without one.
func (m *module) config() string {
	grains := m.env.GrainsNow()
	switch grains.Text("os_family") {
	case "RedHat", "Arch", "Debian":
		return filepath.Join("/", m.env.Root, "etc/nftables")
	}
	if grains.Text("os") == "Gentoo" {
		return filepath.Join("/", m.env.Root, "etc/nftables")
	}
	return ""
}

// file returns the file that a caller names, or the system's.
func (m *module) file(named any) (string, error) {
	if path := calls.Text(named); path != "" {
		return path, nil
	}
	if path := m.config(); path != "" {
		return path, nil
	}
	return "", loader.Execution("this system has no default file for rules: name one")
}

type savedArgs struct {
	ConfFile any `name:"conf_file" default:"None"`
}

// getSavedRules returns the lines of the file with the saved rules, without comments.
//
// CLI Example:
//
//	salt '*' nftables.get_saved_rules
func (m *module) getSavedRules(_ context.Context, a savedArgs) (any, error) {
	path, err := m.file(a.ConfFile)
	if err != nil {
		return nil, err
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, loader.OSError(err)
	}
	rules := []any{}
	for line := range strings.Lines(string(src)) {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "#") {
			rules = append(rules, line)
		}
	}
	return rules, nil
}

type saveArgs struct {
	Filename any `default:"None"`
	Family   any `default:"'ipv4'"`
}

// save writes the rules of all families into a file, and returns its text. In a directory the file
// is salt-all-in-one.nft; the main configuration has to include it.
//
// CLI Example:
//
//	salt '*' nftables.save /etc/nftables
func (m *module) save(ctx context.Context, a saveArgs) (any, error) {
	path, err := m.file(a.Filename)
	if err != nil {
		return nil, err
	}
	text := "#! nft -f\n"
	for _, family := range families() {
		rules, err := m.rules(ctx, family)
		if err != nil {
			return nil, err
		}
		if len(rules) > 0 {
			text += "\n"
		}
		text += strings.Join(rules, "\n")
	}
	text += "\n"
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "salt-all-in-one.nft")
	}
	if err := atomicfile.Write(path, []byte(text), atomicfile.Options{Mode: 0o644,
		KeepMode: true}); err != nil {
		return nil, loader.Execution("Problem writing to configuration file: %w", err)
	}
	return text, nil
}

type tableArgs struct {
	Table  any `default:"None"`
	Family any `default:"'ipv4'"`
}

const noTable = "Table needs to be specified"

// checkTable returns whether a table exists, as result.
//
// CLI Example:
//
//	salt '*' nftables.check_table nat
func (m *module) checkTable(ctx context.Context, a tableArgs) (any, error) {
	return m.tableIs(ctx, a.Table, a.Family)
}

func (m *module) tableIs(ctx context.Context, table, family any) (*data.Map, error) {
	if !data.Truth(table) {
		return answer(false, noTable), nil
	}
	word, err := familyOf(family)
	if err != nil {
		return nil, err
	}
	if err := names(table); err != nil {
		return nil, err
	}
	out, err := m.list(ctx, "list", "tables", word)
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(out, "\n") {
		if strings.TrimSpace(line) == "table "+word+" "+data.Str(table) {
			return answer(true, whereTable(table, family)+" exists"), nil
		}
	}
	return answer(false, whereTable(table, family)+" does not exist"), nil
}

type requiredArgs struct {
	Table  any
	Family any `default:"'ipv4'"`
}

// act runs nft for a change, and returns one comment or the other.
func (m *module) act(ctx context.Context, done, failed string, argv ...string) (any, error) {
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: append([]string{"nft"}, argv...), MergeStderr: true})
	if err != nil {
		return nil, err
	}
	if ran.Stdout != "" || ran.Retcode != 0 {
		m.env.Log.Errorf("nft %s: code %d: %s", strings.Join(argv, " "), ran.Retcode, ran.Stdout)
		return answer(false, failed), nil
	}
	return answer(true, done), nil
}

// newTable creates a table.
//
// CLI Example:
//
//	salt '*' nftables.new_table filter
func (m *module) newTable(ctx context.Context, a requiredArgs) (any, error) {
	there, err := m.tableIs(ctx, a.Table, a.Family)
	if err != nil || !data.Truth(a.Table) || ok(there) {
		return there, err
	}
	word, err := familyOf(a.Family)
	if err != nil {
		return nil, err
	}
	title := whereTable(a.Table, a.Family)
	return m.act(ctx, title+" created", title+" could not be created", "add", "table", word,
		data.Str(a.Table))
}

// deleteTable deletes a table with all that it holds.
//
// CLI Example:
//
//	salt '*' nftables.delete_table filter
func (m *module) deleteTable(ctx context.Context, a requiredArgs) (any, error) {
	there, err := m.tableIs(ctx, a.Table, a.Family)
	if err != nil || !ok(there) {
		return there, err
	}
	word, err := familyOf(a.Family)
	if err != nil {
		return nil, err
	}
	title := whereTable(a.Table, a.Family)
	return m.act(ctx, title+" deleted", title+" could not be deleted", "delete", "table", word,
		data.Str(a.Table))
}

type chainArgs struct {
	Table  any `default:"'filter'"`
	Chain  any `default:"None"`
	Family any `default:"'ipv4'"`
}

const noChain = "Chain needs to be specified"

// checkChain returns whether a chain exists in a table, as result.
//
// CLI Example:
//
//	salt '*' nftables.check_chain filter input
func (m *module) checkChain(ctx context.Context, a chainArgs) (any, error) {
	return m.chainIs(ctx, a.Table, a.Chain, a.Family)
}

func (m *module) chainIs(ctx context.Context, table, chain, family any) (*data.Map, error) {
	if !data.Truth(chain) {
		return answer(false, noChain), nil
	}
	word, err := familyOf(family)
	if err != nil {
		return nil, err
	}
	if err := names(table, chain); err != nil {
		return nil, err
	}
	out, err := m.list(ctx, "list", "table", word, data.Str(table))
	if err != nil {
		return nil, err
	}
	if strings.Contains(out, "chain "+data.Str(chain)+" {") {
		return answer(true, where(chain, table, family)+" exists"), nil
	}
	return answer(false, where(chain, table, family)+" does not exist"), nil
}

// both returns the result of the first check that fails, of a table and a chain in it; nil if both
// exist.
func (m *module) both(ctx context.Context, table, chain, family any) (*data.Map, error) {
	there, err := m.tableIs(ctx, table, family)
	if err == nil && ok(there) {
		there, err = m.chainIs(ctx, table, chain, family)
	}
	if err == nil && ok(there) {
		return nil, nil
	}
	return there, err
}

type newChainArgs struct {
	Table     any `default:"'filter'"`
	Chain     any `default:"None"`
	TableType any `name:"table_type" default:"None"`
	Hook      any `default:"None"`
	Priority  any `default:"None"`
	Family    any `default:"'ipv4'"`
}

// newChain creates a chain in a table. With table_type, hook and priority it is a base chain.
//
// CLI Example:
//
//	salt '*' nftables.new_chain filter foo
//	salt '*' nftables.new_chain filter input table_type=filter hook=input priority=0
func (m *module) newChain(ctx context.Context, a newChainArgs) (any, error) {
	if !data.Truth(a.Chain) {
		return answer(false, noChain), nil
	}
	there, err := m.tableIs(ctx, a.Table, a.Family)
	if err != nil || !ok(there) {
		return there, err
	}
	title := where(a.Chain, a.Table, a.Family)
	there, err = m.chainIs(ctx, a.Table, a.Chain, a.Family)
	if err != nil || ok(there) {
		return answer(false, title+" already exists"), err
	}
	word, err := familyOf(a.Family)
	if err != nil {
		return nil, err
	}
	argv := []string{"--", "add", "chain", word, data.Str(a.Table), data.Str(a.Chain)}
	if data.Truth(a.TableType) || data.Truth(a.Hook) || data.Truth(a.Priority) {
		if !data.Truth(a.TableType) || !data.Truth(a.Hook) {
			return answer(false, "Table_type, hook, and priority required."), nil
		}
		priority := data.Str(a.Priority)
		if err := names(a.TableType, a.Hook, strings.TrimPrefix(priority, "-")); err != nil {
			return nil, err
		}
		argv = append(argv, "{", "type", data.Str(a.TableType), "hook", data.Str(a.Hook), "priority",
			priority+";", "}")
	}
	return m.act(ctx, title+" created", title+" could not be created", argv...)
}

// deleteChain deletes an empty chain from a table.
//
// CLI Example:
//
//	salt '*' nftables.delete_chain filter input
func (m *module) deleteChain(ctx context.Context, a chainArgs) (any, error) {
	if !data.Truth(a.Chain) {
		return answer(false, noChain), nil
	}
	lacking, err := m.both(ctx, a.Table, a.Chain, a.Family)
	if err != nil || lacking != nil {
		return lacking, err
	}
	word, err := familyOf(a.Family)
	if err != nil {
		return nil, err
	}
	title := where(a.Chain, a.Table, a.Family)
	return m.act(ctx, title+" deleted", title+" could not be deleted",
		"delete", "chain", word, data.Str(a.Table), data.Str(a.Chain))
}

type flushArgs struct {
	Table  any `default:"'filter'"`
	Chain  any `default:"''"`
	Family any `default:"'ipv4'"`
}

// flush deletes all rules of a chain, or of all chains of a table.
//
// CLI Example:
//
//	salt '*' nftables.flush filter input
func (m *module) flush(ctx context.Context, a flushArgs) (any, error) {
	there, err := m.tableIs(ctx, a.Table, a.Family)
	if err != nil || !ok(there) {
		return there, err
	}
	word, err := familyOf(a.Family)
	if err != nil {
		return nil, err
	}
	from := "from table " + data.Str(a.Table) + " in family " + data.Str(a.Family) + "."
	argv := []string{"flush", "table", word, data.Str(a.Table)}
	if data.Truth(a.Chain) {
		there, err := m.chainIs(ctx, a.Table, a.Chain, a.Family)
		if err != nil || !ok(there) {
			return there, err
		}
		from = "from chain " + data.Str(a.Chain) + " in table " + data.Str(a.Table) + " in family " +
			data.Str(a.Family) + "."
		argv = []string{"flush", "chain", word, data.Str(a.Table), data.Str(a.Chain)}
	}
	return m.act(ctx, "Flushed rules "+from, "Failed to flush rules "+from, argv...)
}

// base returns what nft reports of a chain, nil if it does not exist.
func (m *module) base(ctx context.Context, table, chain, family any) (*data.Map, error) {
	items, err := m.ruleset(ctx, family)
	for _, v := range items {
		item, _ := v.(*data.Map)
		if info, ok := item.Value("chain").(*data.Map); ok && info.Text("table") == data.Str(table) &&
			info.Text("name") == data.Str(chain) {
			return info, err
		}
	}
	return nil, err
}

// getPolicy returns the policy of a base chain, None for any other.
//
// CLI Example:
//
//	salt '*' nftables.get_policy filter input
func (m *module) getPolicy(ctx context.Context, a chainArgs) (any, error) {
	if !data.Truth(a.Chain) {
		return "Error: " + noChain, nil
	}
	info, err := m.base(ctx, a.Table, a.Chain, a.Family)
	return info.Value("policy"), err
}

type policyArgs struct {
	Table  any `default:"'filter'"`
	Chain  any `default:"None"`
	Policy any `default:"None"`
	Family any `default:"'ipv4'"`
}

// setPolicy sets the policy of a base chain: accept or drop. It returns whether it is set.
//
// CLI Example:
//
//	salt '*' nftables.set_policy filter input accept
func (m *module) setPolicy(ctx context.Context, a policyArgs) (any, error) {
	switch {
	case !data.Truth(a.Chain):
		return "Error: " + noChain, nil
	case !data.Truth(a.Policy):
		return "Error: Policy needs to be specified", nil
	}
	info, err := m.base(ctx, a.Table, a.Chain, a.Family)
	if err != nil || info == nil || !info.Has("type") || !info.Has("hook") || !info.Has("prio") {
		return false, err
	}
	word, err := familyOf(a.Family)
	if err != nil {
		return nil, err
	}
	if err := names(a.Table, a.Chain, a.Policy); err != nil {
		return nil, err
	}
	return calls.Succeeds(ctx, m.env, calls.Run{Argv: []string{"nft", "add", "chain", word, data.Str(a.Table),
		data.Str(a.Chain), "{ type " + info.Text("type") + " hook " + info.Text("hook") + " priority " +
			data.Str(info.Value("prio")) + "; policy " + data.Str(a.Policy) + "; }"}})
}
