package minion

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// errNoName is returned when the name of a master cannot be looked up and retry_dns_count is used
// up.
var errNoName = errors.New("could not be resolved")

// awaitName waits until the name of the master can be looked up, with the pauses of retry_dns and at
// most retry_dns_count times (salt/minion.py, resolve_dns). It returns at once with retry_dns 0: then
// each attempt to sign in fails until the name is there. The error wraps errNoName or is that of ctx.
func (l *link) awaitName(ctx context.Context) error {
	cfg := l.m.cfg
	for left := cfg.RetryDNSCount; cfg.RetryDNS > 0; left-- {
		err := l.lookUp(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case left == 0:
			//nolint:staticcheck // Salt's text
			return fmt.Errorf("Master address: '%s' %w. Invalid or unresolveable address. "+
				"Set 'master' value in minion config: %w", l.address.text, errNoName, err)
		}
		l.log.WithError(err).Errorf("Master hostname: '%s' not found or not responsive. "+
			"Retrying in %g seconds", l.address.host, cfg.RetryDNS.Seconds())
		l.contacted.reach()
		if err := l.awaitConnection(ctx, cfg.RetryDNS); err != nil {
			return err
		}
	}
	return nil
}

// lookUp returns an error if the name of the master cannot be looked up.
func (l *link) lookUp(ctx context.Context) error {
	d, err := l.dialer(l.address.port, 0)
	if err != nil {
		return err
	}
	return d.LookUp(ctx)
}

// awaitConnection waits until the connection to the master is up, which looks the name up with each
// attempt, but no longer than most.
func (l *link) awaitConnection(ctx context.Context, most time.Duration) error {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.connected.done:
	case <-t.C:
	}
	return nil
}

// isLookUp reports whether err comes from the look-up of a name.
func isLookUp(err error) bool {
	var e *net.DNSError
	return errors.As(err, &e)
}

// giveUp closes the connection to a master whose name cannot be looked up. The minion goes on with
// its other masters: giveUp returns the reason if there is none left, or else the error of ctx when
// that ends.
func (l *link) giveUp(ctx context.Context, why error) error {
	if int(l.m.givenUp.Add(1)) == len(l.m.links) {
		return why
	}
	l.log.Error(why)
	if err := l.close(); err != nil {
		l.log.WithError(err).Debug("close the connection to a master without an address")
	}
	<-ctx.Done()
	return ctx.Err()
}
