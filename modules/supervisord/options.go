package supervisord

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/serializers"
)

type optionsArgs struct {
	Name     string
	ConfFile any `default:"None"`
}

// options returns the options of a process in the configuration, numbers and truth values as such.
// Without conf_file it reads /etc/supervisor/supervisord.conf or /etc/supervisord.conf.
//
// CLI Example:
//
//	salt '*' supervisord.options foo
func (m *module) options(_ context.Context, a optionsArgs) (any, error) {
	text, err := m.configuration(a.ConfFile)
	if err != nil {
		return nil, err
	}
	section, err := program(text, "program:"+a.Name)
	if err != nil {
		return nil, err
	}
	if section == nil {
		return nil, loader.Execution("Process '%s' not found", a.Name)
	}
	found := &data.Map{}
	for key, v := range section.All() {
		value, _, _ := strings.Cut(data.Str(v), ";")
		found.Set(key, typed(strings.TrimSpace(value)))
	}
	return found, nil
}

// configuration returns the text of the configuration, "" for a file that does not exist.
func (m *module) configuration(file any) (string, error) {
	path := data.Str(file)
	if file == nil {
		path = ""
		for _, usual := range []string{"/etc/supervisor/supervisord.conf", "/etc/supervisord.conf"} {
			usual = filepath.Join("/", m.env.Root, usual)
			if _, err := os.Stat(usual); err == nil {
				path = usual
				break
			}
		}
		if path == "" {
			return "", loader.Execution("No suitable config file found")
		}
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", loader.Execution("Unable to read from %s: %w", path, err)
	}
	return string(text), nil
}

// program returns the options of a section, nil if there is none. Only this section's references
// to other options are resolved, as others may be for the daemon.
func program(text, name string) (*data.Map, error) {
	const format = "configparser"
	plain := data.NewMap("interpolation", nil)
	v, err := serializers.Read(format, text, plain)
	if err != nil {
		return nil, err
	}
	all, _ := v.(*data.Map)
	own, _ := all.Value(name).(*data.Map)
	if own == nil {
		return nil, nil
	}
	alone, err := serializers.Write(format, data.NewMap(name, own), plain)
	if err != nil {
		return nil, err
	}
	if v, err = serializers.Read(format, alone, nil); err != nil {
		if strings.HasPrefix(err.Error(), "Bad value substitution") {
			err = loader.Exception("configparser.InterpolationMissingOptionError", "%w", err)
		}
		return nil, err
	}
	all, _ = v.(*data.Map)
	own, _ = all.Value(name).(*data.Map)
	return own, nil
}

// typed returns the number or truth value that a text is, or the text.
func typed(text string) any {
	digits := text
	if !strings.Contains("_"+text+"_", "__") {
		digits = strings.ReplaceAll(text, "_", "")
	}
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(digits, 64); err == nil && !strings.ContainsAny(digits, "xXpP") {
		return f
	}
	switch strings.ToLower(text) {
	case "true":
		return true
	case "false":
		return false
	}
	return text
}
