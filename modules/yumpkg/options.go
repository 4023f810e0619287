package yumpkg

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// options returns the program's options for the arguments of a function.
func options(kwargs *data.Map) []any {
	from := kwargs.Value("fromrepo")
	if !data.Truth(from) {
		from = kwargs.Value("repo")
	}
	var out []any
	if data.Truth(from) {
		out = append(out, "--disablerepo=*", "--enablerepo="+data.Str(from))
	} else {
		out = append(each("--disablerepo=", kwargs.Value("disablerepo")),
			each("--enablerepo=", kwargs.Value("enablerepo"))...)
	}
	for _, name := range []string{"disableexcludes", "branch"} {
		if v := kwargs.Value(name); data.Truth(v) {
			out = append(out, "--"+name+"="+data.Str(v))
		}
	}
	for _, o := range loader.SplitList(kwargs.Value("setopt")) {
		out = append(out, "--setopt", o)
	}
	return out
}

// each returns an option for each element of a list, or for a single value.
func each(option string, v any) []any {
	if !data.Truth(v) {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = option + data.Str(e)
	}
	return out
}

// extraOptions returns the options for the arguments that options does not handle: texts and True.
func extraOptions(kwargs *data.Map) []any {
	known := []string{"fromrepo", "repo", "disablerepo", "enablerepo", "disableexcludes",
		"branch", "setopt"}
	var names []string
	for k := range kwargs.All() {
		if name := data.Str(k); !strings.HasPrefix(name, "__") && !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []any
	for _, name := range names {
		switch v := kwargs.Value(name).(type) {
		case string:
			out = append(out, "--"+name+"="+v)
		case bool:
			if v {
				out = append(out, "--"+name)
			}
		}
	}
	return out
}
