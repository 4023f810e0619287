// Package ssh is Salt's states ssh_auth, for the keys that users may log in with, and
// ssh_known_hosts, for the host keys that users trust (salt/states/ssh_auth.py,
// ssh_known_hosts.py). The module ssh reads, fetches and writes them.
package ssh

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state/change"
)

// Auth returns the state ssh_auth.
//
// Differences from Salt: all keys of a source are reported, and the comment has the most important
// outcome. The keys of a source keep their options. manage removes keys from the file given by
// config.
func Auth() loader.Plugin {
	return loader.Plugin{Name: "ssh_auth", New: func(env *loader.Env) (*loader.Module, error) {
		m := &module{env}
		return &loader.Module{Funcs: []loader.Func{
			loader.F("absent", m.absentKey),
			loader.F("manage", m.manageKeys),
			loader.F("present", m.presentKey),
		}}, nil
	}}
}

// A module is shared by all states of the package.
type module struct{ env *loader.Env }

// A login holds the arguments of functions about a login key.
type login struct {
	Enc                 any `default:"'ssh-rsa'"`
	Comment             any `default:"''"`
	Source              any `default:"''"`
	Options             any `default:"None"`
	Config              any `default:"'.ssh/authorized_keys'"`
	FingerprintHashType any `default:"None"`
}

type keyArgs struct {
	Name string
	User string
	login
}

type presentKeyArgs struct {
	keyArgs
	Kwargs *data.Map `kwargs:"kwargs"`
}

var fullKey = regexp.MustCompile(`^(.*?)\s?((?:sk-)?(?:ssh-|ecds)[\w@.-]+\s.+)$`)

// split splits options, type and comment from a name that contains them.
func (a keyArgs) split() keyArgs {
	found := fullKey.FindStringSubmatch(a.Name)
	rest := a.Name
	if found != nil {
		if found[1] != "" {
			var options []any
			for option := range strings.SplitSeq(found[1], ",") {
				options = append(options, option)
			}
			a.Options = options
		}
		enc, after, _ := strings.Cut(strings.TrimSpace(found[2]), " ")
		a.Enc, rest = enc, after
	}
	name, comment, commented := strings.Cut(strings.TrimSpace(rest), " ")
	a.Name = name
	if commented {
		a.Comment = strings.TrimSpace(comment)
	}
	return a
}

// words returns the arguments of module functions for one key.
func (a keyArgs) words() *data.Map {
	options := a.Options
	if options == nil {
		options = []any{}
	}
	return data.NewMap("user", a.User, "key", a.Name, "enc", a.Enc, "comment", a.Comment,
		"options", options, "config", a.Config, "fingerprint_hash_type", a.FingerprintHashType)
}

// fromSource returns the arguments of module functions for a source.
func (a keyArgs) fromSource(ctx context.Context) *data.Map {
	return data.NewMap("user", a.User, "source", a.Source, "config", a.Config,
		"saltenv", change.CallOf(ctx).SaltEnv, "fingerprint_hash_type", a.FingerprintHashType)
}

// presentKey allows a user to log in with a key.
//
// name
//
//	The key. Options and type may precede it, a comment may follow.
//
// user
//
//	The user who may log in.
//
// enc
//
//	The type of the key, such as ed25519.
//
// source
//
//	A file of keys. The name is not a key then.
//
// options
//
//	A list of options for the key.
//
// config
//
//	The file, relative to the home directory. %u and %h stand for the user and the home directory.
//
//	AAAAB3NzaC1kc3MAAACBAL0sQ9fJ5bYTEyY==:
//	  ssh_auth.present:
//	    - user: root
//	    - enc: ssh-dss
func (m *module) presentKey(ctx context.Context, a presentKeyArgs) (any, error) {
	return m.allow(ctx, a.keyArgs)
}

func (m *module) allow(ctx context.Context, a keyArgs) (any, error) {
	name := a.Name
	if !data.Truth(a.Source) {
		a = a.split()
	}
	if change.Test(ctx) {
		return m.tested(ctx, a, name, true)
	}
	fun, words := "ssh.set_auth_key", a.words()
	if data.Truth(a.Source) {
		path, err := calls.CacheFile(ctx, m.env, calls.Source{
			Path: a.Source, SaltEnv: change.CallOf(ctx).SaltEnv,
		})
		if err != nil || path == "" {
			return change.Failed(name, fmt.Sprintf("Failed to add the ssh key. Source file %s is missing", data.Str(a.Source))), nil //nolint:nilerr // Salt's text
		}
		fun, words = "ssh.set_auth_key_from_file", a.fromSource(ctx)
	}
	done, err := m.env.Call(ctx, fun, nil, words)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("The authorized host key %s for user %s", a.Name, a.User)
	switch done {
	case "replace":
		return change.New(name, true, data.NewMap(a.Name, "Updated"), what+" was updated"), nil
	case "new":
		return change.New(name, true, data.NewMap(a.Name, "New"), what+" was added"), nil
	case "no change":
		return change.Unchanged(name, fmt.Sprintf("The authorized host key %s is already present for user %s", a.Name, a.User)), nil
	case "invalid", "Invalid public key":
		return change.Failed(name, "Invalid public ssh key, most likely has spaces or invalid syntax"), nil
	}
	if message := complaint(ctx); message != "" {
		return change.Failed(name, message), nil
	}
	return change.Failed(name, "Failed to add the ssh key. Is the home directory available, and/or does the key file exist?"), nil
}

