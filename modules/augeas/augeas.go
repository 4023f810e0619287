// Package augeas is Salt's module augeas: settings in configuration files, by the program augtool
// (salt/modules/augeas_cfg.py, which uses the library).
//
// Differences from Salt: a command that Augeas refuses is an error with its reason. A value that is the
// text (none) counts as no value.
package augeas

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module augeas. It is available on hosts with the program augtool.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "augeas", File: "augeas_cfg", New: newModule}
}

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("augtool") == "" {
		return nil, errors.New("the module augeas needs the program augtool")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("execute", m.execute),
		loader.F("get", m.get),
		loader.F("ls", m.ls),
		loader.F("match", m.match),
		loader.F("remove", m.remove),
		loader.F("setvalue", m.setvalue),
		loader.F("tree", m.tree),
	}}, nil
}

// A session is how Augeas is started: with lenses of more directories, and for one file with a lens.
type session struct{ loadPath, lens, file string }

// directories returns the absolute directories of a load path.
func directories(v any) string {
	text, _ := v.(string)
	var found []string
	for _, path := range strings.Split(text, ":") {
		if info, err := os.Stat(path); err == nil && info.IsDir() && filepath.IsAbs(path) {
			found = append(found, path)
		}
	}
	return strings.Join(found, ":")
}

// run runs commands of augtool.
func (m *module) run(ctx context.Context, s session, script ...string) (calls.Ran, error) {
	argv := []string{"augtool"}
	if m.env.Root != "" {
		argv = append(argv, "--root="+m.env.Root)
	}
	if s.loadPath != "" {
		argv = append(argv, "--include="+s.loadPath)
	}
	if s.lens != "" {
		argv = append(argv, "--noautoload", "--transform="+s.lens+" incl "+s.file)
	}
	for _, text := range append(script, argv...) {
		if strings.ContainsAny(text, "\n\r\x00") {
			return calls.Ran{}, loader.Execution("%q has more than one line", text)
		}
	}
	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: argv, Stdin: strings.Join(script, "\n") + "\n",
		IgnoreRetcode: true})
	// For a command that Augeas refuses, augtool prints an error. Any other failure says nothing of a file.
	if err == nil && ran.Retcode != 0 && !strings.Contains(ran.Stderr, "error: ") {
		err = loader.Execution("augtool: code %d: %s", ran.Retcode, strings.TrimSpace(ran.Stderr))
	}
	return ran, err
}

// command returns a command with its words in quotes.
func command(name string, words ...string) string {
	for _, word := range words {
		name += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
	}
	return name
}

// nodes returns the paths of a list, in its order, with their values.
func nodes(text string) *data.Map {
	all := &data.Map{}
	for line := range strings.Lines(text) {
		path, value, ok := strings.Cut(strings.TrimRight(line, "\n"), " = ")
		switch {
		case !ok || !strings.HasPrefix(path, "/"):
		case value == "(none)":
			all.Set(path, nil)
		default:
			all.Set(path, value)
		}
	}
	return all
}

// found returns the nodes that match a path. ok is false for an invalid path.
func (m *module) found(ctx context.Context, loadPath any, paths ...string) (all *data.Map, ok bool,
	err error) {
	var script []string
	for _, path := range paths {
		script = append(script, command("match", path))
	}
	ran, err := m.run(ctx, session{loadPath: directories(loadPath)}, script...)
	return nodes(ran.Stdout), ran.Retcode == 0, err
}

type pathArgs struct {
	Path     string
	LoadPath any `name:"load_path" default:"None"`
}

type valueArgs struct {
	Path     string
	Value    any `default:"''"`
	LoadPath any `name:"load_path" default:"None"`
}

// get returns the value of a node below its path: None for a node without one, and an empty text if
// there is no node.
//
// value
//
//	The name of a node below path.
//
// load_path
//
//	Directories with more lenses, with colons between them.
//
// CLI Example:
//
//	salt '*' augeas.get /files/etc/hosts/1/ ipaddr
func (m *module) get(ctx context.Context, a valueArgs) (any, error) {
	path := strings.TrimRight(a.Path, "/")
	if data.Truth(a.Value) {
		path += "/" + strings.Trim(data.Str(a.Value), "/")
	}
	all, ok, err := m.found(ctx, a.LoadPath, path)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return data.NewMap("error", "('Error during match procedure!', "+data.Repr(path)+")"), nil
	case all.Len() > 1:
		return nil, loader.Execution("%s matches %d nodes", path, all.Len())
	}
	for _, value := range all.All() {
		return data.NewMap(path, value), nil
	}
	return data.NewMap(path, ""), nil
}

