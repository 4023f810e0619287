package main

import (
	"regexp"
	"strings"
)

var (
	objectCall = regexp.MustCompile(`\b([A-Z][A-Za-z0-9]*)\.([a-z_]\w*)\(`)
	moduleCall = regexp.MustCompile(`\bsalt\.([a-z_]\w*\.[a-z_]\w*)\(`)
	chainCall  = regexp.MustCompile(`\.\s*([a-z_]\w*)(?:\.\s*([a-z_]\w*)\(|\(\s*['"]([a-z_]\w*)['"])`)
	upperCase  = regexp.MustCompile(`(.)([A-Z])`)
)

// scanProgram adds what an SLS file in Python names: state functions such as File.managed("…") of
// pyobjects, state("…").file.managed() and state("…").file("managed") of pydsl, and execution
// functions such as salt.cmd.run("…"). Only names that somebody has count, as a program has others.
func (s *shelf) scanProgram(t *tree, file, text string, found names) {
	add := func(n name, known bool) {
		if known {
			found.add(n.kind, n.text, file)
		}
	}
	for _, m := range objectCall.FindAllStringSubmatch(text, -1) {
		module := strings.ToLower(upperCase.ReplaceAllString(m[1], "${1}_$2"))
		add(name{aState, module + "." + m[2]}, s.hasState(t, module+"."+m[2]))
	}
	if strings.HasPrefix(text, "#!pydsl") {
		for _, m := range chainCall.FindAllStringSubmatch(text, -1) {
			fun := m[1] + "." + m[2] + m[3]
			add(name{aState, fun}, s.hasState(t, fun))
		}
	}
	for _, m := range moduleCall.FindAllStringSubmatch(text, -1) {
		n := name{aFunction, m[1]}
		_, brines := s.brine[n]
		_, salts := s.salt[n]
		add(n, brines || salts)
	}
}
