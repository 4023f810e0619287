package state

import (
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Verify returns the problems in the form of high data (salt/state.py, verify_high).
func Verify(high *data.Map) []string {
	v := &verifier{reqs: data.NewMap()}
	for id, body := range high.All() {
		if !internal(id) {
			v.id(id, body)
		}
	}
	return v.errs
}

// internal reports whether a key is internal, that is, begins with two underscores.
func internal(key any) bool {
	s, ok := key.(string)
	return ok && strings.HasPrefix(s, "__")
}

// verifier collects problems.
type verifier struct {
	reqs *data.Map // id → {state: STATE, required id: its state}
	errs []string
}

func (v *verifier) problem(format string, args ...any) {
	v.errs = append(v.errs, fmt.Sprintf(format, args...))
}

func (v *verifier) id(id, value any) {
	body, ok := value.(*data.Map)
	if _, isText := id.(string); !isText {
		v.problem("ID '%s' in SLS '%s' is not formed as a string, but is a %s. It may need to be quoted.",
			data.Str(id), body.Text("__sls__"), loader.TypeName(id))
	}
	if !ok {
		v.problem("The type %s in %s is not formatted as a dictionary", data.Str(id), Text(value))
		return
	}
	for state, args := range body.All() {
		if internal(state) {
			continue
		}
		d := declaration{verifier: v, id: id, state: data.Str(state), sls: body.Text("__sls__")}
		switch args := args.(type) {
		case []any:
			d.verify(args)
		case nil:
			v.problem("ID '%s' in SLS '%s' contains a short declaration (%s) with a trailing colon. When not passing any "+
				"arguments to a state, the colon must be omitted.", data.Str(id), d.sls, d.state)
		default:
			v.problem("State '%s' in SLS '%s' is not formed as a list", data.Str(id), d.sls)
		}
	}
}

// declaration is one state of an ID.
type declaration struct {
	*verifier
	id         any
	state, sls string
}

func (d *declaration) verify(args []any) {
	functions := 0
	if strings.Contains(d.state, ".") {
		functions++
	}
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			functions++
			if strings.Contains(strings.TrimSpace(arg), " ") {
				d.problem("The function \"%s\" in state \"%s\" in SLS \"%s\" has whitespace, a function with whitespace is not "+
					"supported, perhaps this is an argument that is missing a \":\"", arg,
					data.Str(d.id), d.sls)
			}
		case *data.Map:
			d.argument(arg)
		}
	}
	switch {
	case functions > 1:
		d.problem("Too many functions declared in state '%s' in SLS '%s'", d.state, d.sls)
	case functions == 0 && d.state != "require" && d.state != "watch":
		d.problem("No function declared in state '%s' in SLS '%s'", d.state, d.sls)
	}
}

func (d *declaration) argument(arg *data.Map) {
	if arg.Len() == 0 {
		return
	}
	key, value := arg.At(0)
	list, isList := value.([]any)
	switch key {
	case "names":
		if !isList {
			d.problem("The 'names' argument in state '%s' in SLS '%s' needs to be formed as a list",
				data.Str(d.id), d.sls)
		}
	case "require", "watch", "prereq", "onchanges":
		if isList {
			d.requisites(list)
		} else {
			d.problem("The %s statement in state '%s' in SLS '%s' needs to be formed as a list",
				key, data.Str(d.id), d.sls)
		}
		if arg.Len() != 1 {
			d.problem("Multiple dictionaries defined in argument of state '%s' in SLS '%s'",
				data.Str(d.id), d.sls)
		}
	}
}

func (d *declaration) requisites(list []any) {
	own := data.NewMap("state", d.state)
	d.reqs.Set(d.id, own)
	for _, item := range list {
		if text, ok := item.(string); ok {
			item = data.NewMap("id", text)
		}
		req, ok := item.(*data.Map)
		if !ok {
			d.problem("Requisite declaration %s in SLS %s is not formed as a single key dictionary",
				Text(item), d.sls)
			continue
		}
		if req.Len() > 0 {
			kind, target := req.At(0)
			d.requisite(own, data.Str(kind), target)
		}
	}
}

func (d *declaration) requisite(own *data.Map, kind string, target any) {
	if family, _, dotted := strings.Cut(kind, "."); dotted {
		d.problem("Invalid requisite type '%s' in state '%s', in SLS '%s'. Requisite types must not contain dots, did you mean '%s'?",
			kind, data.Str(d.id), d.sls, family)
	}
	if _, ok := target.(*data.Map); ok {
		return
	}
	if !data.Hashable(target) {
		d.problem("Illegal requisite \"%s\", please check your syntax.\n", Text(target))
		return
	}
	own.Set(target, kind)
	back, _ := d.reqs.Value(target).(*data.Map)
	if back.Value(d.id) == d.state && back.Value("state") == kind {
		d.problem("A recursive requisite was found, SLS \"%s\" ID \"%s\" ID \"%s\"", d.sls,
			data.Str(d.id), Text(target))
	}
}