// complaint returns the module's error message for a source without keys.
func complaint(ctx context.Context) string {
	c := loader.ContextOf(ctx)
	v, ok := c.Get("ssh_auth.error")
	if !ok {
		return ""
	}
	c.Delete("ssh_auth.error")
	return data.Str(v)
}

// tested returns the test mode result of present or absent.
func (m *module) tested(ctx context.Context, a keyArgs, name string, present bool) (any, error) {
	if data.Truth(a.Source) {
		return m.testedSource(ctx, a, name, present)
	}
	status, err := loader.CallAs[string](ctx, m.env, "ssh.check_key", nil, a.words())
	if err != nil {
		return nil, err
	}
	switch {
	case present && status == "update", present && status == "add":
		word := map[string]string{"update": "updated", "add": "added"}[status]
		return change.Would(name, nil,
			fmt.Sprintf("Key %s for user %s is set to be %s", a.Name, a.User, word)), nil
	case present:
		return change.Unchanged(name, fmt.Sprintf("The authorized host key %s is already present for user %s", a.Name, a.User)), nil
	case status == "add":
		return change.Unchanged(name, "Key is already absent"), nil
	}
	return change.Would(name, nil,
		fmt.Sprintf("Key %s for user %s is set for removal", a.Name, a.User)), nil
}

func (m *module) testedSource(
	ctx context.Context, a keyArgs, name string, present bool,
) (any, error) {
	keys, err := calls.Found[*data.Map](ctx, m.env, "ssh.check_key_file", nil, a.fromSource(ctx))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for key, status := range keys.All() {
		switch {
		case present && status != "exists":
			fmt.Fprintf(&b, "Set to %s: %s\n", data.Str(status), data.Str(key))
		case !present && status != "add":
			fmt.Fprintf(&b, "Set to remove: %s\n", data.Str(key))
		}
	}
	message := complaint(ctx)
	switch {
	case b.Len() > 0:
		return change.Would(name, nil, b.String()), nil
	case message != "":
		return change.Failed(name, message), nil
	case present:
		return change.Unchanged(name, fmt.Sprintf("All host keys in file %s are already present",
			data.Str(a.Source))), nil
	}
	return change.Unchanged(name, fmt.Sprintf("All host keys in file %s are already absent",
		data.Str(a.Source))), nil
}

// absentKey removes a key that a user may log in with.
//
// source
//
//	A file of keys. The name is not a key then.
//
//	AAAAB3NzaC1kc3MAAACBAL0sQ9fJ5bYTEyY==:
//	  ssh_auth.absent:
//	    - user: root
func (m *module) absentKey(ctx context.Context, a keyArgs) (any, error) {
	name := a.Name
	fun := "ssh.rm_auth_key_from_file"
	words := a.fromSource(ctx)
	if !data.Truth(a.Source) {
		a, fun = a.split(), "ssh.rm_auth_key"
		words = data.NewMap("user", a.User, "key", a.Name, "config", a.Config,
			"fingerprint_hash_type", a.FingerprintHashType)
	}
	if change.Test(ctx) {
		return m.tested(ctx, a, name, false)
	}
	message, err := m.env.Call(ctx, fun, nil, words)
	switch {
	case err != nil:
		return nil, err
	case message == "fail":
		return change.Failed(name, complaint(ctx)), nil
	case message == "Key removed":
		return change.New(name, true, data.NewMap(a.Name, "Removed"), message), nil
	}
	return change.New(name, message != "Key not removed", nil, message), nil
}

type manageKeysArgs struct {
	Name    string
	SSHKeys []any `name:"ssh_keys"`
	User    string
	login
	Kwargs *data.Map `kwargs:"kwargs"`
}

// manageKeys sets the complete list of keys that a user may log in with.
//
// ssh_keys
//
//	The keys, in the form of the name of ssh_auth.present.
//
//	keys of root:
//	  ssh_auth.manage:
//	    - user: root
//	    - enc: ed25519
//	    - ssh_keys:
//	      - AAAAB3NzaC1kc3MAAACBAL0sQ9fJ5bYTEyY==
func (m *module) manageKeys(ctx context.Context, a manageKeysArgs) (any, error) {
	there, err := calls.Found[*data.Map](ctx, m.env, "ssh.auth_keys", nil,
		data.NewMap("user", a.User, "config", a.Config))
	if err != nil {
		return nil, err
	}
	var wanted, comments []string
	for _, k := range a.SSHKeys {
		wanted = append(wanted, strings.Fields(data.Str(k))...)
	}
	ret := change.New("", true, nil, "") // in Salt the name is empty
	changes := ret.Value("changes").(*data.Map)
	for key := range there.All() {
		switch {
		case slices.Contains(wanted, data.Str(key)):
		case change.Test(ctx):
			comments = append(comments, data.Str(key)+" Key set for removal")
			ret.Set("result", nil)
		default:
			gone, err := m.absentKey(ctx, keyArgs{data.Str(key), a.User, login{Config: a.Config}})
			if err != nil {
				return nil, err
			}
			changes.Set(key, gone.(*data.Map).Value("comment"))
		}
	}
	for _, k := range a.SSHKeys {
		v, err := m.allow(ctx, keyArgs{data.Str(k), a.User, a.login})
		if err != nil {
			return nil, err
		}
		one := v.(*data.Map)
		if made := one.Value("changes").(*data.Map); made.Len() > 0 {
			changes.Update(made)
		} else {
			comments = append(comments, one.Text("comment"))
		}
		if result := one.Value("result"); result != true && ret.Value("result") != false {
			ret.Set("result", result)
		}
	}
	ret.Set("comment", strings.Join(comments, "\n"))
	return ret, nil
}
