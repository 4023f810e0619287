package iptables

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// parse parses the output of iptables-save: chains by table, each with its policy, its counters and
// its rules.
func parse(text string) (*data.Map, error) {
	p := parser{tables: data.NewMap(), names: ruleNames()}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		var err error
		switch {
		case strings.HasPrefix(line, "*"):
			p.table = data.NewMap()
			p.tables.Set(strings.ReplaceAll(line, "*", ""), p.table)
		case strings.HasPrefix(line, ":"):
			err = p.chain(line)
		case strings.HasPrefix(line, "-A"):
			err = p.rule(line)
		}
		if err != nil {
			return nil, err
		}
	}
	return p.tables, nil
}

type parser struct {
	tables *data.Map
	table  *data.Map // table of the lines that follow
	names  []optionName
}

func fault(what, line string) error {
	return loader.Execution("read saved iptables rules: %s: %q", what, line)
}

// chain parses a line such as ":INPUT ACCEPT [0:0]".
func (p *parser) chain(line string) error {
	words := strings.Fields(line)
	if p.table == nil || len(words) < 3 {
		return fault("a chain has a table, a policy and counters", line)
	}
	packets, bytes, ok := strings.Cut(strings.NewReplacer("[", "", "]", "").Replace(words[2]), ":")
	if !ok || strings.Contains(bytes, ":") {
		return fault("a chain has two counters", line)
	}
	p.table.Set(strings.ReplaceAll(words[0], ":", ""),
		data.NewMap("policy", words[1], "packet count", packets, "byte count", bytes,
			"rules", []any{}, "rules_comment", data.NewMap()))
	return nil
}

// rule parses a line such as "-A INPUT -s 10.0.0.0/8 -j ACCEPT".
func (p *parser) rule(line string) error {
	words, err := process.Words(line)
	if err != nil {
		return fault(err.Error(), line)
	}
	options := p.options(pair(words))
	chains, _ := options.Value("append").([]any)
	options.Delete("append")
	if len(chains) == 0 {
		return fault("a rule has a chain", line)
	}
	chain, ok := p.table.Value(chains[0]).(*data.Map)
	if !ok {
		return fault("a rule stands below its chain", line)
	}
	if comments, ok := options.Value("comment").([]any); ok {
		chain.Value("rules_comment").(*data.Map).Set(strings.Trim(comments[0].(string), `"`),
			options)
	}
	chain.Set("rules", append(chain.Value("rules").([]any), options))
	return nil
}

// pair rearranges the words of a rule to option, value, option, value. A negation mark moves to the
// value, words that belong together are joined, and an option without a value gets an empty one.
func pair(words []string) []string {
	var out []string
	for i := 0; i < len(words); {
		word := words[i]
		not := word == "!" && i+1 < len(words) && strings.HasPrefix(words[i+1], "-")
		if not {
			word = words[i+1]
			i++
		}
		i++
		out = append(out, word)
		if !strings.HasPrefix(word, "-") {
			continue
		}
		var value []string
		if not {
			value = append(value, "!")
		}
		for i < len(words) && !strings.HasPrefix(words[i], "-") && words[i] != "!" {
			value = append(value, words[i])
			i++
		}
		out = append(out, strings.Join(value, " "))
	}
	return out
}

// options returns the values of the known options, each a list, in the order of ruleOptions.
func (p *parser) options(words []string) *data.Map {
	found := map[string][]any{}
	for i := 0; i+1 < len(words); i++ {
		if name := p.optionNamed(words[i]); name != "" {
			i++
			found[name] = append(found[name], words[i])
		}
	}
	all := data.NewMap()
	for _, n := range p.names {
		if values := found[n.reported]; values != nil {
			all.Set(n.reported, values)
		}
	}
	return all
}

// optionNamed returns the name under which a word is reported, or "" if it is not an option. A long
// word may be abbreviated if that is unambiguous.
func (p *parser) optionNamed(word string) string {
	if i := slices.IndexFunc(p.names, func(n optionName) bool { return n.word == word }); i >= 0 {
		return p.names[i].reported
	}
	if len(word) < 3 || !strings.HasPrefix(word, "--") {
		return ""
	}
	var reported string
	for _, n := range p.names {
		if strings.HasPrefix(n.word, word) {
			if reported != "" {
				return ""
			}
			reported = n.reported
		}
	}
	return reported
}
