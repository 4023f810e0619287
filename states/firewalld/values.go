package firewalld

import (
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/process"
)

// covers reports whether a list holds a value, in whatever form firewalld reports it.
type covers func(list []any, v any) bool

func holds(list []any, v any) bool {
	return slices.ContainsFunc(list, func(o any) bool { return data.Equal(v, o) })
}

// holdsSource is holds for networks and hardware addresses, which firewalld writes in upper case.
func holdsSource(list []any, v any) bool {
	return slices.ContainsFunc(list, func(o any) bool { return strings.EqualFold(data.Str(v), data.Str(o)) })
}

// holdsRule is holds for rules of the rich language.
func holdsRule(list []any, v any) bool {
	rule := normal(data.Str(v))
	return slices.ContainsFunc(list, func(o any) bool { return normal(data.Str(o)) == rule })
}

// normal returns a rule of the rich language without quotes, with its elements and their attributes
// in a fixed order. A rule that cannot be parsed stays as it is.
func normal(rule string) string {
	words, err := process.Words(rule)
	if err != nil {
		return rule
	}
	var elements [][]string
	for _, word := range words {
		name, value, attribute := strings.Cut(word, "=")
		if name == "invert" {
			if value = strings.ToLower(value); value != "yes" && value != "true" {
				continue
			}
			word, attribute = "not", true
		}
		if lower := strings.ToLower(word); !attribute && (lower == "not" || lower == "limit") {
			word, attribute = lower, true
		}
		if !attribute || len(elements) == 0 {
			elements = append(elements, []string{word})
			continue
		}
		last := &elements[len(elements)-1]
		*last = append(*last, written(*last, name, value, word))
	}
	var lines []string
	for _, e := range elements {
		slices.Sort(e[1:])
		lines = append(lines, strings.Join(e, "\x00"))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\x01")
}

// written returns an attribute of an element as firewalld writes it.
func written(element []string, name, value, word string) string {
	switch {
	case name == "value" && slices.Contains(element, "limit"):
		if rate, unit, ok := strings.Cut(value, "/"); ok && unit != "" {
			return name + "=" + rate + "/" + unit[:1]
		}
	case name == "level" && value == "warn":
		return "level=warning"
	}
	return word
}

// holdsPort is holds for ports such as 80/tcp or 8000-8080/tcp. Adjacent ranges count as one.
func holdsPort(list []any, v any) bool {
	first, last, protocol, ok := portRange(data.Str(v))
	for ok && first <= last {
		next := first
		for _, o := range list {
			if from, to, p, known := portRange(data.Str(o)); known && p == protocol && from <= next && next <= to {
				next = to + 1
			}
		}
		if next == first {
			break
		}
		first = next
	}
	return ok && first > last || holds(list, v)
}

// portRange parses a port or a range of ports.
func portRange(text string) (first, last int, protocol string, ok bool) {
	ports, protocol, _ := strings.Cut(text, "/")
	from, to, isRange := strings.Cut(ports, "-")
	if !isRange {
		to = from
	}
	first, err := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	return first, last, protocol, err == nil && err2 == nil && first <= last && last <= 65535
}
