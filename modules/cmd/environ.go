package cmd

import (
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// daemonOnly are the variables that a service manager sets for the daemon alone. With them a
// program could send notifications in its name, take its sockets or find its credentials, so
// programs do not inherit them. Salt withholds only NOTIFY_SOCKET.
const daemonOnly = "NOTIFY_SOCKET WATCHDOG_USEC WATCHDOG_PID LISTEN_FDS LISTEN_PID LISTEN_FDNAMES CREDENTIALS_DIRECTORY"

// categories are the locale variables that are set to C, as callers parse English output.
const categories = "LC_CTYPE LC_NUMERIC LC_TIME LC_COLLATE LC_MONETARY LC_MESSAGES LC_PAPER LC_NAME LC_ADDRESS LC_TELEPHONE " +
	"LC_MEASUREMENT LC_IDENTIFICATION LANGUAGE"

// environs builds the environments of programs.
type environs struct {
	env     *loader.Env
	inherit func() []string // returns the environment of the daemon
}

// ownEnvironment reads the parameter env into the job.
func (m environs) ownEnvironment(_ context.Context, j *job) error {
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

// repack returns the dictionary for a dictionary or a list of dictionaries with one entry each, and
// an empty one for other values. The log does not show the content of a bad list, as it may be
// secret.
func (m environs) repack(v any) *data.Map {
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
func (m environs) environment(_ context.Context, j *job) error {
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

// inherited returns the environment of the daemon without daemonOnly.
func (m environs) inherited() *data.Map {
	env := &data.Map{}
	for _, pair := range m.inherit() {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" &&
			!isOneOf(name, daemonOnly) {
			env.Set(name, value)
		}
	}
	return env
}

// pairs returns an environment in the form for package exec; never nil.
func pairs(env *data.Map) []string {
	list := []string{}
	for k, v := range env.All() {
		list = append(list, k.(string)+"="+v.(string))
	}
	return list
}
