// Package logrotate is Salt's module logrotate: settings in the configuration of the program logrotate
// (salt/modules/logrotate.py).
//
// Differences from Salt: logrotate.set changes one line, and keeps comments and the lines of scripts,
// whereas Salt writes the whole block anew; a configuration without included files can be changed;
// a line with include may name a file.
package logrotate

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module logrotate.
func Plugin() loader.Plugin { return loader.Plugin{Name: "logrotate", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get", m.get),
		loader.F("set", m.set).Def("set_"),
		loader.F("show_conf", m.showConf),
	}}, nil
}

// defaultConf is the file that a caller names no other than.
const defaultConf = "/etc/logrotate.conf"

// path returns the path of a configuration; the default one is that of the system.
func (m *module) path(file string) string {
	if file == defaultConf {
		return filepath.Join("/", m.env.Root, file)
	}
	return file
}

// A conf is a configuration with the files that it includes.
type conf struct {
	settings *data.Map
	includes *data.Map         // keys by the name of their file
	from     map[string]string // files by key, only for those included
	reading  []string          // the files that are being read, to find circles
}

// read reads a configuration.
func (m *module) read(file string) (*conf, error) {
	c := &conf{settings: &data.Map{}, includes: &data.Map{}, from: map[string]string{}}
	if err := c.read(m.path(file)); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *conf) read(file string) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return loader.OSError(err)
	}
	c.reading = append(c.reading, file)
	return c.parse(string(src))
}

// A part is what a line of a configuration is.
type part int

const (
	nothing part = iota // an empty line, or a comment
	opening             // the start of a block
	closing             // its end
	script              // a line of a script with its end
	setting
)

// A reader tells what the lines of a configuration are. Braces in scripts are the shell's.
type reader struct {
	words    []string // those of the line
	names    []string // the names of the block
	before   []string // the setting before the line, which names a block whose brace has its own line
	inside   bool     // in a block
	inScript bool
}

// next reads a line.
func (r *reader) next(line string) part {
	r.words = strings.Fields(line)
	if len(r.words) == 0 || strings.HasPrefix(r.words[0], "#") {
		return nothing
	}
	if r.inScript {
		r.inScript = r.words[0] != "endscript"
		return script
	}
	brace := slices.IndexFunc(r.words, func(word string) bool { return strings.HasSuffix(word, "{") })
	switch {
	case brace >= 0 && slices.Contains(r.words[brace:], "}"): // a block in one line, which has no names
		r.names, r.before, r.inside = nil, nil, false
		return nothing
	case brace >= 0:
		r.names = slices.Clone(r.words[:brace])
		if name := strings.TrimSuffix(r.words[brace], "{"); name != "" {
			r.names = append(r.names, name)
		}
		if len(r.names) == 0 {
			r.names = r.before
		}
		r.inside = true
		return opening
	case len(r.words) == 1 && r.words[0] == "}":
		r.before, r.inside = nil, false
		return closing
	}
	r.before, r.inScript = r.words, slices.Contains(scripts(), r.words[0])
	return setting
}

// parse reads the lines of a file. A block sets its names to a dictionary. As in Salt, the lines of a
// script are settings too, but they replace no setting of the block.
func (c *conf) parse(text string) error {
	block, own := c.settings, map[string]bool{}
	var r reader
	for line := range strings.SplitSeq(text, "\n") {
		switch kind := r.next(line); kind {
		case opening:
			block, own = &data.Map{}, map[string]bool{}
		case closing:
			for _, name := range r.names {
				c.settings.Set(name, block)
			}
			r.names, block, own = nil, c.settings, map[string]bool{}
		case setting:
			if r.words[0] == "include" && len(r.words) > 1 {
				if err := c.include(r.words[1]); err != nil {
					return err
				}
			}
			own[r.words[0]] = true
			block.Set(r.words[0], value(r.words[1:]))
		case script:
			if !own[r.words[0]] {
				block.Set(r.words[0], value(r.words[1:]))
			}
		}
	}
	return nil
}

// value returns the value of a setting: True without a word, a number or a text.
func value(words []string) any {
	switch len(words) {
	case 0:
		return true
	case 1:
		if n, err := loader.Int(words[0]); err == nil {
			return n
		}
		return words[0]
	}
	return strings.Join(words, " ")
}

