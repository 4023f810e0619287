package render

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// A Stage is one renderer of a pipe, by name, with its argument.
type Stage struct {
	Name     string
	Argument string
}

// oldPipe converts a name from before pipes existed (salt/template.py, OLD_STYLE_RENDERERS).
func oldPipe(name string) (string, bool) {
	switch name {
	case "yaml_jinja", "yaml_mako", "yaml_wempy", "json_jinja", "json_mako", "json_wempy",
		"yamlex_jinja", "yamlexyamlex_mako", "yamlexyamlex_wempy":
		format, template, _ := strings.Cut(name, "_")
		return template + "|" + format, true
	}
	return "", false
}

// ParsePipe parses a pipe such as "jinja -s | yaml" (salt/template.py, check_render_pipe_str).
func ParsePipe(pipe string) []Stage {
	if old, ok := oldPipe(pipe); ok {
		pipe = old
	}
	var stages []Stage
	for part := range strings.SplitSeq(pipe, "|") {
		name, arg, _ := strings.Cut(trimSpace(part), " ")
		stages = append(stages, Stage{Name: name, Argument: trimSpace(arg)})
	}
	return stages
}

// Shebang returns the pipe that the first line of a source names, and whether it names one. A line
// #!/path belongs to a script (salt/template.py, template_shebang). If words is true, only the
// first word counts, as in texts without a file.
func Shebang(source string, words bool) (string, bool) {
	line, _, _ := strings.Cut(source, "\n")
	line, _, _ = strings.Cut(line, "\r")
	if words {
		line = ""
		if fields := strings.Fields(source); len(fields) > 0 {
			line = fields[0]
		}
	}
	if !strings.HasPrefix(line, "#!") || strings.HasPrefix(line, "#!/") {
		return "", false
	}
	return trimSpace(line)[2:], true
}

func trimSpace(s string) string { return strings.TrimSpace(s) }

func newEngine(o Options) (*Engine, error) {
	e := &Engine{env: o.Env, files: o.Files, lookup: o.Lookup,
		byName: make(map[string]Renderer, len(o.Renderers))}
	if e.files == nil {
		e.files = noFiles{}
	}
	if users := o.Env.Registry("renderers"); users != nil {
		e.users = users.With(o.Env)
	}
	for _, r := range o.Renderers {
		if e.byName[r.Name()] != nil {
			return nil, fmt.Errorf("two renderers are named %s", r.Name())
		}
		e.byName[r.Name()] = r
	}
	return e, nil
}

// Renderer returns the renderer of a name.
func (e *Engine) Renderer(name string) (Renderer, bool) {
	own := e.own(name)
	if own != nil && own.over {
		return own, true
	}
	if r, ok := e.byName[name]; ok {
		return r, true
	}
	if own != nil {
		return own, true
	}
	if e.lookup == nil {
		return nil, false
	}
	return e.lookup(name)
}

func (e *Engine) render(ctx context.Context, in Input) (any, error) {
	if trimSpace(in.Text) == "" {
		return data.NewMap(), nil
	}
	pipe, ok := Shebang(in.Text, in.Path == "")
	if !ok {
		pipe = e.defaultPipe(in)
	}
	out, err := e.run(ctx, pipe, in.Text, in)
	if text, isText := out.(string); isText && strings.Contains(in.Text, "\r\n") &&
		!strings.Contains(text, "\r\n") {
		out = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return out, err
}

func (e *Engine) defaultPipe(in Input) string {
	if in.Default != "" {
		return in.Default
	}
	if pipe, ok := e.option("renderer").(string); ok && pipe != "" {
		return pipe
	}
	return DefaultPipe
}

func (e *Engine) renderData(ctx context.Context, v any, in Input) (any, error) {
	return e.run(ctx, e.defaultPipe(in), v, in)
}

// run passes v through the renderers of a pipe. An empty pipe returns an empty map, as in Salt.
func (e *Engine) run(ctx context.Context, pipe string, v any, in Input) (any, error) {
	stages, err := e.stages(pipe, in)
	if err != nil {
		return nil, err
	}
	if len(stages) == 0 {
		return data.NewMap(), nil
	}
	if ctx, err = deeper(ctx, in); err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, engineKey{}, e)
	bare := false
	for _, st := range stages {
		if !isDeterministic(st.renderer) {
			Touch(ctx, "renderer "+st.renderer.Name())
		}
		s := &Step{Input: in.forRenderer(st.renderer), Data: v, Argument: st.argument, Engine: e,
			bare: bare}
		if v, err = st.renderer.Render(ctx, s); err != nil {
			return nil, err
		}
		bare = st.renderer.Name() == "py" || s.bare && isOwn(st.renderer)
	}
	return v, nil
}

