package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

// A keyChange describes what -a, -r and -d do to the matching keys.
type keyChange struct {
	act, done string // as named in the event and on the terminal
	globs     string
	also      []pki.State // searched in this order besides the pending ones
	every     bool        // ignore the states
	question  string
	preset    string // the answer if the line is empty
}

func accepting(o *KeyOptions) keyChange {
	c := keyChange{act: keyring.Accept, done: "accepted", globs: globOr(o.Accept),
		question: "Proceed? [n/Y] ", preset: "y"}
	c.include(pki.Rejected, o.IncludeAll || o.IncludeRejected)
	c.include(pki.Denied, o.IncludeDenied)
	return c
}

func rejecting(o *KeyOptions) keyChange {
	c := keyChange{act: keyring.Reject, done: "rejected", globs: globOr(o.Reject),
		question: "Proceed? [n/Y] ", preset: "y"}
	c.include(pki.Accepted, o.IncludeAll || o.IncludeAccepted)
	c.include(pki.Denied, o.IncludeDenied)
	return c
}

// deleting covers all states. Those that the command line includes are only named in the message if
// nothing matches.
func deleting(o *KeyOptions) keyChange {
	c := keyChange{act: keyring.Delete, done: "deleted", globs: globOr(o.Delete), every: true,
		question: "Proceed? [N/y] ", preset: "n"}
	c.include(pki.Accepted, o.IncludeAccepted)
	c.include(pki.Rejected, o.IncludeRejected)
	c.include(pki.Denied, o.IncludeDenied)
	return c
}

func (c *keyChange) include(s pki.State, wanted bool) {
	if wanted {
		c.also = append(c.also, s)
	}
}

// choose returns the shelves that the change applies to.
func (c *keyChange) choose(found []keyring.Shelf) []keyring.Shelf {
	if c.every {
		return found
	}
	var chosen []keyring.Shelf
	for _, s := range append([]pki.State{pki.Pending}, c.also...) {
		for _, f := range found {
			if f.State == s {
				chosen = append(chosen, f)
			}
		}
	}
	return chosen
}

// states names the states in which no key matched.
func (c *keyChange) states() string {
	names := []string{pki.Pending.String()}
	for _, s := range c.also {
		names = append(names, s.String())
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// change asks for confirmation and changes the keys.
func (k *keyRun) change(ctx context.Context, c keyChange) error {
	all, err := k.ring.Managed()
	if err != nil {
		return err
	}
	chosen := c.choose(matching(all, c.globs))
	if len(chosen) == 0 {
		k.printf("The key glob '%s' does not match any %s keys.\n", c.globs, c.states())
		return nil
	}
	k.printf("The following keys are going to be %s:\n", c.done)
	if err := k.display(keyring.Shown(chosen)); err != nil {
		return err
	}
	if yes, err := k.confirm(ctx, c); err != nil || !yes {
		return err
	}
	return k.carryOut(c, chosen)
}

// confirm asks whether to go on.
func (k *keyRun) confirm(ctx context.Context, c keyChange) (bool, error) {
	if k.o.Yes {
		return true, nil
	}
	k.printf("%s", c.question)
	k.flush()
	line, err := k.answer(ctx)
	if err != nil {
		return false, err
	}
	if line == "" {
		line = c.preset
	}
	return strings.HasPrefix(strings.ToLower(line), "y"), nil
}

// maxAnswer is the limit of an answer, in bytes.
const maxAnswer = 4096

// errNoAnswer has Python's text, which scripts know.
var errNoAnswer = errors.New("EOF when reading a line")

// answer reads a line from standard input. If ctx ends first, the pending read is left running
// until the process ends, because nothing can interrupt it.
func (k *keyRun) answer(ctx context.Context) (string, error) {
	if k.in.Stdin == nil {
		return "", errNoAnswer
	}
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := bufio.NewReader(io.LimitReader(k.in.Stdin, maxAnswer)).ReadString('\n')
		read <- result{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", &interruptError{}
	case r := <-read:
		switch {
		case r.err == nil || errors.Is(r.err, io.EOF) && r.line != "":
			return strings.TrimRight(r.line, "\r\n"), nil
		case errors.Is(r.err, io.EOF):
			return "", errNoAnswer
		}
		return "", r.err
	}
}

// carryOut changes the keys, fires an event for each, and cleans up.
func (k *keyRun) carryOut(c keyChange, chosen []keyring.Shelf) error {
	changed := k.each(c, chosen)
	k.flush()
	var after error
	if c.act != keyring.Accept {
		after = k.clearUp(c, chosen)
	} else {
		after = k.ring.Replaced(chosen)
	}
	if !c.every {
		var err error
		if changed, err = k.ring.NowIn(changed); err != nil {
			return err
		}
	}
	for _, s := range changed {
		for _, id := range s.IDs {
			k.printf("Key for minion %s %s.\n", id, c.done)
		}
	}
	return after
}

// each changes keys one by one, and returns those that succeeded.
func (k *keyRun) each(c keyChange, chosen []keyring.Shelf) []keyring.Shelf {
	changes := k.ring.Change(c.act, chosen)
	for _, err := range changes.Errs {
		k.failed = true
		fmt.Fprintf(k.stderr, "Unable to %s %s\n", c.act, err) // the error names the key
	}
	for _, id := range changes.Invalid {
		k.log.Errorf("Invalid RSA public key: %s", id)
	}
	for _, id := range changes.Invalid {
		fmt.Fprintf(k.stderr, "Unable to accept invalid key for %s.\n", id)
	}
	return changes.Done
}
