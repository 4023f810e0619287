package cmd

import (
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
)

// daemonOnly are the variables that a service manager sets for the daemon and nobody else: with them a program could report in its
// name, take its sockets or find its credentials. Programs do not inherit them. Salt keeps NOTIFY_SOCKET back alone.
const daemonOnly = "NOTIFY_SOCKET WATCHDOG_USEC WATCHDOG_PID LISTEN_FDS LISTEN_PID LISTEN_FDNAMES CREDENTIALS_DIRECTORY"

// categories are the parts of the locale that are set to C, as programs are read by their English words.
const categories = "LC_CTYPE LC_NUMERIC LC_TIME LC_COLLATE LC_MONETARY LC_MESSAGES LC_PAPER LC_NAME LC_ADDRESS LC_TELEPHONE " +
	"LC_MEASUREMENT LC_IDENTIFICATION LANGUAGE"

// ownEnvironment reads the parameter env.
func (m *module) ownEnvironment(_ context.Context, j *job) error {
	j.env = &data.Map{}
	for k, v := range m.repack(j.request.env).All() {
		if v == nil {
			if j.level != quiet {
				m.env.Log.Errorf("Environment variable '%s' passed without a value. Setting value to an empty string", data.Str(k))
			}
			v = ""
		}
		j.env.Set(data.Str(k), data.Str(v))
	}
	return nil
}

// repack returns a dictionary of a dictionary or a list of dictionaries with one entry each; an empty one for all else. The log
// does not tell what is in a bad list, as it may be secret.
func (m *module) repack(v any) *data.Map {
	if env, ok := v.(*data.Map); ok {
		return env
	}
	env := &data.Map{}
	list, _ := v.([]any)
	for _, e := range list {
		switch e := e.(type) {
		case string, int, int64, float64, bool:
			env.Set(e, nil)
		case *data.Map:
			if e.Len() != 1 {
				m.env.Log.Error("Invalid input for repack_dictlist: key/value pairs must contain only one element.")
				return &data.Map{}
			}
			env.Update(e)
		default:
			m.env.Log.Error("Invalid input for repack_dictlist: element is not a string/dict/numeric value")
			return &data.Map{}
		}
	}
	return env
}

// environment completes the environment of the program.
func (m *module) environment(_ context.Context, j *job) error {
	if j.locale && runtime.GOOS != "windows" {
		for name := range strings.FieldsSeq(categories) {
			if !j.env.Has(name) {
				j.env.Set(name, "C")
			}
		}
	}
	own := j.env
	if !j.cleanEnv {
		j.env = m.inherited()
		j.env.Update(own)
	}
	if j.path != "" {
		path := j.path
		if old := j.env.Text("PATH"); old != "" {
			path += string(os.PathListSeparator) + old
		}
		j.env.Set("PATH", path)
	}
	return nil
}

// inherited returns the environment of the daemon without what is for it alone.
func (m *module) inherited() *data.Map {
	env := &data.Map{}
	for _, pair := range m.inherit() {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" && !isOneOf(name, daemonOnly) {
			env.Set(name, value)
		}
	}
	return env
}

// pairs returns an environment in the form that package exec takes; never nil.
func pairs(env *data.Map) []string {
	list := []string{}
	for k, v := range env.All() {
		list = append(list, k.(string)+"="+v.(string))
	}
	return list
}
