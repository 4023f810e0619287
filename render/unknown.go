package render

import (
	"strings"
)

// place describes a source in messages.
func (in Input) place() string {
	switch {
	case in.SLS != "" && in.Path != "":
		return "SLS " + in.SLS + " (" + in.Path + ")"
	case in.SLS != "":
		return "SLS " + in.SLS
	case in.Path != "":
		return in.Path
	}
	return "the given text"
}

// unknown returns the error for an unknown renderer, with advice.
func unknown(name, pipe string, in Input, known []string) error {
	head := "The renderer \"" + name + "\" of " + in.place()
	switch name {
	case "py", "pyobjects", "pydsl":
		return Errorf("%s runs Python, which is not available here: write the file for jinja|yaml",
			head)
	case "mako", "cheetah", "genshi", "wempy":
		return Errorf("%s is a template engine of Python, which is not available here: write the file for jinja", head)
	case "dson", "hjson", "json5", "msgpack", "yamlex", "aws_kms":
		return Errorf("%s is not available here: write the file for %s", head, "yaml or json")
	}
	if name == "" {
		return Errorf("The pipe \"%s\" of %s names no renderer between two bars: it needs one, such as jinja|yaml", pipe, in.place())
	}
	return Errorf("%s is not available; there are %s", head, strings.Join(known, ", "))
}