// match returns the nodes that match a path with their values, or those with a value.
//
// load_path
//
//	Directories with more lenses, with colons between them.
//
// CLI Example:
//
//	salt '*' augeas.match /files/etc/services/service-name ssh
func (m *module) match(ctx context.Context, a valueArgs) (any, error) {
	all, _, err := m.found(ctx, a.LoadPath, a.Path)
	if err != nil || !data.Truth(a.Value) {
		return all, err
	}
	same := &data.Map{}
	for path, value := range all.All() {
		if value == data.Str(a.Value) {
			same.Set(path, value)
		}
	}
	return same, nil
}

// ls returns the nodes below a path with their values. The name of one with others below it ends in a
// slash.
//
// load_path
//
//	Directories with more lenses, with colons between them.
//
// CLI Example:
//
//	salt '*' augeas.ls /files/etc/passwd
func (m *module) ls(ctx context.Context, a pathArgs) (any, error) {
	path := strings.TrimRight(a.Path, "/") + "/"
	all, _, err := m.found(ctx, a.LoadPath, path+"*", path+"*/*")
	if err != nil {
		return nil, err
	}
	listed, parents := &data.Map{}, map[string]bool{}
	for key := range all.All() {
		parents[data.Str(key)[:strings.LastIndex(data.Str(key), "/")]] = true
	}
	for key, value := range all.All() {
		text := data.Str(key)
		name := strings.TrimPrefix(text, path)
		switch {
		case all.Has(text[:strings.LastIndex(text, "/")]):
		case parents[text]:
			listed.Set(name+"/", value)
		default:
			listed.Set(name, value)
		}
	}
	return listed, nil
}

// tree returns all nodes below a path and the path itself, with their values.
//
// load_path
//
//	Directories with more lenses, with colons between them.
//
// CLI Example:
//
//	salt '*' augeas.tree /files/etc/
func (m *module) tree(ctx context.Context, a pathArgs) (any, error) {
	path := strings.TrimRight(a.Path, "/")
	all, _, err := m.found(ctx, a.LoadPath, path, path+"//*")
	if err == nil && !all.Has(path) {
		all.Set(path, nil)
	}
	return all, err
}

const unsaved = "Unable to save to file!"

// failed reports whether augtool could not save, and how many other commands failed.
func failed(ran calls.Ran) (save bool, others int) {
	save = strings.Contains(ran.Stderr, "saving failed")
	if others = strings.Count(ran.Stderr, "error: "); save {
		others--
	}
	return save, others
}

// remove removes the nodes that match a path. It returns their number as count, and whether that
// succeeded as retval.
//
// load_path
//
//	Directories with more lenses, with colons between them.
//
// CLI Example:
//
//	salt '*' augeas.remove /files/etc/sysctl.conf/net.ipv4.conf.all.log_martians
func (m *module) remove(ctx context.Context, a pathArgs) (any, error) {
	ran, err := m.run(ctx, session{loadPath: directories(a.LoadPath)}, command("rm", a.Path), "save")
	if err != nil {
		return nil, err
	}
	count := int64(-1)
	for line := range strings.Lines(ran.Stdout) {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "rm" {
			if n, err := strconv.ParseInt(words[len(words)-1], 10, 64); err == nil {
				count = n
			}
		}
	}
	switch save, _ := failed(ran); {
	case save:
		return data.NewMap("retval", false, "error", unsaved, "count", count), nil
	case count < 0:
		return data.NewMap("retval", false, "error", "Invalid node", "count", count), nil
	}
	return data.NewMap("retval", true, "count", count), nil
}

type setvalueArgs struct {
	Args []any `args:"args"`
}

// setvalue sets the values of nodes: arguments are pairs of a path and a value. It returns as retval
// whether the files are saved.
//
// prefix=PATH among the arguments is a path for all others, and load_path=PATHS names directories with
// more lenses.
//
// CLI Example:
//
//	salt '*' augeas.setvalue /files/etc/hosts/1/canonical localhost
//	salt '*' augeas.setvalue prefix=/files/etc/hosts 01/ipaddr 192.168.1.1 01/canonical test
func (m *module) setvalue(ctx context.Context, a setvalueArgs) (any, error) {
	named := map[string]string{}
	var words []string
	for _, word := range data.Texts(a.Args) {
		key, value, _ := strings.Cut(word, "=")
		if !strings.Contains(word, "=") || key != "prefix" && key != "load_path" {
			words = append(words, word)
			continue
		}
		if _, twice := named[key]; twice {
			return nil, loader.Invocation("Only one '%s=' value is permitted", key)
		}
		named[key] = value
	}
	if len(words)%2 != 0 {
		return nil, loader.Invocation("Uneven number of path/value arguments")
	}
	var script []string
	for pair := range slices.Chunk(words, 2) {
		path := pair[0]
		if named["prefix"] != "" {
			path = strings.TrimRight(named["prefix"], "/") + "/" + strings.TrimLeft(path, "/")
		}
		script = append(script, command("set", path, pair[1]))
	}
	ran, err := m.run(ctx, session{loadPath: directories(named["load_path"])}, append(script, "save")...)
	if err != nil {
		return nil, err
	}
	save, others := failed(ran)
	result := data.NewMap("retval", !save)
	if others > 0 {
		result.Set("error", "Multiple values: Unable to set value to path!")
	}
	if save {
		result.Set("error", unsaved)
	}
	return result, nil
}

