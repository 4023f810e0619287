package python

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
)

// A Script is a Python file that is no plug-in, such as an SLS.
type Script struct {
	Path     string    // on this host; "" runs Text
	Text     string    // used if there is no Path
	Names    *data.Map // more globals of the file
	Function string    // that is called
	Kwargs   *data.Map // keyword arguments of the function; nil for none
}

// A ScriptError is an exception of the function of a Script.
type ScriptError struct{ Traceback string }

// Error returns the traceback, which ends with a line break.
func (e *ScriptError) Error() string { return e.Traceback }

// Execute runs a script in the worker of the job that ctx belongs to, and returns what its function
// returns. An exception of the function is a [ScriptError]. One of the script's top level is a
// loader.Error.
func (f *Files) Execute(ctx context.Context, s Script) (any, error) {
	kwargs := s.Kwargs
	if kwargs == nil {
		kwargs = data.NewMap()
	}
	r, err := f.call(ctx, "execute", s.Path, s.Text, s.Names, s.Function, kwargs)
	if err != nil {
		return nil, err
	}
	result, ok := r.value.(data.Tuple)
	if !ok || len(result) != 2 {
		return nil, fmt.Errorf("the Python process returned %s for a script", data.Repr(r.value))
	}
	if result[0] != true {
		return nil, &ScriptError{data.Str(result[1])}
	}
	return result[1], nil
}
