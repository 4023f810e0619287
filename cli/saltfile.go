package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/yaml"
)

// maxFile is the limit of a Saltfile, a saltrc and a token, in bytes.
const maxFile = 1 << 20

// readSaltfile sets the program's options in the Saltfile that the command line does not set
// (SaltfileMixIn of salt/utils/parsers.py).
func (l *Line) readSaltfile() error {
	path := l.findSaltfile()
	if path == "" {
		return nil
	}
	if !paths.IsFile(l.in.path(path)) {
		return l.fail("'%s' file does not exist.\n", path)
	}
	path = l.in.path(path)
	l.values.Set("saltfile", path)
	all, err := readConfigFile(path)
	if err != nil {
		return l.fail("%s", err)
	}
	own, _ := all.Value(l.program.name).(*data.Map)
	for _, o := range l.program.options() {
		if v, ok := own.Get(o.dest); ok && o.dest != "" && !l.given[o.dest] {
			l.set(o.dest, v)
		}
	}
	return nil
}

// findSaltfile returns the given path, or that of a file in a default place; "" if there is none.
func (l *Line) findSaltfile() string {
	if path, ok := l.values.Value("saltfile").(string); ok {
		return path
	}
	if path := l.in.Env("SALT_SALTFILE"); path != "" {
		return path
	}
	for _, dir := range []string{l.in.Dir, filepath.Join(l.in.home(), ".salt")} {
		if path := filepath.Join(dir, "Saltfile"); dir != "" && paths.IsFile(path) {
			return path
		}
	}
	return ""
}

// path makes a path absolute without expanding ~.
func (in Invocation) path(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(in.Dir, path)
}

// readConfigFile reads a YAML file that holds a map; an empty one is an empty map. Its error texts
// are Salt's (_read_conf_file of salt/config/__init__.py).
func readConfigFile(path string) (*data.Map, error) {
	src, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	v, err := yaml.Load(src, yaml.Options{})
	if err != nil {
		// Salt's text
		return nil, fmt.Errorf("Error parsing configuration file: %s - %w", path, err)
	}
	if !data.Truth(v) {
		return &data.Map{}, nil
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("Error parsing configuration file: %s - conf should be a document, not %s.", //nolint:staticcheck // Salt's text
			path, typeName(v))
	}
	return m, nil
}

// typeName returns Python's name for the type of a YAML value.
func typeName(v any) string {
	switch v.(type) {
	case string:
		return "<class 'str'>"
	case bool:
		return "<class 'bool'>"
	case float64:
		return "<class 'float'>"
	case []any:
		return "<class 'list'>"
	}
	return "<class 'int'>"
}

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(src) > maxFile {
		err = fmt.Errorf("read %s: more than %d bytes", path, maxFile)
	}
	return src, err
}

// ReadClientConfig adds client options to the options of a master: the user's saltrc
// (SALT_CLIENT_CONFIG, else ~/.config/salt/saltrc if that directory exists, else ~/.saltrc), and
// the path of the token file as token_file. It adds the token in that file as token, unless it is
// older than token_expire seconds. It follows client_config of salt/config/__init__.py.
func ReadClientConfig(opts *data.Map, in Invocation, now time.Time) error {
	dir, rc := in.home(), ".saltrc"
	if xdg := in.xdgDir(); paths.IsDir(xdg) {
		dir, rc = xdg, "saltrc"
	}
	if !opts.Has("token_file") {
		opts.Set("token_file", filepath.Join(dir, "salt_token"))
	}
	path := filepath.Join(dir, rc)
	if env := in.Env("SALT_CLIENT_CONFIG"); env != "" && paths.IsFile(env) {
		path = env
	}
	if paths.IsFile(path) {
		own, err := readConfigFile(path)
		if err != nil {
			return err
		}
		opts.Update(own)
		opts.Set("conf_file", path)
	}
	loopback(opts)
	return readToken(opts, in, now)
}

func (in Invocation) xdgDir() string {
	if dir := in.Env("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "salt")
	}
	return filepath.Join(in.home(), ".config", "salt")
}

// loopback replaces a wildcard listen address of a master by one that reaches it.
func loopback(opts *data.Map) {
	switch opts.Value("interface") {
	case "0.0.0.0":
		opts.Set("interface", "127.0.0.1")
	case "::":
		opts.Set("interface", "::1")
	}
}

func readToken(opts *data.Map, in Invocation, now time.Time) error {
	path := in.abs(data.Str(opts.Value("token_file")))
	opts.Set("token_file", path)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // a missing token is no error
	}
	expire := 43200.0
	if opts.Has("token_expire") {
		expire = floatOf(opts.Value("token_expire"))
	}
	if now.Sub(info.ModTime()).Seconds() >= expire {
		return nil
	}
	token, err := readBounded(path)
	if err != nil {
		return fmt.Errorf("read token: %w", err)
	}
	opts.Set("token", strings.TrimSpace(string(token)))
	return nil
}
