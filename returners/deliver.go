package returners

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// ErrRefused is wrapped by the error of a Returner or an EventReturner if the receiver examined the
// data and rejected them: sending them again is useless. Other errors may be temporary.
var ErrRefused = errors.New("not taken as it is")

// A Returner delivers minions' returns to a place besides the master (a plug-in of Salt's
// salt/returners).
type Returner interface {
	// Return delivers one return in Salt's form: id, jid, fun, fun_args, return, retcode, success
	// and any other fields. The fields ret_config and ret_kwargs choose settings, see [Settings],
	// and are not passed on. Return stops if ctx ends. If the place holds a return only once,
	// delivering it again changes nothing.
	Return(ctx context.Context, ret *data.Map) error
}

// An Event is one event of a master's bus.
type Event struct {
	Tag  string
	Data *data.Map // with _stamp; must not be changed
}

// An EventReturner delivers the events of a master's bus (event_return of Salt's returners).
type EventReturner interface {
	// ReturnEvents delivers all events. On an error it has delivered none, if the place supports
	// that. It stops if ctx ends.
	ReturnEvents(ctx context.Context, events []Event) error
	// Close closes the connections. No method may be called after it.
	Close() error
}

// Module returns the plug-in's module of a Returner: its function is returner, and if it is also a
// [Lookup] the functions that read it. doc is the documentation of returner in sys.doc.
func Module(doc string, r Returner) *loader.Module {
	type args struct{ Ret *data.Map }
	m := &loader.Module{Funcs: []loader.Func{
		loader.F("returner", func(ctx context.Context, a args) (any, error) {
			if a.Ret == nil {
				return nil, loader.TypeError("a return is a dictionary")
			}
			return nil, r.Return(ctx, a.Ret)
		}).Document(doc),
	}}
	if l, ok := r.(Lookup); ok {
		m.Funcs = append(m.Funcs, lookups(l)...)
	}
	return m
}

// Passed returns a return without the fields that only configure returners: ret_kwargs may hold a
// password.
func Passed(ret *data.Map) *data.Map {
	if !ret.Has("ret_config") && !ret.Has("ret_kwargs") {
		return ret
	}
	ret = ret.Clone()
	ret.Delete("ret_config")
	ret.Delete("ret_kwargs")
	return ret
}

// FunText returns the field fun as one text.
func FunText(fun any) string {
	list, ok := fun.([]any)
	if !ok {
		text, _ := fun.(string)
		return text
	}
	text := ""
	for i, f := range list {
		if i > 0 {
			text += ","
		}
		text += data.Str(f)
	}
	return text
}
