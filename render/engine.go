package render

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// DefaultPipe is the pipe of sources that name none, if the option renderer is not set.
const DefaultPipe = "jinja|yaml"

// Options configure an Engine.
type Options struct {
	// Env provides options (renderer, renderer_whitelist, renderer_blacklist and those of the
	// renderers), grains, pillar, functions and the log. It must not be nil.
	Env *loader.Env
	// Files are the files that templates may import; nil means none.
	Files Files
	// Renderers are found by their names; two of the same name are an error. The users' own are
	// those of Env.Registry("renderers"): one whose file has the name of a listed renderer
	// replaces it.
	Renderers []Renderer
	// Lookup finds renderers that are not in the list; nil finds none.
	Lookup func(name string) (Renderer, bool)
}

// An Engine renders sources. It is safe for concurrent use.
type Engine struct {
	env    *loader.Env
	files  Files
	byName map[string]Renderer
	users  *loader.Registry // users' renderers; nil for none
	lookup func(name string) (Renderer, bool)
}

// An Input is a source and the context that it is rendered in.
type Input struct {
	Text string // the source
	Path string // of the source on this host, tplpath in templates; "" if it has none
	// environment of the files that it may import; "" means those next to Path
	SaltEnv string
	SLS     string // name of the SLS in its environment, such as web.nginx; "" if it is not an SLS
	Default string // pipe if the source names none; "" means the option renderer
	// additional template variables, values of package data; they hide others of the same name
	Vars map[string]any
	// variables of the argument context; they hide Vars. Renderers in Python get them as a
	// dictionary of that name.
	Context map[string]any
	// TranslateNewlines makes gpg, nacl and the like read \n in secrets as a line break (for values
	// from a command line).
	TranslateNewlines bool
}

// A Step is the work of one renderer in a pipe.
type Step struct {
	Input
	// the result of the previous renderer: text, or data; Input.Text for the first one
	Data     any
	Argument string  // the words after the renderer's name in the pipe
	File     bool    // the source is a file template, so it is not an SLS and has no SLS variables
	Engine   *Engine // that runs the pipe

	bare bool // Data is the text that a renderer in Python returned: Salt passes it on as it is
}

// A ContextRenderer is a Renderer that tells Input.Context from Input.Vars. For others the former
// is merged over the latter.
type ContextRenderer interface {
	Renderer
	KeepsContext()
}

// A Renderer converts text or data to text or data. Its errors are of type *Error if Salt would
// raise SaltRenderError. It must be safe for concurrent use.
type Renderer interface {
	// Name returns the name used in pipes.
	Name() string
	// Render returns text as string, otherwise a value of package data; an empty document is an
	// empty *data.Map.
	Render(ctx context.Context, s *Step) (any, error)
}

// New returns an engine.
func New(o Options) (*Engine, error) { return newEngine(o) }

// Env returns the environment that renderers use.
func (e *Engine) Env() *loader.Env { return e.env }

// Files returns the files that templates may import; never nil.
func (e *Engine) Files() Files { return e.files }

// Render runs a source through its pipe and returns the result: a value of package data, or text if
// the last renderer returns text. A source of only white space is an empty *data.Map.
func (e *Engine) Render(ctx context.Context, in Input) (any, error) { return e.render(ctx, in) }

// RenderData is Render for data instead of text. It runs the data through the pipe in.Default, as
// decryption of pillar does. It changes text only in a copy of v.
func (e *Engine) RenderData(ctx context.Context, v any, in Input) (any, error) {
	return e.renderData(ctx, v, in)
}

// Template renders a file template with one template engine, such as jinja, and returns its text
// (salt/utils/templates.py, TEMPLATE_REGISTRY).
func (e *Engine) Template(ctx context.Context, engine string, in Input) (string, error) {
	return e.template(ctx, engine, in)
}

func (e *Engine) option(name string) any { return e.env.Option(name) }

// optionMap returns an option that is a dictionary, or an empty dictionary for any other value.
func (e *Engine) optionMap(name string) *data.Map {
	m, _ := e.option(name).(*data.Map)
	return m
}
