package render

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// DefaultPipe is the pipe of sources that name none, where the option renderer is not set.
const DefaultPipe = "jinja|yaml"

// Options are what an Engine is made of.
type Options struct {
	// Env lends options (renderer, renderer_whitelist, renderer_blacklist and those of the renderers), grains, pillar,
	// functions and the log. It must not be nil.
	Env *loader.Env
	// Files are those that templates may import; nil has none.
	Files Files
	// Renderers are found by their names; two of one name are an error.
	Renderers []Renderer
	// Lookup finds renderers that are not in the list; nil finds none.
	Lookup func(name string) (Renderer, bool)
}

// An Engine renders sources. Several goroutines may use it.
type Engine struct {
	env    *loader.Env
	files  Files
	byName map[string]Renderer
	lookup func(name string) (Renderer, bool)
}

// An Input is a source and what it is rendered with.
type Input struct {
	Text    string         // the source
	Path    string         // of the source on this host, tplpath to templates; "" when it has none
	SaltEnv string         // environment of the files that it may import; "" means those beside Path
	SLS     string         // name of the SLS in its environment, such as web.nginx; "" when it is none
	Default string         // pipe when the source names none; "" is the option renderer
	Vars    map[string]any // more variables of templates, values of package data; they hide those of the same name
	// TranslateNewlines has gpg, nacl and their like read \n in secrets as a line break (values of a command line).
	TranslateNewlines bool
}

// A Step is the work of one renderer in a pipe.
type Step struct {
	Input
	Data     any     // what the renderer before it gave: text, or data; Input.Text for the first one
	Argument string  // what stands behind the renderer's name in the pipe
	File     bool    // the source is a file template: it is no SLS and has no names of one
	Engine   *Engine // that runs the pipe
}

// A Renderer turns text or data into text or data. Its errors are of type *Error where Salt would raise
// SaltRenderError. Several goroutines may use it at once.
type Renderer interface {
	// Name is what pipes call it.
	Name() string
	// Render returns text as string, else a value of package data; an empty document is an empty *data.Map.
	Render(ctx context.Context, s *Step) (any, error)
}

// New returns an engine.
func New(o Options) (*Engine, error) { return newEngine(o) }

// Env returns what renderers work with.
func (e *Engine) Env() *loader.Env { return e.env }

// Files returns the files that templates may import; never nil.
func (e *Engine) Files() Files { return e.files }

// Render runs a source through its pipe and returns what comes out: a value of package data, or text where the last
// renderer gives text. A source of nothing but white space is an empty *data.Map.
func (e *Engine) Render(ctx context.Context, in Input) (any, error) { return e.render(ctx, in) }

// RenderData is Render that begins with data instead of text: it runs it through the pipe in.Default, as decryption of
// pillar does. Text in v is changed in a copy.
func (e *Engine) RenderData(ctx context.Context, v any, in Input) (any, error) {
	return e.renderData(ctx, v, in)
}

// Template renders a file template with one template engine, such as jinja, and returns its text
// (salt/utils/templates.py, TEMPLATE_REGISTRY).
func (e *Engine) Template(ctx context.Context, engine string, in Input) (string, error) {
	return e.template(ctx, engine, in)
}

func (e *Engine) option(name string) any { return e.env.Option(name) }

// optionMap returns an option that is a dictionary, an empty one when it is none.
func (e *Engine) optionMap(name string) *data.Map {
	m, _ := e.option(name).(*data.Map)
	return m
}
