package render

import (
	"context"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
)

// StateConf is the renderer stateconf. It renames states whose ids begin with a dot after their
// SLS, and a goal state requires all others. The values of stateconf.set states before the mark "#
// --- end of state config ---" are variables in the rest of the file (salt/renderers/stateconf.py).
// Its argument is [-Gosp] [DATA . TEMPLATE], such as yaml . jinja.
type StateConf struct{}

// Name implements Renderer.
func (StateConf) Name() string { return "stateconf" }

var (
	endOfConfig = regexp.MustCompile(`#\s*-+\s*end of state config\s*-+`)
	splitDot    = regexp.MustCompile(`\s+\.\s+`)
	leadingDots = regexp.MustCompile(`^(\.+)(.*)$`)
)

// Ids of generated states, and the state that holds values.
const (
	startState = ".start"
	goalState  = ".goal"
	setState   = "stateconf.set"
)

// A stateConf is one run of the renderer.
type stateConf struct {
	s                         *Step
	noGoal, order, start, raw bool
	format, template          stage
	conf                      map[string]any // of stateconf.set, by state id
}

// Render implements Renderer.
func (StateConf) Render(ctx context.Context, s *Step) (any, error) {
	c := &stateConf{s: s, conf: map[string]any{}}
	if err := c.options(); err != nil {
		return nil, err
	}
	if c.raw {
		high, ok := s.Data.(*data.Map)
		if !ok {
			return nil, Errorf("stateconf -p in %s needs the data of states before it in the pipe",
				s.place())
		}
		return c.process(data.Clone(high).(*data.Map), false)
	}
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	if at := endOfConfig.FindStringIndex(text); at != nil {
		if _, err := c.pass(ctx, text[:at[0]], nil, true); err != nil {
			return nil, err
		}
	}
	vars := make(map[string]any, len(c.conf))
	for id, values := range c.conf {
		vars[strings.TrimPrefix(id, s.SLS+"::")] = values
	}
	return c.pass(ctx, text, vars, false)
}

// options parses the argument.
func (c *stateConf) options() error {
	words := strings.Fields(c.s.Argument)
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		for _, letter := range words[0][1:] {
			switch letter {
			case 'G':
				c.noGoal = true
			case 'o':
				c.order = true
			case 's':
				c.start = true
			case 'p':
				c.raw = true
			default:
				return c.usage()
			}
		}
		words = words[1:]
	}
	if c.raw {
		return nil
	}
	arg := strings.Join(words, " ")
	if arg == "" {
		arg = "yaml . jinja"
	}
	parts := splitDot.Split(arg, 2)
	if len(parts) != 2 {
		return c.usage()
	}
	for i, to := range []*stage{&c.format, &c.template} {
		name, rest, _ := strings.Cut(strings.TrimSpace(parts[i]), " ")
		r, ok := c.s.Engine.Renderer(name)
		if !ok {
			return Errorf("Renderer: '%s' is not available!", name)
		}
		*to = stage{r, strings.TrimSpace(rest)}
	}
	if c.order && c.format.renderer.Name() != "yaml" {
		return Errorf("Implicit ordering is only supported if the yaml renderer is used!")
	}
	return nil
}

func (c *stateConf) usage() error {
	return Errorf("Invalid use of stateconf renderer!\nUsage: #!stateconf [-GoSp] [<data_renderer> [options] . <template_renderer> [options]]")
}

// pass renders text once.
func (c *stateConf) pass(
	ctx context.Context, text string, vars map[string]any, extract bool,
) (*data.Map, error) {
	step := *c.s
	step.Data, step.Argument, step.Vars = text, c.template.argument,
		map[string]any{"sls_dir": slsDir(c.s.SLS)}
	for _, more := range []map[string]any{c.s.Vars, vars} {
		for k, v := range more {
			step.Vars[k] = v
		}
	}
	v, err := c.template.renderer.Render(ctx, &step)
	if err != nil {
		return nil, err
	}
	step.Data, step.Argument = v, c.format.argument
	if v, err = c.format.renderer.Render(ctx, &step); err != nil {
		return nil, err
	}
	high, ok := v.(*data.Map)
	if !ok {
		return nil, Errorf("SLS %s is not formed as a dict but is a list or text", c.s.SLS)
	}
	return c.process(data.Clone(high).(*data.Map), extract)
}

func slsDir(sls string) string {
	if i := strings.LastIndexByte(sls, '.'); i >= 0 {
		sls = strings.ReplaceAll(sls[:i], ".", "/")
	}
	if sls == "" {
		return "."
	}
	return sls
}

