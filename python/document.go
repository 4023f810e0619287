package python

import (
	"context"

	"github.com/brineproject/brine/data"
)

// A Document is a text for one of the library's renderers (host/salt/renderers).
type Document struct {
	Renderer string // its module
	Function string // that is called with the text as a file
	Text     string
	Words    *data.Map // keyword arguments of the function

	// File returns the path on this host of a file that the text imports, by its URL; "" if there is
	// none.
	File func(ctx context.Context, url, saltenv string) (string, error)
}

// Render returns what a renderer makes of a text: text or data. It runs in the worker of the job that
// ctx belongs to.
func (f *Files) Render(ctx context.Context, d Document) (any, error) {
	answers := func(ctx context.Context, operation string, args []any) (any, error) {
		if operation == "template_file" && len(args) == 2 {
			return d.File(ctx, data.Str(args[0]), data.Str(args[1]))
		}
		return f.answers(ctx, operation, args)
	}
	done, err := f.callWith(ctx, answers, "render", d.Renderer, d.Function, d.Text, d.Words)
	return done.value, err
}
