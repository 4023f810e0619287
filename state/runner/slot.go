package runner

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
)

// slotMark begins a slot, a string that is replaced by the result of a function:
// __slot__:salt:cmd.run(uptime).
const slotMark = "__slot__:"

// slots returns the arguments with their slots replaced by the results. Slots may be values, items
// of lists, values of dictionaries, and values of dictionaries in lists (salt/state.py,
// format_slots).
func (r *Runner) slots(ctx context.Context, args *data.Map) (*data.Map, error) {
	filled := args.Clone()
	for key, v := range args.All() {
		v, err := r.fill(ctx, v, 2)
		if err != nil {
			return nil, err
		}
		filled.Set(key, v)
	}
	return filled, nil
}

func (r *Runner) slotList(ctx context.Context, list []any) ([]any, error) {
	if list == nil {
		return nil, nil
	}
	v, err := r.fill(ctx, list, 2)
	filled, _ := v.([]any)
	return filled, err
}

// fill returns a value with its slots replaced, down to this many levels of lists and dictionaries.
// A value without slots is not copied.
func (r *Runner) fill(ctx context.Context, v any, levels int) (any, error) {
	switch v := v.(type) {
	case string:
		return r.slot(ctx, v)
	case *data.Map:
		if levels == 0 || !r.holdsSlot(v, levels) {
			return v, nil
		}
		filled := v.Clone()
		for key, item := range v.All() {
			if s, ok := item.(string); ok {
				got, err := r.slot(ctx, s)
				if err != nil {
					return nil, err
				}
				filled.Set(key, got)
			}
		}
		return filled, nil
	case []any:
		if levels < 2 || !r.holdsSlot(v, levels) {
			return v, nil
		}
		filled := make([]any, len(v))
		for i, item := range v {
			var err error
			if filled[i], err = r.fill(ctx, item, levels-1); err != nil {
				return nil, err
			}
		}
		return filled, nil
	}
	return v, nil
}

func (r *Runner) holdsSlot(v any, levels int) bool {
	switch v := v.(type) {
	case string:
		return strings.HasPrefix(v, slotMark)
	case *data.Map:
		for _, item := range v.All() {
			if s, ok := item.(string); ok && strings.HasPrefix(s, slotMark) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if levels > 0 && r.holdsSlot(item, levels-1) {
				return true
			}
		}
	}
	return false
}

// slot evaluates a slot. It returns any other text unchanged.
func (r *Runner) slot(ctx context.Context, text string) (any, error) {
	if !strings.HasPrefix(text, slotMark) {
		return text, nil
	}
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 || parts[1] != "salt" {
		return r.malformed(text, "slots begin with __slot__:salt:"), nil
	}
	c, ok := parseCall(parts[2])
	if !ok || !r.env.Functions.Has(c.name) {
		return r.malformed(text, "Execution module should be specified in a function call format: test.arg('arg', kw='kwarg')"), nil
	}
	v, err := r.env.Call(ctx, c.name, c.args, c.words)
	if err != nil {
		return nil, err
	}
	call, tail, hasTail := strings.Cut(parts[2], "~")
	if path := strings.TrimSpace(call[strings.LastIndex(call, ")")+1:]); path != "" {
		found, ok := data.Lookup(v, strings.TrimPrefix(path, "."), ".")
		if v = found; !ok {
			v = nil
		}
	}
	if s, ok := v.(string); hasTail && ok {
		return s + strings.TrimSpace(tail), nil
	}
	if hasTail {
		r.env.Log.Error("Ignoring slot append, slot result is not a string")
	}
	return v, nil
}

func (r *Runner) malformed(slot, why string) string {
	r.env.Log.Warnf("Malformed slot: %s", slot)
	r.env.Log.Warn(why)
	return slot
}

// A functionCall is the call in a slot.
type functionCall struct {
	name  string
	args  []any
	words *data.Map
}

// closing maps opening brackets to closing ones.
var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

// parseCall parses module.function(arg, key=arg). All arguments are strings (salt/utils/args.py,
// parse_function).
func parseCall(text string) (functionCall, bool) {
	tokens, ok := shellTokens(text)
	if !ok {
		return functionCall{}, false
	}
	c := functionCall{words: &data.Map{}}
	for i, token := range tokens {
		if token.is("(") {
			return c, c.name != "" && c.arguments(tokens[i+1:])
		}
		c.name += token.text
	}
	return c, false
}

// arguments parses the arguments between the parentheses of a call, and reports whether they are
// closed.
func (c *functionCall) arguments(tokens []token) bool {
	var word, key string
	var open []string
	some := false
	for _, t := range tokens {
		switch {
		case !t.quoted && closing[t.text] != "":
			open = append(open, closing[t.text])
			word, some = word+t.text, true
		case len(open) == 0 && (t.is(",") || t.is(")")):
			switch {
			case key != "":
				c.words.Set(key, word)
			case some:
				c.args = append(c.args, word)
			}
			if t.is(")") {
				return true
			}
			word, key, some = "", "", false
		case t.is(")"), t.is("]"), t.is("}"):
			if len(open) == 0 || open[len(open)-1] != t.text {
				return false
			}
			open = open[:len(open)-1]
			word, some = word+t.text, true
		case len(open) == 0 && t.is("="):
			word, key, some = "", word, false
		default:
			word, some = word+t.text, true
		}
	}
	return false
}

// A token is a word or a single character of punctuation.
type token struct {
	text   string
	quoted bool
}

func (t token) is(sign string) bool { return !t.quoted && t.text == sign }

// shellTokens splits a text like Python's shlex.shlex with posix=True: into words of letters,
// digits and underscores, quoted parts, and single other characters. It returns false for an
// unterminated quotation.
func shellTokens(text string) ([]token, bool) {
	var tokens []token
	chars := []rune(text)
	for i := 0; i < len(chars); {
		switch c := chars[i]; {
		case strings.ContainsRune(" \t\r\n", c):
			i++
		case c == '#':
			for i < len(chars) && chars[i] != '\n' {
				i++
			}
		case !inWord(c):
			tokens = append(tokens, token{text: string(c)})
			i++
		default:
			word, n, ok := shellWord(chars[i:])
			if !ok {
				return nil, false
			}
			tokens = append(tokens, word)
			i += n
		}
	}
	return tokens, true
}

func inWord(c rune) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		c >= 'À' && c <= 'ÿ' && c != '×' && c != '÷' ||
		strings.ContainsRune(`"'\`, c)
}

// shellWord reads one word and returns how many characters it consists of.
func shellWord(chars []rune) (t token, n int, ok bool) {
	var b strings.Builder
	quote := rune(0)
	for ; n < len(chars); n++ {
		c := chars[n]
		switch {
		case c == '\\' && n+1 == len(chars):
			return t, n, false
		case c == '\\':
			n++
			if quote != 0 && chars[n] != quote && chars[n] != '\\' {
				b.WriteRune(c)
			}
			b.WriteRune(chars[n])
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(c)
		case c == '"' || c == '\'':
			quote, t.quoted = c, true
		case inWord(c):
			b.WriteRune(c)
		default:
			t.text = b.String()
			return t, n, true
		}
	}
	t.text = b.String()
	return t, n, quote == 0
}