type executeArgs struct {
	Context  any   `default:"None"`
	Lens     any   `default:"None"`
	Commands []any `default:"()"`
	LoadPath any   `name:"load_path" default:"None"`
}

// execute runs commands of Augeas: set, setm, mv or move, ins or insert, rm or remove. It saves the
// files if all succeed, and returns as retval whether they are saved.
//
// context
//
//	A path before those of the commands, such as /files/etc/redis/redis.conf.
//
// lens
//
//	The lens for the file of the context, such as Redis.lns.
//
// load_path
//
//	Directories with more lenses, with colons between them.
//
// CLI Example:
//
//	salt '*' augeas.execute /files/etc/redis/redis.conf \
//	    commands='["set bind 0.0.0.0", "set maxmemory 1G"]'
func (m *module) execute(ctx context.Context, a executeArgs) (any, error) {
	under := calls.Text(a.Context)
	var script []string
	for _, v := range a.Commands {
		line, wrong := translate(data.Str(v), under)
		if wrong != "" {
			return data.NewMap("retval", false, "error", wrong), nil
		}
		script = append(script, line)
	}
	s := session{loadPath: directories(a.LoadPath)}
	if lens := calls.Text(a.Lens); lens != "" && under != "" {
		s.lens, s.file = lens, strings.TrimPrefix(under, "/files")
	}
	// augtool goes on after a failure, so a first run saves nothing
	if len(script) > 0 {
		ran, err := m.run(ctx, s, script...)
		if err != nil {
			return nil, err
		}
		if _, others := failed(ran); others > 0 {
			return nil, loader.Execution("Augeas refuses a command: %s", strings.TrimSpace(ran.Stderr))
		}
	}
	ran, err := m.run(ctx, s, append(script, "save")...)
	if err != nil {
		return nil, err
	}
	if save, _ := failed(ran); !save {
		return data.NewMap("retval", true), nil
	}
	wrong := unsaved
	if s.lens != "" && !strings.HasSuffix(s.lens, ".lns") {
		wrong += "\nLenses are normally configured as \"name.lns\". Did you mean \"" + s.lens + ".lns\"?"
	}
	return data.NewMap("retval", false, "error", wrong), nil
}

// translate converts a command to one of augtool, with paths below the context. wrong says what is not
// right in it.
func translate(text, under string) (line, wrong string) {
	name, rest, ok := strings.Cut(text, " ")
	methods := map[string]string{"set": "set", "setm": "setm", "mv": "mv", "move": "mv", "ins": "ins",
		"insert": "ins", "rm": "rm", "remove": "rm"}
	invalid := "Invalid formatted command, see debug log for details: "
	if !ok {
		return "", invalid + text
	}
	method := methods[name]
	if method == "" {
		return "", "Command " + name + " is not supported (yet)"
	}
	words, err := process.Words(rest)
	limits := map[string][2]int{"set": {1, 2}, "setm": {2, 3}, "mv": {2, 2}, "ins": {3, 3},
		"rm": {1, 1}}[method]
	if err != nil || len(words) < limits[0] || len(words) > limits[1] ||
		method == "ins" && words[1] != "before" && words[1] != "after" {
		return "", invalid + rest
	}
	at := 0
	if method == "ins" {
		at = 2
	}
	words[at] = below(under, words[at])
	switch {
	case method == "set" && len(words) == 1:
		method = "clear"
	case method == "setm" && len(words) == 2:
		method = "clearm"
	}
	return command(method, words...), ""
}

// below returns a path below a context, unless it is there already.
func below(under, path string) string {
	switch {
	case under == "" || strings.HasPrefix(path, under) && strings.Trim(path, "/") != "":
		return path
	case strings.TrimLeft(path, "/") == "":
		return under
	}
	return strings.TrimRight(under, "/") + "/" + strings.TrimLeft(path, "/")
}