func (c *stateConf) process(high *data.Map, extract bool) (*data.Map, error) {
	for id, states := range high.All() {
		if name, ok := states.(string); ok && id != "include" && id != "exclude" {
			high.Set(id, data.NewMap(name, []any{}))
		}
	}
	steps := []func(*data.Map) error{c.includes}
	if !extract && c.order {
		steps = append(steps, c.requireInOrder)
	}
	if c.start {
		steps = append(steps, c.addStart)
	}
	if !extract && !c.noGoal {
		steps = append(steps, c.addGoal)
	}
	for _, step := range append(steps, c.rename) {
		if err := step(high); err != nil {
			return nil, err
		}
	}
	c.extract(high)
	return high, nil
}

// includes makes relative SLS names, which begin with a dot, absolute.
func (c *stateConf) includes(high *data.Map) error {
	list, _ := high.Value("include").([]any)
	for i, each := range list {
		env, name := c.s.SaltEnv, data.Str(each)
		if m, ok := each.(*data.Map); ok && m.Len() == 1 {
			k, v := m.At(0)
			env, name = data.Str(k), data.Str(v)
		}
		if strings.HasPrefix(name, ".") {
			absolute, err := absoluteSLS(name, c.s.SLS)
			if err != nil {
				return err
			}
			list[i] = data.NewMap(env, absolute)
		}
	}
	excluded, _ := high.Value("exclude").([]any)
	for _, each := range excluded {
		m, ok := each.(*data.Map)
		if name := ""; ok {
			if name = m.Text("sls"); strings.HasPrefix(name, ".") {
				absolute, err := absoluteSLS(name, c.s.SLS)
				if err != nil {
					return err
				}
				m.Set("sls", absolute)
			}
		}
	}
	return nil
}

// absoluteSLS resolves a name relative to an SLS.
func absoluteSLS(name, sls string) (string, error) {
	m := leadingDots.FindStringSubmatch(name)
	parts := strings.Split(sls, ".")
	if len(m[1]) > len(parts) {
		return "", Errorf("Attempted relative include goes beyond top level package")
	}
	return strings.Join(append(parts[:len(parts)-len(m[1]):len(parts)-len(m[1])], m[2]), "."), nil
}

// absoluteID returns the full id for one that begins with a dot.
func absoluteID(id, sls string) (string, error) {
	if strings.Contains(id, "::") {
		return absoluteSLS(id, sls)
	}
	name, err := absoluteSLS(id, sls+".")
	if i := strings.LastIndexByte(name, '.'); err == nil && i >= 0 {
		name = name[:i] + "::" + name[i+1:]
	}
	return name, err
}

// A declared is one state of an SLS: its id, its name such as file.managed, and its arguments.
type declared struct {
	id, name string
	states   *data.Map
	args     []any
}

func (d declared) module() string {
	name, _, _ := strings.Cut(d.name, ".")
	return name
}