// include reads the files of a directory, or one file.
func (c *conf) include(path string) error {
	files := []string{path}
	if entries, err := os.ReadDir(path); err == nil {
		files = nil
		for _, entry := range entries {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	c.settings.Set("include files", c.includes)
	for _, file := range files {
		if slices.Contains(c.reading, file) {
			return loader.Execution("%s includes itself", file)
		}
		inner := &conf{settings: &data.Map{}, includes: &data.Map{}, from: map[string]string{},
			reading: c.reading}
		if err := inner.read(file); err != nil {
			return err
		}
		keys := data.ListOf(c.includes.Value(filepath.Base(file)))
		for key, v := range inner.settings.All() {
			name := data.Str(key)
			keys = append(keys, key)
			c.settings.Set(key, v)
			if c.from[name] = inner.from[name]; c.from[name] == "" {
				c.from[name] = file
			}
		}
		c.includes.Set(filepath.Base(file), append([]any{}, keys...))
		c.settings.Set("include files", c.includes)
	}
	return nil
}

type confArgs struct {
	ConfFile string `name:"conf_file" default:"'/etc/logrotate.conf'"`
}

// showConf returns the configuration with that of the included files. A block is a dictionary below
// each of its names; include files has the keys of each included file.
//
// CLI Example:
//
//	salt '*' logrotate.show_conf
//	salt '*' logrotate.show_conf /etc/logrotate.conf
func (m *module) showConf(_ context.Context, a confArgs) (any, error) {
	c, err := m.read(a.ConfFile)
	if err != nil {
		return nil, err
	}
	return c.settings, nil
}

type getArgs struct {
	Key      any
	Value    any    `default:"None"`
	ConfFile string `name:"conf_file" default:"'/etc/logrotate.conf'"`
}

// get returns a setting, or with value the setting of this name in a block. Without one it returns
// False.
//
// CLI Example:
//
//	salt '*' logrotate.get rotate
//	salt '*' logrotate.get /var/log/wtmp rotate /etc/logrotate.conf
func (m *module) get(_ context.Context, a getArgs) (any, error) {
	c, err := m.read(a.ConfFile)
	if err != nil {
		return nil, err
	}
	return c.value(a.Key, a.Value)
}

func (c *conf) value(key, name any) (any, error) {
	v, ok := c.settings.Get(key)
	switch {
	case !ok:
		return false, nil
	case !data.Truth(name) || !data.Truth(v):
		return v, nil
	}
	block, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Exception("AttributeError", "'%s' object has no attribute 'get'",
			loader.TypeName(v))
	}
	if v, ok = block.Get(name); !ok {
		return false, nil
	}
	return v, nil
}

type setArgs struct {
	Key      any
	Value    any
	Setting  any    `default:"None"`
	ConfFile string `name:"conf_file" default:"'/etc/logrotate.conf'"`
}

// set changes a setting in the file that has it, or adds it. It returns whether a file was changed, and
// True if the setting is right.
//
// value
//
//	The value: True for a setting without one, False to remove it. With setting: the setting in the
//	block key.
//
// setting
//
//	The value of the setting in the block.
//
// CLI Example:
//
//	salt '*' logrotate.set rotate 2
//	salt '*' logrotate.set /var/log/wtmp rotate 2
func (m *module) set(_ context.Context, a setArgs) (any, error) {
	c, err := m.read(a.ConfFile)
	if err != nil {
		return nil, err
	}
	key, wanted := data.Str(a.Key), a.Value
	file := m.path(a.ConfFile)
	if from, ok := c.from[key]; ok {
		file = from
	}
	now, there := c.settings.Get(a.Key)
	block, isBlock := now.(*data.Map)
	edit := func(text string) string { return edited(text, key, wanted) }
	if a.Setting == nil {
		if isBlock {
			return nil, loader.Invocation("Error: %s includes a dict, and a specific setting inside the dict "+
				"was not declared", key)
		}
	} else {
		if there && data.Truth(now) && !isBlock {
			return nil, loader.Invocation("Error: A setting for a dict was declared, but the configuration line " +
				"given is not a dict")
		}
		name := data.Str(a.Value)
		now, there, wanted = block.Value(a.Value), block.Has(a.Value), a.Setting
		edit = func(text string) string { return editedBlock(text, key, name, wanted) }
	}
	if !there {
		now = false
	}
	if data.Equal(now, wanted) {
		return true, nil
	}
	if strings.ContainsAny(key+data.Str(a.Value)+data.Str(a.Setting), "\n\r\x00{}") {
		return nil, loader.Execution("the setting %s has a brace or more than one line", data.Repr(key))
	}
	return rewrite(file, edit)
}

// rewrite edits a file, and returns whether it was changed.
func rewrite(file string, edit func(string) string) (bool, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return false, loader.OSError(err)
	}
	text := edit(string(src))
	if text == string(src) {
		return false, nil
	}
	if err := atomicfile.Write(file, []byte(text), atomicfile.Options{Follow: true, Keep: true}); err != nil {
		return false, loader.OSError(err)
	}
	return true, nil
}

// line returns the line of a setting, and false for a value that removes it.
func line(name string, v any) (string, bool) {
	switch {
	case v == true:
		return name, true
	case !data.Truth(v):
		return "", false
	}
	return name + " " + data.Str(v), true
}

// edited returns a configuration with a setting outside of blocks. A new one becomes the first line.
func edited(text, key string, v any) string {
	wanted, keep := line(key, v)
	lines, found := strings.SplitAfter(text, "\n"), false
	var r reader
	for i, l := range lines {
		if r.next(l) == setting && !r.inside && r.words[0] == key {
			lines[i], found = "", true
			if keep {
				lines[i] = wanted + "\n"
			}
		}
	}
	if !found && keep {
		lines = append([]string{wanted + "\n"}, lines...)
	}
	return strings.Join(lines, "")
}

// editedBlock returns a configuration with a setting in the block of a name. A new block becomes the
// last.
func editedBlock(text, key, name string, v any) string {
	wanted, keep := line(name, v)
	if wanted != "" {
		wanted = "    " + wanted + "\n"
	}
	lines, found := strings.SplitAfter(text, "\n"), false
	var r reader
	for i, l := range lines {
		kind := r.next(l)
		switch here := slices.Contains(r.names, key); {
		case kind == closing && here:
			if !found && keep {
				lines[i] = wanted + l
			}
			return strings.Join(lines, "")
		case kind == setting && here && r.inside && r.words[0] == name:
			lines[i], found = wanted, true
		}
	}
	if !keep {
		return text
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + key + " {\n" + wanted + "}\n"
}

// scripts returns the settings that a script follows.
func scripts() []string {
	return []string{"prerotate", "postrotate", "firstaction", "lastaction", "preremove"}
}
