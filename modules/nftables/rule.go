package nftables

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

type ruleArgs struct {
	Table  any `default:"'filter'"`
	Chain  any `default:"None"`
	Rule   any `default:"None"`
	Family any `default:"'ipv4'"`
}

// incomplete returns the result for a rule without a chain or text, nil for a whole one.
func (a ruleArgs) incomplete() *data.Map {
	switch {
	case !data.Truth(a.Chain):
		return answer(false, noChain)
	case !data.Truth(a.Rule):
		return answer(false, "Rule needs to be specified")
	}
	return nil
}

// named is a rule in a comment.
func (a ruleArgs) named(in string) string {
	return "Rule " + data.Str(a.Rule) + in + "chain " + data.Str(a.Chain) + " in table " + data.Str(a.Table) +
		" in family " + data.Str(a.Family)
}

// words returns the words of a rule for nft. What was in quotes gets them back if it has blanks or
// characters that nft would read as its own. Such characters outside of quotes are refused: after a
// semicolon nft reads another command.
func words(rule any) ([]string, error) {
	text := data.Str(rule)
	if strings.ContainsAny(text, "\n\r\x00") {
		return nil, loader.Execution("the rule %q has more than one line", text)
	}
	all, err := process.Words(text)
	if err == nil {
		err = process.Operands(all...)
	}
	if err != nil {
		return nil, loader.Execution("read the rule %s: %w", text, err)
	}
	s := scanner{rest: text}
	if err := s.scan(); err != nil {
		return nil, loader.Execution("read the rule %s: %w", text, err)
	}
	return s.words, nil
}

// A scanner splits a rule into words as process.Words does, and knows what was in quotes.
type scanner struct {
	rest  string
	words []string
	word  strings.Builder
	begun bool
	depth int // open braces
}

func (s *scanner) scan() error {
	for s.rest != "" {
		c := s.rest[0]
		s.rest = s.rest[1:]
		var err error
		switch c {
		case ' ', '\t':
			s.end()
			continue
		case '"', '\'':
			err = s.quoted(c)
		case '\\':
			err = s.escaped()
		default:
			err = s.bare(c)
		}
		if err != nil {
			return err
		}
		s.begun = true
	}
	s.end()
	if s.depth != 0 {
		return errors.New("a brace is not closed")
	}
	return nil
}

func (s *scanner) end() {
	if s.begun {
		s.words = append(s.words, s.word.String())
		s.word.Reset()
		s.begun = false
	}
}

// bare adds a character outside of quotes.
func (s *scanner) bare(c byte) error {
	switch c {
	case ';', '#':
		return fmt.Errorf("the character %c outside of quotes", c)
	case '{':
		s.depth++
	case '}':
		if s.depth--; s.depth < 0 {
			return errors.New("a brace is not opened")
		}
	}
	return s.word.WriteByte(c)
}

// escaped adds a text between \" and \", as rules for Salt have it: Salt drops other quotation marks.
func (s *scanner) escaped() error {
	text, rest, ok := strings.Cut(strings.TrimPrefix(s.rest, `"`), `\"`)
	if !ok || s.rest[0] != '"' || strings.ContainsAny(text, `"'\`) {
		return errors.New("a backslash outside of quotes")
	}
	s.word.WriteString(`"` + text + `"`)
	s.rest = rest
	return nil
}

// quoted adds what follows an opening quotation mark. nft has no way to write a quotation mark in a text.
func (s *scanner) quoted(mark byte) error {
	var text strings.Builder
	for s.rest != "" && s.rest[0] != mark {
		if mark == '"' && len(s.rest) > 1 && s.rest[0] == '\\' && strings.ContainsRune(`"\`, rune(s.rest[1])) {
			s.rest = s.rest[1:]
		}
		text.WriteByte(s.rest[0])
		s.rest = s.rest[1:]
	}
	s.rest = strings.TrimPrefix(s.rest, string(mark))
	switch {
	case strings.Contains(text.String(), `"`):
		return errors.New("a quotation mark in quotes")
	case strings.ContainsAny(text.String(), " \t;{}#"):
		s.word.WriteString(`"` + text.String() + `"`)
	default:
		s.word.WriteString(text.String())
	}
	return nil
}

// check returns whether a chain has a rule, as result.
//
// CLI Example:
//
//	salt '*' nftables.check filter input rule='tcp dport 22 log accept'
func (m *module) check(ctx context.Context, a ruleArgs) (any, error) {
	result, _, err := m.find(ctx, a)
	return result, err
}

// find looks for a rule, and returns its handle too.
func (m *module) find(ctx context.Context, a ruleArgs) (result *data.Map, handle string, err error) {
	if lacking := a.incomplete(); lacking != nil {
		return lacking, "", nil
	}
	lacking, err := m.both(ctx, a.Table, a.Chain, a.Family)
	if err != nil || lacking != nil {
		return lacking, "", err
	}
	word, err := familyOf(a.Family)
	if err != nil {
		return nil, "", err
	}
	for _, options := range [][]string{{"--handle", "--numeric", "--numeric", "--numeric"}, {"--handle"}} {
		out, err := m.list(ctx, append(options, "list", "chain", word, data.Str(a.Table),
			data.Str(a.Chain))...)
		if err != nil {
			return nil, "", err
		}
		if handle := handleOf(out, data.Str(a.Rule)); handle != "" {
			return answer(true, a.named(" in ")+" exists"), handle, nil
		}
	}
	return answer(false, a.named(" in ")+" does not exist"), "", nil
}

