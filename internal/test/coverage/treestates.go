package main

import (
	"regexp"
	"strings"
)

// A stateScan finds names in the text of an SLS file that was not rendered. It goes by indentation:
// a state function is a key, or an item of a list, right below an ID. What stands in branches and
// loops of templates counts as if they were not there.
type stateScan struct {
	file  string
	known func(text string) bool // reports whether there is a state function of that name
	found names
	stack []block
	text  int // the indentation of the key of a text of several lines; -1 outside of one
}

// A block is a key or an item with what stands below it.
type block struct {
	indent int
	key    string // "" for an item
}

var (
	jinjaOutput  = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	jinjaTags    = regexp.MustCompile(`(?s)\{%.*?%\}|\{#.*?#\}`)
	keyLine      = regexp.MustCompile(`^("[^"]+"|'[^']+'|[^\s#'"\[{&!|>][^#]*?)\s*:(?:\s+(.*))?$`)
	dotted       = regexp.MustCompile(`^[a-z_]\w*\.[a-z_]\w*$`)
	word         = regexp.MustCompile(`^[a-z_]\w*$`)
	reaction     = regexp.MustCompile(`^(?:local|caller)\.([a-z_]\w*\.[a-z_]\w*)$`)
	funItem      = regexp.MustCompile(`^fun:\s+['"]?([a-z_]\w*\.[a-z_]\w*)['"]?\s*$`)
	nameItem     = regexp.MustCompile(`^name:\s+['"]?([a-z_]\w*\.[a-z_]\w*)['"]?\s*$`)
	functionItem = regexp.MustCompile(`^([a-z_]\w*\.[a-z_]\w*):?`)
)

// scanStates adds the state functions of an SLS file, and the execution functions that states such
// as module.run name, to found.
func scanStates(file, text string, known func(string) bool, found names) {
	s := &stateScan{file: file, known: known, found: found, text: -1}
	text = jinjaOutput.ReplaceAllString(text, "X")
	text = jinjaTags.ReplaceAllStringFunc(text, func(tag string) string {
		return strings.Repeat("\n", strings.Count(tag, "\n"))
	})
	for line := range strings.Lines(text) {
		s.line(strings.TrimRight(line, " \t\r\n"))
	}
}

func (s *stateScan) line(line string) {
	content := strings.TrimLeft(line, " ")
	indent := len(line) - len(content)
	if content == "" || content[0] == '#' || s.text >= 0 && indent > s.text {
		return
	}
	s.text = -1
	if strings.HasSuffix(content, "|") || strings.HasSuffix(content, ">") ||
		strings.HasSuffix(content, "|-") || strings.HasSuffix(content, ">-") {
		s.text = indent
	}
	if item, ok := strings.CutPrefix(content, "- "); ok {
		s.leave(indent, true)
		s.item(strings.TrimSpace(item))
		s.stack = append(s.stack, block{indent, ""})
		return
	}
	s.leave(indent, false)
	if m := keyLine.FindStringSubmatch(content); m != nil {
		key := strings.Trim(m[1], `'"`)
		s.key(key, strings.TrimSpace(m[2]))
		s.stack = append(s.stack, block{indent, key})
	} else if s.below(1) {
		s.short(content)
	}
}

// leave ends the blocks that do not contain a line. An item may have the indentation of its key.
func (s *stateScan) leave(indent int, item bool) {
	for n := len(s.stack); n > 0; n-- {
		top := s.stack[n-1]
		if top.indent < indent || item && top.indent == indent && top.key != "" {
			return
		}
		s.stack = s.stack[:n-1]
	}
}

// below reports whether a line stands so many blocks below an ID or declaration, counting the ID.
// The IDs of extend are one block deeper.
func (s *stateScan) below(blocks int) bool {
	stack := s.stack
	if len(stack) > 0 && stack[0].key == "extend" {
		stack = stack[1:]
	}
	if len(stack) != blocks {
		return false
	}
	for _, b := range stack {
		if b.key == "" {
			return false
		}
	}
	return !declaration(stack[0].key)
}

// declaration reports whether a key at the left is none of a state's.
func declaration(key string) bool {
	switch key {
	case "include", "exclude", "extend", "mine_functions", "beacons", "schedule":
		return true
	}
	return false
}

func (s *stateScan) key(key, value string) {
	switch {
	case s.below(1) && dotted.MatchString(key) && arguments(value):
		s.found.add(aState, key, s.file)
		if id := s.stack[len(s.stack)-1].key; callsModule(key) && dotted.MatchString(id) {
			s.found.add(aFunction, id, s.file)
		}
	case s.below(1) && reaction.MatchString(key):
		s.found.add(aFunction, reaction.FindStringSubmatch(key)[1], s.file)
	case len(s.stack) == 0 && !declaration(key):
		s.short(value)
	}
}

// arguments reports whether a state function can have a value. Others are settings that have a dot
// in their names.
func arguments(value string) bool {
	return value == "" || value[0] == '[' || value[0] == '#' || value == "X" || value == "{}"
}

// short adds the state function of "vim: pkg.installed".
func (s *stateScan) short(text string) {
	if dotted.MatchString(text) && s.known(text) {
		s.found.add(aState, text, s.file)
	}
}

func (s *stateScan) item(item string) {
	if m := funItem.FindStringSubmatch(item); m != nil {
		s.found.add(aFunction, m[1], s.file)
	}
	if !s.below(2) {
		return
	}
	key := s.stack[len(s.stack)-1].key
	if full := key + "." + item; word.MatchString(key) && word.MatchString(item) && s.known(full) {
		s.found.add(aState, full, s.file)
	}
	if !callsModule(key) {
		return
	}
	if m := nameItem.FindStringSubmatch(item); m != nil {
		s.found.add(aFunction, m[1], s.file)
	} else if m := functionItem.FindStringSubmatch(item); m != nil {
		s.found.add(aFunction, m[1], s.file)
	}
}

// callsModule reports whether the name of a state is that of an execution function.
func callsModule(state string) bool {
	switch state {
	case "module.run", "module.wait", "salt.function":
		return true
	}
	return false
}
