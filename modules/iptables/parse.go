package iptables

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// parse returns what iptables-save prints: chains by table, each with its policy, its counters and its rules.
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
	table  *data.Map // that of the lines below its name
	names  []optionName
}

func fault(what, line string) error {
	return loader.Execution("read saved iptables rules: %s: %q", what, line)
}

// chain reads a line such as ":INPUT ACCEPT [0:0]".
func (p *parser) chain(line string) error {
	words := strings.Fields(line)
	if p.table == nil || len(words) < 3 {
		return fault("a chain has a table, a policy and counters", line)
	}
	packets, bytes, ok := strings.Cut(strings.NewReplacer("[", "", "]", "").Replace(words[2]), ":")
	if !ok || strings.Contains(bytes, ":") {
		return fault("a chain has two counters", line)
	}
	p.table.Set(strings.ReplaceAll(words[0], ":", ""), data.NewMap("policy", words[1], "packet count", packets, "byte count", bytes,
		"rules", []any{}, "rules_comment", data.NewMap()))
	return nil
}

// rule reads a line such as "-A INPUT -s 10.0.0.0/8 -j ACCEPT".
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
		chain.Value("rules_comment").(*data.Map).Set(strings.Trim(comments[0].(string), `"`), options)
	}
	chain.Set("rules", append(chain.Value("rules").([]any), options))
	return nil
}

// pair brings the words of a rule into the order option, value, option, value: a mark of negation goes to the value, words that
// belong together become one, and an option without a value gets an empty one.
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

// options returns the values of the options that are known, each a list, in the order of ruleOptions.
func (p *parser) options(words []string) *data.Map {
	found := map[string][]any{}
	for i := 0; i+1 < len(words); i++ {
		if told := p.told(words[i]); told != "" {
			i++
			found[told] = append(found[told], words[i])
		}
	}
	all := data.NewMap()
	for _, n := range p.names {
		if values := found[n.told]; values != nil {
			all.Set(n.told, values)
		}
	}
	return all
}

// told returns what a word is told as: "" for one that is no option. A long word may be cut off where it is still one option's.
func (p *parser) told(word string) string {
	if i := slices.IndexFunc(p.names, func(n optionName) bool { return n.word == word }); i >= 0 {
		return p.names[i].told
	}
	if len(word) < 3 || !strings.HasPrefix(word, "--") {
		return ""
	}
	var told string
	for _, n := range p.names {
		if strings.HasPrefix(n.word, word) {
			if told != "" {
				return ""
			}
			told = n.told
		}
	}
	return told
}