func isOwn(r Renderer) bool {
	_, ok := r.(*own)
	return ok
}

// forRenderer returns the input for a renderer, with the context among the variables unless the
// renderer keeps it apart.
func (in Input) forRenderer(r Renderer) Input {
	if _, ok := r.(ContextRenderer); ok || len(in.Context) == 0 {
		return in
	}
	vars := map[string]any{}
	maps.Copy(vars, in.Vars)
	maps.Copy(vars, in.Context)
	in.Vars, in.Context = vars, nil
	return in
}

type engineKey struct{}

// EngineOf returns the engine whose renderer makes the call that ctx belongs to, nil for none.
func EngineOf(ctx context.Context) *Engine {
	e, _ := ctx.Value(engineKey{}).(*Engine)
	return e
}

// maxDepth limits nested renderings, which execution functions such as slsutil.renderer start.
const maxDepth = 50

type depthKey struct{}

// deeper counts one more nested rendering.
func deeper(ctx context.Context, in Input) (context.Context, error) {
	depth, _ := ctx.Value(depthKey{}).(int)
	if depth >= maxDepth {
		return nil, Errorf("%s is rendered within more than %d others: does it render itself?",
			in.place(), maxDepth)
	}
	return context.WithValue(ctx, depthKey{}, depth+1), nil
}

type stage struct {
	renderer Renderer
	argument string
}

// stages looks up the renderers of a pipe, and leaves out those that options forbid.
func (e *Engine) stages(pipe string, in Input) ([]stage, error) {
	white, black := data.TextsOf(e.option("renderer_whitelist")),
		data.TextsOf(e.option("renderer_blacklist"))
	var found []stage
	for _, p := range ParsePipe(pipe) {
		if len(white) > 0 && !slices.Contains(white, p.Name) || slices.Contains(black, p.Name) {
			e.warn("The renderer %q is disallowed by configuration and will be skipped.", p.Name)
			continue
		}
		r, ok := e.Renderer(p.Name)
		if !ok {
			e.fault("The renderer \"%s\" is not available", pipe)
			return nil, unknown(p.Name, pipe, in, e.known())
		}
		found = append(found, stage{r, p.Argument})
	}
	return found, nil
}

func (e *Engine) warn(format string, args ...any) {
	if e.env.Log != nil {
		e.env.Log.Warnf(format, args...)
	}
}

func (e *Engine) fault(format string, args ...any) {
	if e.env.Log != nil {
		e.env.Log.Errorf(format, args...)
	}
}

// known returns the names of the renderers in the list, sorted.
func (e *Engine) known() []string {
	out := make([]string, 0, len(e.byName))
	for n := range e.byName {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func (e *Engine) template(ctx context.Context, engine string, in Input) (string, error) {
	r, ok := e.Renderer(engine)
	if !ok {
		return "", unknown(engine, engine, in, e.known())
	}
	ctx, err := deeper(ctx, in)
	if err != nil {
		return "", err
	}
	v, err := r.Render(ctx, &Step{Input: in.forRenderer(r), Data: in.Text, File: true, Engine: e})
	if err != nil {
		return "", err
	}
	text, ok := v.(string)
	if !ok {
		return "", Errorf("the renderer %s returns data, not text, for %s: it cannot render file templates", engine, in.place())
	}
	return text, nil
}
