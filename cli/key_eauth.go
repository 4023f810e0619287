package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
	"github.com/brineproject/brine/transport"
)

// keyRemote is a run of salt-key through the master, for a user of external_auth (salt/key.py,
// KeyCLI with eauth).
type keyRemote struct {
	k     *keyRun
	out   transport.Requester
	login *data.Map
}

// errOnlyHere is returned for actions on files of the user, which the master cannot perform.
var errOnlyHere = errors.New("not available through the master; run salt-key without --eauth, as the user of the master")

// remote performs the action of the command line through the master.
func (k *keyRun) remote(ctx context.Context) error {
	o := k.o
	if o.GenKeys != "" || o.GenSignature || o.RotateMasterKey != "" {
		k.failed = true
		return errOnlyHere
	}
	printer, err := o.NewPrinter(k.opts, "", k.stdout, k.stderr)
	if err != nil {
		return err
	}
	if k.in.Stdin == nil {
		k.in.Stdin = strings.NewReader("")
	}
	host := HostProgram{In: k.in, Opts: k.opts, Out: printer}
	r := &keyRemote{k: k}
	if r.out, err = host.Requester(); err != nil {
		return err
	}
	defer r.out.Close()
	if r.login, err = host.LogIn(ctx, o.EAuth, o.MakeToken); err != nil {
		k.failed = true
		return err
	}
	if err = r.run(ctx); err != nil {
		k.failed = true
	}
	return err
}

func (r *keyRemote) run(ctx context.Context) error {
	o := r.k.o
	switch {
	case o.List != "":
		return r.show(ctx, "key.list", o.List)
	case o.ListAll:
		return r.show(ctx, "key.list", "all")
	case o.Print != "", o.PrintAll:
		return r.show(ctx, "key.print", globOr(o.Print))
	case o.Accept != "", o.AcceptAll:
		return r.change(ctx, accepting(o),
			"key.accept_dict", data.NewMap("include_rejected", true, "include_denied", true))
	case o.Reject != "", o.RejectAll:
		return r.change(ctx, rejecting(o),
			"key.reject_dict", data.NewMap("include_accepted", true, "include_denied", true))
	case o.Delete != "", o.DeleteAll:
		return r.change(ctx, deleting(o), "key.delete_dict", nil)
	case o.Finger != "", o.FingerAll:
		return r.show(ctx, "key.finger", globOr(o.Finger))
	}
	return r.show(ctx, "key.list", "all")
}

// wheelPatience is the timeout of one request to the master.
const wheelPatience = 15 * time.Second

// call calls a wheel function on the master.
func (r *keyRemote) call(ctx context.Context, fun string, arg any, kwargs *data.Map) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, wheelPatience)
	defer cancel()
	job, err := client.Wheel(ctx, r.out, r.login, fun, []any{arg}, kwargs)
	if err != nil {
		return nil, err
	}
	if job.Value("success") != true {
		return nil, errors.New(data.Str(job.Value("return")))
	}
	return job.Value("return"), nil
}

// show prints the keys that a wheel function returns. The master's own keys are printed only with
// fingerprints.
func (r *keyRemote) show(ctx context.Context, fun, match string) error {
	v, err := r.call(ctx, fun, match, nil)
	if err != nil {
		return err
	}
	if m, ok := v.(*data.Map); ok {
		if fun != "key.finger" {
			m.Delete("local")
		}
		return r.k.display(m)
	}
	return r.k.display(data.NewMap("return", v))
}

// change asks for confirmation and changes the keys shown. It works on keys of all states, because
// the keys are chosen here.
func (r *keyRemote) change(ctx context.Context, c keyChange, fun string, kwargs *data.Map) error {
	v, err := r.call(ctx, "key.name_match", c.globs, nil)
	if err != nil {
		return err
	}
	found, _ := v.(*data.Map)
	chosen := c.choose(shelvesIn(found))
	if len(chosen) == 0 {
		r.k.printf("The key glob '%s' does not match any %s keys.\n", c.globs, c.states())
		return nil
	}
	r.k.printf("The following keys are going to be %s:\n", c.done)
	if err := r.k.display(keyring.Shown(chosen)); err != nil {
		return err
	}
	if yes, err := r.k.confirm(ctx, c); err != nil || !yes {
		return err
	}
	if _, err := r.call(ctx, fun, keyring.Shown(chosen), kwargs); err != nil {
		return err
	}
	for _, s := range chosen {
		for _, id := range s.IDs {
			r.k.printf("Key for minion %s %s.\n", id, c.done)
		}
	}
	return nil
}

// shelvesIn parses the result of key.name_match.
func shelvesIn(found *data.Map) []keyring.Shelf {
	var all []keyring.Shelf
	for folder, list := range found.All() {
		i := slices.IndexFunc(keyring.States(), func(s pki.State) bool { return s.Dir() == folder })
		ids, _ := list.([]any)
		if i < 0 || len(ids) == 0 {
			continue
		}
		shelf := keyring.Shelf{State: keyring.States()[i]}
		for _, id := range ids {
			shelf.IDs = append(shelf.IDs, data.Str(id))
		}
		all = append(all, shelf)
	}
	return all
}
