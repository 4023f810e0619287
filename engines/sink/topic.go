package sink

import (
	"fmt"
	"strings"
)

// A topic is a template of topics: fixed texts, and values between them.
type topic []part

// A part of a topic is a fixed text, or one of the words tag, id and master.
type part struct {
	text  string
	value bool
}

// parseTopic parses a text with {tag}, {id} and {master}. It begins with a letter or digit, so that no
// tag can make a topic that means something to the broker itself, such as $JS.API in NATS.
func parseTopic(text string) (topic, error) {
	if text == "" || !alphanumeric(rune(text[0])) {
		return nil, fmt.Errorf("expected a text that begins with a letter or digit, not %q", text)
	}
	var t topic
	for rest := text; rest != ""; {
		fixed, after, found := strings.Cut(rest, "{")
		if strings.ContainsFunc(fixed, forbidden) {
			return nil, fmt.Errorf("%q holds a space or one of the characters } * > # +", text)
		}
		if fixed != "" {
			t = append(t, part{text: fixed})
		}
		if !found {
			break
		}
		word, after, closed := strings.Cut(after, "}")
		if !closed || word != "tag" && word != "id" && word != "master" {
			return nil, fmt.Errorf("%q: expected {tag}, {id} or {master} at the brace", text)
		}
		t = append(t, part{word, true})
		rest = after
	}
	return t, nil
}

// forbidden reports whether a character may not stand in a template: those of filters, and spaces.
func forbidden(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("}*>#+", r) }

func alphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// withMaster returns t with the id of the master in it.
func (t topic) withMaster(id string, clean func(string) string) topic {
	set := make(topic, len(t))
	for i, p := range t {
		if p.value && p.text == "master" {
			p = part{text: clean(id)}
		}
		set[i] = p
	}
	return set
}

// of returns the topic of an event. Values go through clean; a missing id becomes none.
func (t topic) of(tag, id string, clean func(string) string) string {
	var b strings.Builder
	for _, p := range t {
		switch {
		case !p.value:
			b.WriteString(p.text)
		case p.text == "tag":
			b.WriteString(clean(tag))
		case id == "":
			b.WriteString("none")
		default:
			b.WriteString(clean(strings.ReplaceAll(id, "/", "_")))
		}
	}
	return b.String()
}
