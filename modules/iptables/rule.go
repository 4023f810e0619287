package iptables

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/process"
)

type buildArgs struct {
	Table    any       `default:"'filter'"`
	Chain    any       `default:"None"`
	Command  any       `default:"None"`
	Position any       `default:"''"`
	Full     any       `default:"None"`
	Family   any       `default:"'ipv4'"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// buildRule returns a rule in the syntax of the program iptables. Arguments are the long options of
// iptables without dashes. connstate is the option state of the match of that name, and name_ the
// option name.
//
// A value that begins with an exclamation mark, or with the word not, negates its option. Options
// without a value take an empty string.
//
// full
//
//	True: return the whole command. This requires table, chain and command, such as A or insert.
//
// position
//
//	The position of the rule for the commands I and D.
//
// CLI Example:
//
//	salt '*' iptables.build_rule match=state connstate=RELATED,ESTABLISHED jump=ACCEPT
//	salt '*' iptables.build_rule filter INPUT command=I position=3 full=True match=state connstate=RELATED,ESTABLISHED jump=ACCEPT
//	salt '*' iptables.build_rule filter INPUT command=A full=True source='!127.0.0.1' jump=ACCEPT family=ipv6
func (m *module) buildRule(ctx context.Context, a buildArgs) (any, error) {
	r := newRule(a.Kwargs)
	if !r.build() {
		return "Error: protocol must be specified", nil
	}
	words := strings.Join(r.words, " ")
	if !data.Truth(a.Full) {
		return words, nil
	}
	for _, need := range []struct {
		name  string
		value any
	}{{"Table", a.Table}, {"Chain", a.Chain}, {"Command", a.Command}} {
		if !data.Truth(need.value) {
			return fmt.Sprintf("Error: %s needs to be specified", need.name), nil
		}
	}
	flag := "--"
	if command := data.Str(a.Command); strings.Contains("ACDIRLSFZNXPE", command) {
		flag = "-"
	}
	return m.line(ctx, a.Family, a.Table, flag+data.Str(a.Command), data.Str(a.Chain),
		data.Str(a.Position), words)
}

// internalWords are the arguments that states add; they are not options of a rule.
const internalWords = `name state chain save table
	onchanges onchanges_any onfail onfail_any onfail_all onfail_stop prereq prerequired watch watch_any require require_any listen
	onchanges_in onfail_in prereq_in watch_in require_in listen_in fun check_cmd cmd_opts_exclude failhard onlyif unless creates retry
	order parallel reload_modules reload_grains reload_pillar runas runas_password fire_event saltenv umask use use_in __env__ __sls__
	__id__ __orchestration_jid__ __pub_user __pub_arg __pub_jid __pub_fun __pub_tgt __pub_ret __pub_pid __pub_tgt_type __prereq__
	__prerequired__ __umask__`

// A rule is a rule under construction: the remaining options, and the words so far.
type rule struct {
	options  *data.Map
	words    []string
	protocol bool // whether the words include it
}

func newRule(options *data.Map) *rule {
	r := &rule{options: &data.Map{}}
	r.options.Update(options)
	if target, ok := r.take("target"); ok {
		r.options.Set("jump", target)
	}
	for _, word := range strings.Fields(internalWords) {
		r.options.Delete(word)
	}
	return r
}

// build converts all options to words. It reports whether that succeeded: lists of ports need a
// protocol.
func (r *rule) build() bool {
	r.interfaces()
	r.proto()
	r.matches()
	r.matchSets()
	r.connState()
	r.simple("dport", "--dport")
	r.simple("sport", "--sport")
	if !r.ports("dports") || !r.ports("sports") {
		return false
	}
	r.comment()
	if set := r.options.Value("set"); data.Truth(set) {
		r.simple("set", "--match-set")
	}
	jumps := r.jumps()
	for name, v := range r.options.All() {
		r.other(data.Str(name), v)
	}
	r.words = append(r.words, jumps...)
	return true
}

// take removes an option from the remaining ones and returns it.
func (r *rule) take(name string) (any, bool) {
	v, ok := r.options.Get(name)
	return v, ok && r.options.Delete(name)
}

func (r *rule) add(words ...string) { r.words = append(r.words, strings.Join(words, " ")) }

func (r *rule) has(word string) bool {
	for _, w := range r.words {
		if w == word {
			return true
		}
	}
	return false
}

// negation splits a value into the negation mark, followed by a space, and the rest.
func negation(v any) (mark, value string) {
	value = data.Str(v)
	if !negative(value) {
		return "", value
	}
	return "! ", positive(value)
}

func negative(s string) bool { return strings.HasPrefix(s, "!") || strings.HasPrefix(s, "not") }

// positive returns a text without any negation marks and one space behind each.
func positive(s string) string {
	var b strings.Builder
	for s != "" {
		rest, found := strings.CutPrefix(s, "!")
		if !found {
			rest, found = strings.CutPrefix(s, "not")
		}
		if !found {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		s = rest
		if first, n := utf8.DecodeRuneInString(rest); n > 0 && unicode.IsSpace(first) {
			s = rest[n:]
		}
	}
	return b.String()
}

// simple adds an option with a value, which may be negated.
func (r *rule) simple(name, flag string) {
	if v, ok := r.take(name); ok {
		mark, value := negation(v)
		r.add(mark+flag, value)
	}
}

func (r *rule) interfaces() {
	r.simple("if", "-i")
	r.simple("of", "-o")
}

func (r *rule) policy() bool { return r.options.Value("match") == "policy" }

func (r *rule) proto() {
	if v, ok := r.options.Get("proto"); ok && !r.policy() {
		r.options.Set("protocol", v)
		r.options.Delete("proto")
	}
	r.protocol = r.options.Has("protocol")
	r.simple("protocol", "-p")
}

func (r *rule) matches() {
	policy := r.policy()
	v, ok := r.take("match")
	if !ok {
		return
	}
	for _, match := range split(v) {
		r.add("-m", match)
		switch strings.TrimSpace(match) {
		case "pknock", "quota2", "recent":
			if name, ok := r.take("name_"); ok {
				r.add("--name", data.Str(name))
			}
		}
	}
	if policy {
		r.simple("proto", "--proto")
	}
}

// split returns the elements of a list, or the comma-separated parts of a string.
func split(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return strings.Split(data.Str(v), ",")
	}
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = data.Str(e)
	}
	return words
}

func (r *rule) matchSets() {
	v, ok := r.take("match-set")
	if !ok {
		return
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	for _, set := range list {
		mark, value := negation(set)
		r.add("-m set", mark+"--match-set", value)
	}
}

func (r *rule) connState() {
	if r.options.Has("connstate") && !r.has("-m state") {
		r.add("-m state")
	}
	r.simple("connstate", "--state")
}

// ports adds ports of the match multiport. It returns false if there is no protocol, because the
// match needs one.
func (r *rule) ports(name string) bool {
	v, ok := r.take(name)
	if !ok {
		return true
	}
	if !r.has("-m multiport") {
		r.add("-m multiport")
		if !r.protocol {
			return false
		}
	}
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	texts, not := make([]string, len(list)), false
	for i, port := range list {
		texts[i] = data.Str(port)
		not = not || negative(texts[i])
	}
	value := strings.Join(texts, ",")
	if not {
		r.add("!")
		value = positive(value)
	}
	r.add("--"+name, value)
	return true
}

func (r *rule) comment() {
	v, ok := r.take("comment")
	if !ok {
		return
	}
	if !r.has("-m comment") {
		r.add("-m comment")
	}
	r.add("--comment", quoted(data.Str(v)))
}

// quoted returns a comment in quotes, as Salt does. If the comment would end the quotes itself, it
// is quoted differently, because the rest would become options.
func quoted(comment string) string {
	plain := `"` + comment + `"`
	if words, err := process.Words(plain); err == nil && len(words) == 1 {
		return plain
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(comment) + `"`
}

func empty(v any) bool { return v == nil || v == "" }

// jumps removes the options that belong to a jump, and returns their words.
func (r *rule) jumps() []string {
	var words []string
	for _, name := range strings.Fields(jumpOptions) {
		v, ok := r.take(name)
		if !ok {
			continue
		}
		value := data.Str(v)
		switch {
		case empty(v):
			words = append(words, "--"+name)
		case strings.ContainsAny(value, " \t\n\r\v\f"):
			words = append(words, "--"+name+` "`+value+`"`)
		default:
			words = append(words, "--"+name+" "+value)
		}
	}
	return words
}

// other adds any other option.
func (r *rule) other(name string, v any) {
	mark, value := negation(v)
	flag := "--"
	if len([]rune(name)) == 1 {
		flag = "-"
	}
	if empty(v) || value == "" {
		r.add(mark + flag + name)
		return
	}
	r.add(mark+flag+name, value)
}
