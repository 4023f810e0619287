package engines

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// errReturned is the error of an engine of users' own code that ends by itself. Salt starts such an
// engine again, too.
var errReturned = errors.New("its function start has returned; the engine starts again")

// Own returns the engine NAME of users' own code: the function NAME.start of the registry that
// functions returns, with the options of the engine as keywords (salt/engines/__init__.py, Engine).
// It runs as a job of its own, so in its own process, which ends with the engine.
func Own(name string, functions func() *loader.Registry) Make {
	return func(h Host, options *data.Map) (func(context.Context) error, error) {
		return func(ctx context.Context) error {
			err := runOwn(ctx, functions(), name+".start", options)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err == nil:
				return errReturned
			}
			return fmt.Errorf("function start of %s: %w", name, err)
		}, nil
	}
}

// runOwn calls the function of an engine. The error has the traceback of an exception.
func runOwn(ctx context.Context, functions *loader.Registry, fun string, options *data.Map) error {
	if !functions.Has(fun) {
		return errors.New(functions.MissingText(fun))
	}
	ctx, scope := loader.WithScope(ctx)
	_, err := functions.Invoke(ctx, fun, nil, options)
	if err != nil {
		err = errors.New(loader.Traceback(err))
	}
	return errors.Join(err, scope.Close())
}

// Modules returns the names of the engines that the option engines starts, without reactor. It
// skips malformed entries.
func Modules(option any) []string {
	entries, _ := option.([]any)
	var names []string
	for _, entry := range entries {
		if _, module, _, err := parse(entry); err == nil && module != "reactor" {
			names = append(names, module)
		}
	}
	return names
}
