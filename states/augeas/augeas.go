// Package augeas is Salt's state augeas: settings in configuration files (salt/states/augeas.py). It
// uses the module augeas.
//
// Differences from Salt: a command that Augeas refuses fails the state with its reason.
package augeas

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state augeas. It is available on hosts with the module augeas.
func Plugin() loader.Plugin { return loader.Plugin{Name: "augeas", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if !env.Functions.Has("augeas.execute") {
		return nil, errors.New("augeas module could not be loaded")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("change", m.change)}}, nil
}

type changeArgs struct {
	Name     string
	Context  any       `default:"None"`
	Changes  any       `default:"None"`
	Lens     any       `default:"None"`
	LoadPath any       `name:"load_path" default:"None"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// change runs commands of Augeas on a file. The changes are the difference of the file. In test mode it
// lists the commands only.
//
// context
//
//	The file, such as /files/etc/redis/redis.conf. Without it, each command has the whole path.
//
// changes
//
//	A list of commands: set, setm, mv or move, ins or insert, rm or remove.
//
// lens
//
//	The lens for the file, such as Redis.lns. Only this one is loaded then.
//
// load_path
//
//	A list of directories with more lenses.
//
//	redis-conf:
//	  augeas.change:
//	    - lens: Redis.lns
//	    - context: /files/etc/redis/redis.conf
//	    - changes:
//	      - set bind 0.0.0.0
//	      - set maxmemory 1G
func (m *module) change(ctx context.Context, a changeArgs) (change.Result, error) {
	list, ok := a.Changes.([]any)
	if !ok || len(list) == 0 {
		return change.Refuse(a.Name, "'changes' must be specified as a list")
	}
	loadPath := a.LoadPath
	if loadPath != nil {
		paths, ok := loadPath.([]any)
		if !ok {
			return change.Refuse(a.Name, "'load_path' must be specified as a list")
		}
		loadPath = strings.Join(data.Texts(paths), ":")
	}
	commands := data.Texts(list)
	file, wrong := "", ""
	if a.Context != nil {
		file = bare(data.Str(a.Context))
	} else if file, wrong = m.fileOf(commands); wrong != "" {
		return change.Refuse(a.Name, "Error: "+wrong)
	}
	if change.Test(ctx) {
		in := ""
		if data.Truth(a.Context) {
			in = ` in file "` + data.Str(a.Context) + "\":\n"
		}
		return change.Leave(a.Name, "Executing commands"+in+strings.Join(commands, "\n"))
	}
	before, _ := m.read(file)
	result, err := m.env.Call(ctx, "augeas.execute", nil, data.NewMap("context", a.Context, "lens", a.Lens,
		"commands", list, "load_path", loadPath))
	if loader.KindOf(err) == loader.KindExecution {
		return change.Refuse(a.Name, "Error: "+err.Error())
	}
	if err != nil {
		return change.Result{}, err
	}
	if ran, _ := result.(*data.Map); ran.Value("retval") != true {
		return change.Refuse(a.Name, "Error: "+ran.Text("error"))
	}
	done := change.Result{Name: a.Name, Verdict: change.Success, Comment: "Changes have been saved"}
	after, there := m.read(file)
	switch {
	case !there:
		done.Changes = data.NewMap("updates", list)
	case slices.Equal(before, after):
		done.Comment = "No changes made"
	default:
		done.Changes = data.NewMap("diff", strings.Join(difflib.Around(before, after, 0, "", "", "\n"), ""))
	}
	return done, nil
}

// bare returns the path of a file in the tree of Augeas.
func bare(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(path, "/files"), "/")
}

// read returns the lines of a file; ok is false if there is none.
func (m *module) read(file string) (lines []string, ok bool) {
	if !m.isFile(file) {
		return nil, false
	}
	src, err := os.ReadFile(filepath.Join("/", m.env.Root, file))
	if err != nil {
		return nil, false
	}
	return slices.Collect(strings.Lines(string(src))), true
}

func (m *module) isFile(path string) bool {
	info, err := os.Stat(filepath.Join("/", m.env.Root, path))
	return path != "" && err == nil && info.Mode().IsRegular()
}

// fileOf returns the file that commands with whole paths are for. All of them have one path, as in Salt.
// wrong says what is not right.
func (m *module) fileOf(commands []string) (file, wrong string) {
	at := map[string]int{"set": 0, "setm": 0, "mv": 0, "move": 0, "rm": 0, "remove": 0, "ins": 2, "insert": 2}
	for _, command := range commands {
		invalid := "Invalid formatted command, see debug log for details: " + command
		name, rest, ok := strings.Cut(command, " ")
		if !ok {
			return "", invalid
		}
		index, known := at[name]
		if !known {
			return "", "Command " + name + " is not supported (yet)"
		}
		words, err := process.Words(rest)
		if err != nil || len(words) <= index || index == 2 && len(words) != 3 {
			return "", invalid
		}
		path := words[index]
		if !strings.HasPrefix(path, "/files") {
			return "", "Changes should be prefixed with /files if no context is provided, change: " + command
		}
		if path = bare(path); file != "" && file != path {
			return "", "Changes should be made to one file at a time, detected changes to " + file + " and " +
				path
		}
		file = path
	}
	for file != "/" && file != "." && !m.isFile(file) {
		file = filepath.Dir(file)
	}
	if file == "/" || file == "." {
		return "", ""
	}
	return file, ""
}
