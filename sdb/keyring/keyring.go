// Package keyring is Salt's sdb driver keyring: passwords of the keyrings that the Python package
// keyring knows (salt/sdb/keyring_db.py).
//
//	mykeyring:
//	  driver: keyring
//	  service: system
//
// The program keyring of that package does the work, as the user of the daemon. A password goes to it
// on standard input.
package keyring

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the driver keyring. It loads only on hosts with the program keyring.
func Plugin() loader.Plugin { return loader.Plugin{Name: "keyring", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	if process.Find("keyring") == "" {
		return nil, errors.New("the program keyring is not installed")
	}
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get", m.get).SecretResult(loader.SecretAll),
		loader.F("set", m.set).Def("set_").Secret("value"),
	}}, nil
}

type getArgs struct {
	Key     string
	Service string    `default:"None"`
	Profile *data.Map `default:"None"`
}

// get returns a password.
func (m *module) get(ctx context.Context, a getArgs) (any, error) {
	ran, err := m.run(ctx, "get", a, "")
	if err != nil {
		return nil, err
	}
	if ran.Retcode == 1 && ran.Stdout == "" && !strings.Contains(ran.Stderr, "Error") {
		return nil, nil
	}
	if ran.Retcode != 0 {
		return nil, failed("read", ran)
	}
	return strings.TrimSuffix(ran.Stdout, "\n"), nil
}

type setArgs struct {
	Key     string
	Value   string
	Service string    `default:"None"`
	Profile *data.Map `default:"None"`
}

// set sets a password.
func (m *module) set(ctx context.Context, a setArgs) (any, error) {
	ran, err := m.run(ctx, "set", getArgs{a.Key, a.Service, a.Profile}, a.Value+"\n")
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 {
		return nil, failed("store", ran)
	}
	return nil, nil
}

// run runs keyring for a service and key.
func (m *module) run(ctx context.Context, verb string, a getArgs, in string) (calls.Ran, error) {
	service := a.Service
	if v, ok := a.Profile.Get("service"); ok {
		service = data.Str(v)
	}
	if service == "" {
		return calls.Ran{}, loader.Execution("sdb keyring: the profile has no service")
	}
	if err := process.PlainOperands(service, a.Key); err != nil {
		return calls.Ran{}, loader.Execution("sdb keyring: %w", err)
	}
	return calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"keyring", verb, service, a.Key},
		Stdin: in, Log: "quiet", IgnoreRetcode: true, KeepNewline: true})
}

// failed returns the error for a failure, with the last line of what keyring printed about it.
func failed(what string, ran calls.Ran) error {
	lines := strings.Split(strings.TrimSpace(ran.Stderr), "\n")
	return loader.Execution("sdb keyring: %s the password: %s", what, lines[len(lines)-1])
}
