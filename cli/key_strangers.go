package cli

import (
	"fmt"
	"time"

	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

// mostStrangers are told one by one.
const mostStrangers = 20

// tellStrangers says on standard error which of the denied keys came for an id that has another key, as after a host was installed
// anew, and how to take them. Only who sits at a terminal is told: for programs all is as in Salt.
func (k *keyRun) tellStrangers(shown []keyring.Shelf) error {
	if !k.terminal || k.o.Output != "" || k.o.OutputFile != "" || k.o.Quiet {
		return nil
	}
	for _, shelf := range shown {
		if shelf.State != pki.Denied || len(shelf.IDs) == 0 {
			continue
		}
		ids := shelf.IDs[:min(len(shelf.IDs), mostStrangers)]
		strangers, err := k.ring.Strangers(ids, k.opts.Text("hash_type"))
		if err != nil {
			return err
		}
		k.flush()
		for _, s := range strangers {
			k.tellStranger(s)
		}
		if more := len(shelf.IDs) - len(ids); more > 0 {
			fmt.Fprintf(k.stderr, "and %d denied keys more\n", more)
		}
	}
	return nil
}

func (k *keyRun) tellStranger(s keyring.Stranger) {
	seen := ""
	if s.Told {
		seen = fmt.Sprintf(" (first seen %s, last seen %s, from %s)", s.Seen.First.Format(time.RFC3339), s.Seen.Last.Format(time.RFC3339), s.Seen.From)
	}
	fmt.Fprintf(k.stderr, "Another key has come for %s:\n  %s key: %s\n  denied key: %s%s\n  to take it if the host was installed anew: salt-key -a %s --include-denied\n",
		s.ID, s.State, s.Known, s.New, seen, s.ID)
}
