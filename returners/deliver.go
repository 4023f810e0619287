package returners

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// ErrRefused is wrapped by a Returner or an EventReturner when the other side has looked at something and does not take
// it as it is: to send the same again is in vain. Other errors may pass by themselves.
var ErrRefused = errors.New("not taken as it is")

// A Returner puts what a minion returned somewhere besides the master (a plug-in of Salt's salt/returners).
type Returner interface {
	// Return delivers one return in Salt's form: id, jid, fun, fun_args, return, retcode, success and what else came. The
	// fields ret_config and ret_kwargs choose settings, see [Settings], and are not passed on. It ends with ctx. Where the
	// place can hold a return once only, delivering it again changes nothing.
	Return(ctx context.Context, ret *data.Map) error
}

// An Event is one event of a master's bus.
type Event struct {
	Tag  string
	Data *data.Map // with _stamp; must not be changed
}

// An EventReturner puts the events of a master's bus somewhere (event_return of Salt's returners).
type EventReturner interface {
	// ReturnEvents delivers events, all of them or, with an error, none where the place can do that. It ends with ctx.
	ReturnEvents(ctx context.Context, events []Event) error
	// Close gives connections back. Nothing may be called after it.
	Close() error
}

// Module makes the plug-in's module of a Returner: its function is returner, and where it is a [Lookup] too, there are those by which it is
// read. doc is what sys.doc shows of returner.
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

// Passed returns a return without the fields that only steer returners: ret_kwargs may hold a password.
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
