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

// rotateMaster replaces the master's key, after asking. A running master notices the new key by
// itself.
func (k *keyRun) rotateMaster(ctx context.Context) error {
	days := 0.0
	if k.o.RotateMasterKey != "yes" {
		var err error
		if days, err = strconv.ParseFloat(k.o.RotateMasterKey, 64); err != nil || days == 0 {
			return k.o.fail("option --rotate-master-key: invalid number of days: %q",
				k.o.RotateMasterKey)
		}
	}
	if _, err := keyring.HandoverLife(days); err != nil {
		return k.o.fail("option --rotate-master-key: %v", err)
	}
	k.printf("The master is going to get a new key. Minions of Brine follow it.\n")
	if !data.Truth(k.opts.Value("master_sign_pubkey")) {
		k.printf("Minions of Salt will refuse it, until minion_master.pub is removed there: master_sign_pubkey is off.\n")
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
		return errors.New("no master key exists in " + k.ring.Tree().Path() +
			": the master creates it at its start")
	case err != nil:
		k.failed = true
		return k.deniedTree(err)
	}
	return k.display(done)
}

// deniedTree replaces the error for a pki_dir that is not writable by Salt's text.
func (k *keyRun) deniedTree(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return k.denied(err, k.ring.Tree().Path())
	}
	return err
}
