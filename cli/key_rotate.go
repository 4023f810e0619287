package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

// rotateMaster gives the master a new key, after asking. A master that runs takes it up by itself.
func (k *keyRun) rotateMaster(ctx context.Context) error {
	days := 0.0
	if k.o.RotateMasterKey != "yes" {
		var err error
		if days, err = strconv.ParseFloat(k.o.RotateMasterKey, 64); err != nil || days == 0 {
			return k.o.fail("option --rotate-master-key: invalid number of days: %q", k.o.RotateMasterKey)
		}
	}
	if _, err := keyring.HandoverLife(days); err != nil {
		return k.o.fail("option --rotate-master-key: %v", err)
	}
	k.say("The master is going to get a new key. Minions of Brine follow it.\n")
	if !data.Truth(k.opts.Value("master_sign_pubkey")) {
		k.say("Minions of Salt will refuse it, until minion_master.pub is removed there: master_sign_pubkey is off.\n")
	}
	yes, err := k.confirm(ctx, keyChange{question: "Proceed? [N/y] ", preset: "n"})
	if errors.Is(err, errNoAnswer) {
		k.failed = true
		return fmt.Errorf("%w: nobody was there to say yes, and the key is as it was; -y does it without asking", err)
	}
	if err != nil || !yes {
		return err
	}
	done, err := k.ring.RotateMaster(k.opts, days, time.Now())
	switch {
	case errors.Is(err, pki.ErrNotFound):
		k.failed = true
		return errors.New("there is no key of a master in " + k.ring.Tree().Path() + ": it is made when the master starts")
	case err != nil:
		k.failed = true
		return k.deniedTree(err)
	}
	return k.display(done)
}

// deniedTree gives the error of a pki_dir that may not be written to Salt's text.
func (k *keyRun) deniedTree(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return k.denied(err, k.ring.Tree().Path())
	}
	return err
}