// handleOf returns the handle of a rule in the list of a chain, "" if it is not there. The whole line
// counts. For Salt a rule that ends in the words is enough, so that it deletes the wrong one.
func handleOf(list, rule string) string {
	for line := range strings.SplitSeq(list, "\n") {
		i := strings.LastIndex(line, " # handle ")
		if i >= 0 && plain(line[:i]) == plain(rule) {
			return strings.TrimSpace(line[i+len(" # handle "):])
		}
	}
	return ""
}

// plain returns a rule in one of the forms that mean the same: without quotes and counts, with sorted
// sets, and a set of one as its element.
func plain(rule string) string {
	rule = regexp.MustCompile(`counter packets \d+ bytes \d+`).ReplaceAllString(rule, "counter")
	rule = regexp.MustCompile(`\{([^{}]*)\}`).ReplaceAllStringFunc(rule, func(set string) string {
		members := strings.FieldsFunc(set, func(r rune) bool { return strings.ContainsRune("{}, \t", r) })
		slices.Sort(members)
		if len(members) == 1 {
			return members[0]
		}
		return "{" + strings.Join(members, ",") + "}"
	})
	rule = strings.NewReplacer(`"`, "", "meta iifname", "iifname", "meta oifname", "oifname",
		"with icmp type ", "with icmp ", "with icmpv6 type ", "with icmpv6 ", "with icmpx type ",
		"with icmpx ").Replace(rule)
	return strings.Join(strings.Fields(rule), " ")
}

// getRuleHandle returns the handle of a rule.
//
// CLI Example:
//
//	salt '*' nftables.get_rule_handle filter input rule='tcp dport 22 log accept'
func (m *module) getRuleHandle(ctx context.Context, a ruleArgs) (any, error) {
	result, handle, err := m.find(ctx, a)
	if err != nil || handle == "" {
		return result, err
	}
	return data.NewMap("result", true, "handle", handle), nil
}

// appendRule adds a rule at the end of a chain.
//
// CLI Example:
//
//	salt '*' nftables.append filter input rule='tcp dport 22 log accept'
func (m *module) appendRule(ctx context.Context, a ruleArgs) (any, error) {
	return m.add(ctx, a, "add", nil)
}

type insertArgs struct {
	Table    any `default:"'filter'"`
	Chain    any `default:"None"`
	Position any `default:"None"`
	Rule     any `default:"None"`
	Family   any `default:"'ipv4'"`
}

// insertRule adds a rule before the one with the handle position, or at the beginning of a chain.
//
// CLI Example:
//
//	salt '*' nftables.insert filter input position=3 rule='tcp dport 22 log accept'
func (m *module) insertRule(ctx context.Context, a insertArgs) (any, error) {
	return m.add(ctx, ruleArgs{a.Table, a.Chain, a.Rule, a.Family}, "insert", a.Position)
}

func (m *module) add(ctx context.Context, a ruleArgs, command string, position any) (any, error) {
	if lacking := a.incomplete(); lacking != nil {
		return lacking, nil
	}
	there, _, err := m.find(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case ok(there):
		return answer(false, a.named(" ")+" already exists"), nil
	case there.Value("comment") != a.named(" in ")+" does not exist":
		return there, nil
	}
	rule, err := words(a.Rule)
	if err != nil {
		return nil, err
	}
	word, err := familyOf(a.Family)
	if err != nil {
		return nil, err
	}
	argv := []string{command, "rule", word, data.Str(a.Table), data.Str(a.Chain)}
	if data.Truth(position) {
		if err := names(position); err != nil {
			return nil, err
		}
		argv = append(argv, "position", data.Str(position))
	}
	title := `rule "` + data.Str(a.Rule) + `" chain ` + data.Str(a.Chain) + " in table " + data.Str(a.Table) +
		" in family " + data.Str(a.Family) + "."
	return m.act(ctx, "Added "+title, "Failed to add "+title, append(argv, rule...)...)
}

type deleteArgs struct {
	Table    any
	Chain    any `default:"None"`
	Position any `default:"None"`
	Rule     any `default:"None"`
	Family   any `default:"'ipv4'"`
}

// deleteRule deletes a rule, which is given by its text or, as position, by its handle.
//
// CLI Example:
//
//	salt '*' nftables.delete filter input position=3
//	salt '*' nftables.delete filter input rule='tcp dport 22 log accept'
func (m *module) deleteRule(ctx context.Context, a deleteArgs) (any, error) {
	if data.Truth(a.Position) && data.Truth(a.Rule) {
		return answer(false, "Only specify a position or a rule, not both"), nil
	}
	lacking, err := m.both(ctx, a.Table, a.Chain, a.Family)
	if err != nil || lacking != nil {
		return lacking, err
	}
	handle := data.Str(a.Position)
	if !data.Truth(a.Position) {
		rule := ruleArgs{a.Table, a.Chain, a.Rule, a.Family}
		var there *data.Map
		if there, handle, err = m.find(ctx, rule); err != nil || !ok(there) {
			return answer(false, rule.named(" ")+" does not exist"), err
		}
	}
	word, err := familyOf(a.Family)
	if err != nil {
		return nil, err
	}
	if err := names(handle); err != nil {
		return nil, err
	}
	rule := `rule "` + data.Str(a.Rule) + `" in chain ` + data.Str(a.Chain)
	return m.act(ctx, "Deleted "+rule+" in table "+data.Str(a.Table)+" in family "+data.Str(a.Family)+".",
		"Failed to delete "+rule+"  table "+data.Str(a.Table)+" in family "+data.Str(a.Family),
		"delete", "rule", word, data.Str(a.Table), data.Str(a.Chain), "handle", handle)
}
