package cli

import (
	"fmt"
	"time"

	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/pki/keyring"
)

// maxStrangers is the limit of denied keys that are described one by one.
const maxStrangers = 20

// reportStrangers prints to standard error which denied keys came for an id that has another key,
// for example after a host was reinstalled, and how to accept them. It does so only on a terminal;
// for other programs the output is as in Salt.
func (k *keyRun) reportStrangers(shown []keyring.Shelf) error {
	if !k.terminal || k.o.Output != "" || k.o.OutputFile != "" || k.o.Quiet {
		return nil
	}
	for _, shelf := range shown {
		if shelf.State != pki.Denied || len(shelf.IDs) == 0 {
			continue
		}
		ids := shelf.IDs[:min(len(shelf.IDs), maxStrangers)]
		strangers, err := k.ring.Strangers(ids, k.opts.Text("hash_type"))
		if err != nil {
			return err
		}
		k.flush()
		for _, s := range strangers {
			k.reportStranger(s)
		}
		if more := len(shelf.IDs) - len(ids); more > 0 {
			fmt.Fprintf(k.stderr, "and %d denied keys more\n", more)
		}
	}
	return nil
}

func (k *keyRun) reportStranger(s keyring.Stranger) {
	seen := ""
	if s.Told {
		seen = fmt.Sprintf(" (first seen %s, last seen %s, from %s)",
			s.Seen.First.Format(time.RFC3339), s.Seen.Last.Format(time.RFC3339), s.Seen.From)
	}
	fmt.Fprintf(k.stderr, "Another key has come for %s:\n  %s key: %s\n  denied key: %s%s\n  to take it if the host was installed anew: salt-key -a %s --include-denied\n",
		s.ID, s.State, s.Known, s.New, seen, s.ID)
}
