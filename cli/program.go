package cli

import (
	"fmt"
	"slices"
	"strings"
)

// A kind says how an option treats the argument that follows it.
type kind int

const (
	text        kind = iota // takes a string
	boolean                 // is true when given
	negated                 // is false when given
	integer                 // takes a number as optparse reads it: 0x1f, 0b11, 017
	real                    // takes a float
	choice                  // takes one of the choices
	repeated                // takes a string each time
	optional                // takes a string after =, and is "yes" without
	logFile                 // takes a path; one without a directory is in the working directory
	showVersion             // prints the version and ends
	showHelp                // prints the help and ends
)

func (k kind) takesValue() bool {
	switch k {
	case boolean, negated, optional, showVersion, showHelp:
		return false
	}
	return true
}

// An option is one line of a program's help.
type option struct {
	names   string // "-c --config-dir": short ones first, in the order of the help
	dest    string // the name of its value, also in the Saltfile and the configuration
	kind    kind
	def     any // a dynamic value; nil means none
	choices []string
	metavar string // name of the value in the help; "" means dest in capitals
	help    string // %default is replaced by the default
	own     bool   // not an option of Salt; listed at the end of the help
}

// long returns the first long name, without its dashes.
func (o *option) long() string {
	for name := range strings.FieldsSeq(o.names) {
		if s, ok := strings.CutPrefix(name, "--"); ok {
			return s
		}
	}
	return strings.TrimLeft(o.names, "-")
}

// A group is a section of the help. The first one of a program has no title.
type group struct {
	title, description string
	options            []option
}

// shown returns the options that the help lists in this group.
func (g *group) shown() []option {
	return slices.DeleteFunc(slices.Clone(g.options), func(o option) bool { return o.own })
}

// A program describes one command line: its name, the first lines of its help and its options.
type program struct {
	name        string
	usage       string // %prog is replaced by the name
	description string
	groups      []group
}

func (p *program) options() []*option {
	var all []*option
	for i := range p.groups {
		for j := range p.groups[i].options {
			all = append(all, &p.groups[i].options[j])
		}
	}
	return all
}

// own returns the options that Salt does not have.
func (p *program) own() []*option {
	return slices.DeleteFunc(p.options(), func(o *option) bool { return !o.own })
}

func (p *program) usageLine() string {
	return "Usage: " + strings.ReplaceAll(p.usage, "%prog", p.name) + "\n"
}

// fail returns the Exit for a wrong command line.
func (p *program) fail(format string, args ...any) *Exit {
	message := fmt.Sprintf(format, args...)
	return &Exit{Code: ExitUsage, Stderr: fmt.Sprintf("%s\n%s: error: %s\n", p.usageLine(),
		p.name, message)}
}

// hardCrash returns the text in SALT_HARD_CRASH, or false if there is none, as in
// salt/utils/parsers.py.
func hardCrash(env environ) any {
	if s := env("SALT_HARD_CRASH"); s != "" {
		return s
	}
	return false
}

// levelsByWeight returns the names of log levels, the most verbose first.
func levelsByWeight() []string {
	return []string{"all", "garbage", "trace", "debug", "profile", "info", "warning", "error",
		"critical", "quiet"}
}

// levelsInErrors returns the same names in the order of optparse's error for an unknown level.
func levelsInErrors() []string {
	return []string{"all", "debug", "error", "critical", "garbage", "info", "profile", "quiet",
		"trace", "warning"}
}