// declarations lists the states, without those of the given ids.
func declarations(high *data.Map, without ...string) []declared {
	var out []declared
	for k, v := range high.All() {
		id, _ := k.(string)
		states, ok := v.(*data.Map)
		if !ok || strings.HasPrefix(id, "__") || contains(without, id) {
			continue
		}
		for n, a := range states.All() {
			name, _ := n.(string)
			args, isList := a.([]any)
			if isList && !strings.HasPrefix(name, "__") {
				out = append(out, declared{id, name, states, args})
			}
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// A requisite is one reference to another state, such as {file: x} below require.
type requisite struct {
	kind, module, id string
	in               *data.Map
}

func (d declared) requisites() []requisite {
	var out []requisite
	for _, a := range d.args {
		m, ok := a.(*data.Map)
		if !ok || m.Len() == 0 {
			continue
		}
		k, v := m.At(0)
		kind, _ := k.(string)
		list, _ := v.([]any)
		if !isRequisite(kind) {
			continue
		}
		for _, item := range list {
			if ref, ok := item.(*data.Map); ok && ref.Len() > 0 {
				module, id := ref.At(0)
				out = append(out, requisite{kind, data.Str(module), data.Str(id), ref})
			}
		}
	}
	return out
}

func isRequisite(kind string) bool {
	switch strings.TrimSuffix(kind, "_in") {
	case "require", "watch", "use", "listen", "onchanges", "onfail":
		return true
	}
	return false
}

// rename prefixes state ids that begin with a dot with the name of their SLS, and updates
// references to them.
func (c *stateConf) rename(high *data.Map) error {
	if extend, ok := high.Value("extend").(*data.Map); ok {
		if err := c.renameIn(extend); err != nil {
			return err
		}
	}
	return c.renameIn(high)
}

func (c *stateConf) renameIn(high *data.Map) error {
	for _, d := range declarations(high, "include", "exclude") {
		for _, r := range d.requisites() {
			if strings.HasPrefix(r.id, ".") {
				id, err := absoluteID(r.id, c.s.SLS)
				if err != nil {
					return err
				}
				r.in.Set(r.module, id)
			}
		}
	}
	for _, k := range high.Keys() {
		id, _ := k.(string)
		if !strings.HasPrefix(id, ".") {
			continue
		}
		name, err := absoluteID(id, c.s.SLS)
		if err != nil {
			return err
		}
		if high.Has(name) {
			return Errorf("Can't rename state id(%s) into %s because the later already exists!", id,
				name)
		}
		if states, ok := high.Value(id).(*data.Map); ok {
			addNames(states, id[1:])
		}
		high.Set(name, high.Value(id))
		high.Delete(id)
	}
	return nil
}

// addNames adds a name to states without one.
func addNames(states *data.Map, name string) {
	for k, v := range states.All() {
		args, ok := v.([]any)
		if module, _, _ := strings.Cut(data.Str(k), "."); !ok || module == "stateconf" {
			continue
		}
		named := false
		for _, a := range args {
			if m, ok := a.(*data.Map); ok && m.Len() > 0 {
				first, _ := m.At(0)
				named = named || first == "name"
			}
		}
		if !named {
			states.Set(k, append([]any{data.NewMap("name", name)}, args...))
		}
	}
}

// addStart adds a state that comes before the first one.
func (c *stateConf) addStart(high *data.Map) error {
	if high.Has(startState) {
		return Errorf("Can't generate start state(%s)! The same state id already exists!",
			startState)
	}
	for _, d := range declarations(high, "include", "exclude", "extend") {
		if of, ok := d.states.Get("__sls__"); !ok || of == c.s.SLS {
			first := data.NewMap("require_in", []any{data.NewMap(d.module(), d.id)})
			high.Set(startState, data.NewMap(setState, []any{first}))
			return nil
		}
	}
	if high.Len() == 0 {
		return nil
	}
	return Errorf("Can't determine the first state in the sls file!")
}

// addGoal adds a state that requires all others.
func (c *stateConf) addGoal(high *data.Map) error {
	if high.Has(goalState) {
		return Errorf("Can't generate goal state(%s)! The same state id already exists!", goalState)
	}
	all := []any{}
	for _, d := range declarations(high, "include", "exclude", "extend") {
		if !d.states.Has("__sls__") {
			all = append(all, data.NewMap(d.module(), d.id))
		}
	}
	high.Set(goalState, data.NewMap(setState, []any{data.NewMap("require", all)}))
	return nil
}

// requireInOrder makes each state require the one before it.
func (c *stateConf) requireInOrder(high *data.Map) error {
	all := declarations(high, "include", "exclude", "extend")
	at := map[string]int{}
	for i, d := range all {
		at[d.id+":"+d.module()] = i
	}
	for i, d := range all {
		tag := d.id + ":" + d.module()
		for _, a := range d.args {
			if m, ok := a.(*data.Map); ok && m.Has("names") {
				return Errorf("'names' declaration(found in state id: %s) is not supported with implicitly ordered states! "+
					"You should generate the states in a template for-loop instead.", d.id)
			}
		}
		for _, r := range d.requisites() {
			other, known := at[r.id+":"+r.module]
			switch in := strings.HasSuffix(r.kind, "_in"); {
			case strings.HasPrefix(r.kind, "use"):
			case known && !in && other > i:
				return Errorf("State(%s) can't require/watch/listen/onchanges/onfail a state(%s) defined after it!", tag, r.id+":"+r.module)
			case known && in && other < i:
				return Errorf("State(%s) can't require_in/watch_in/listen_in/onchanges_in/onfail_in a state(%s) defined before it!", tag, r.id+":"+r.module)
			}
		}
		if i > 0 {
			before := data.NewMap(all[i-1].module(), all[i-1].id)
			d.states.Set(d.name, withRequire(d.args, before))
		}
	}
	return nil
}

// withRequire adds a state to the front of the require argument.
func withRequire(args []any, state *data.Map) []any {
	for _, a := range args {
		if m, ok := a.(*data.Map); ok && m.Has("require") {
			list, _ := m.Value("require").([]any)
			m.Set("require", append([]any{state}, list...))
			return args
		}
	}
	return append(args[:len(args):len(args)], data.NewMap("require", []any{state}))
}

// extract keeps the values of stateconf.set states; those below extend take precedence.
func (c *stateConf) extract(high *data.Map) {
	for _, d := range declarations(high, "include", "exclude", "extend") {
		c.keep(d)
	}
	if extend, ok := high.Value("extend").(*data.Map); ok {
		for _, d := range declarations(extend) {
			c.keep(d)
		}
	}
}

func (c *stateConf) keep(d declared) {
	if d.name != setState && d.name != "stateconf" {
		return
	}
	values, ok := c.conf[d.id].(*data.Map)
	if !ok {
		values = data.NewMap()
		c.conf[d.id] = values
	}
	for _, a := range d.args {
		if m, ok := a.(*data.Map); ok && m.Len() > 0 {
			k, v := m.At(0)
			values.Set(k, v)
		}
	}
}
