package ssh

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// KnownHosts returns the state ssh_known_hosts.
//
// Difference from Salt: contradictory arguments are rejected in a real run as in test mode.
func KnownHosts() loader.Plugin {
	return loader.Plugin{Name: "ssh_known_hosts",
		New: func(env *loader.Env) (*loader.Module, error) {
			m := &module{env}
			return &loader.Module{Funcs: []loader.Func{
				loader.F("absent", m.absentHost),
				loader.F("present", m.presentHost),
			}}, nil
		}}
}

// place returns the file of known hosts, or an error message.
func place(user, config any) (file string, refusal string) {
	file = data.Str(config)
	if !data.Truth(config) {
		file = "/etc/ssh/ssh_known_hosts"
		if data.Truth(user) {
			file = ".ssh/known_hosts"
		}
	}
	if !data.Truth(user) && !filepath.IsAbs(file) {
		return file, `If not specifying a "user", specify an absolute "config".`
	}
	return file, ""
}

type hostArgs struct {
	Name                string
	User                any `default:"None"`
	Fingerprint         any `default:"None"`
	Key                 any `default:"None"`
	Port                any `default:"None"`
	Enc                 any `default:"None"`
	Config              any `default:"None"`
	HashKnownHosts      any `default:"True"`
	Timeout             any `default:"5"`
	FingerprintHashType any `default:"None"`
}

// presentHost adds a host to the known hosts of a user, or of all users.
//
// user
//
//	The user. Default: all users, with the file /etc/ssh/ssh_known_hosts.
//
// fingerprint
//
//	The fingerprint of a key that the host presents.
//
// key, enc
//
//	The key and its type. With these the host is not contacted.
//
// port
//
//	The port of the host. Cannot be combined with hash_known_hosts.
//
// config
//
//	The file, relative to the home directory of the user.
//
// hash_known_hosts
//
//	False: write the name of the host in plain text.
//
// timeout
//
//	How many seconds to wait for the host.
//
//	github.com:
//	  ssh_known_hosts.present:
//	    - user: root
//	    - fingerprint: 16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48
//	    - fingerprint_hash_type: md5
func (m *module) presentHost(ctx context.Context, a hostArgs) (any, error) {
	file, refusal := place(a.User, a.Config)
	switch {
	case refusal != "":
		return change.Failed(a.Name, refusal), nil
	case change.Test(ctx) && data.Truth(a.Key) && data.Truth(a.Fingerprint): // Salt applies both
		return change.Failed(a.Name, `Specify either "key" or "fingerprint", not both.`), nil
	case data.Truth(a.Key) && !data.Truth(a.Enc):
		return change.Failed(a.Name, `Required argument "enc" if using "key" argument.`), nil
	}
	words := data.NewMap("user", a.User, "hostname", a.Name, "key", a.Key,
		"fingerprint", a.Fingerprint, "config", file, "port", a.Port,
		"fingerprint_hash_type", a.FingerprintHashType)
	if change.Test(ctx) {
		return m.testedHost(ctx, a.Name, file, words)
	}
	words.Update(data.NewMap("enc", a.Enc, "hash_known_hosts", a.HashKnownHosts,
		"timeout", a.Timeout))
	done, err := loader.CallAs[*data.Map](ctx, m.env, "ssh.set_known_host", nil, words)
	switch {
	case err != nil:
		return nil, err
	case done.Value("status") == "exists":
		return change.Unchanged(a.Name, fmt.Sprintf("%s already exists in %s", a.Name, file)), nil
	case done.Value("status") != "updated":
		return change.Failed(a.Name, done.Text("error")), nil
	}
	what := "fingerprint"
	if data.Truth(a.Key) {
		what = "key"
	}
	text := ""
	if list, _ := done.Value("new").([]any); len(list) > 0 {
		first, _ := list[0].(*data.Map)
		text = data.Str(first.Value(what))
	}
	changes := change.OldNew(done.Value("old"), done.Value("new"))
	return change.New(a.Name, true, changes,
		fmt.Sprintf("%s's key saved to %s (%s: %s)", a.Name, file, what, text)), nil
}

func (m *module) testedHost(ctx context.Context, name, file string, words *data.Map) (any, error) {
	status, err := loader.CallAs[string](ctx, m.env, "ssh.check_known_host", nil, words)
	switch {
	case err != nil:
		return nil, err
	case status == "exists":
		return change.Unchanged(name, fmt.Sprintf("Host %s is already in %s", name, file)), nil
	case status == "add":
		return change.Would(name, nil,
			fmt.Sprintf("Key for %s is set to be added to %s", name, file)), nil
	}
	return change.Would(name, nil,
		fmt.Sprintf("Key for %s is set to be updated in %s", name, file)), nil
}

type absentHostArgs struct {
	Name   string
	User   any `default:"None"`
	Config any `default:"None"`
}

// absentHost removes a host from the known hosts of a user, or of all users.
//
//	github.com:
//	  ssh_known_hosts.absent:
//	    - user: root
func (m *module) absentHost(ctx context.Context, a absentHostArgs) (change.Result, error) {
	file, refusal := place(a.User, a.Config)
	if refusal != "" {
		return change.Refuse(a.Name, refusal)
	}
	words := data.NewMap("user", a.User, "hostname", a.Name, "config", file)
	comment := ""
	return change.Thing[any]{
		Name: a.Name,
		Look: func(ctx context.Context) (any, error) {
			return change.Ask[any](ctx, m.env, "ssh.get_known_host_entries", nil, words)
		},
		Wants: func(known any) *data.Map { return change.When(data.Truth(known), change.OldNew(known, nil)) },
		Apply: func(ctx context.Context, _ any) error {
			done, err := change.Ask[*data.Map](ctx, m.env, "ssh.rm_known_host", nil, words)
			if err == nil && done.Value("status") != "removed" {
				err = change.Reason(done.Text("error"))
			}
			comment = done.Text("comment")
			return err
		},
		Say: func(o change.Outcome[any]) any {
			switch o.Stage {
			case change.StageSame:
				return "Host is already absent"
			case change.StageWould:
				return fmt.Sprintf("Key for %s is set to be removed from %s", a.Name, file)
			case change.StageDone:
				return comment
			}
			return nil
		},
		Silent: true,
		Trust:  true, // the module has removed the key or reports an error
	}.Ensure(ctx)
}
