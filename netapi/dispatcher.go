package netapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/brineproject/brine/data"
)

// A carrier carries out one chunk of lowdata with its own credentials.
type carrier func(ctx context.Context, low *data.Map) (*Answer, error)

// A dispatcher carries out the chunks that a door may carry out.
type dispatcher struct {
	gate        *Options
	credentials *credentials
	orders      *orders
}

// carryOut checks a chunk, which has the token of its caller, and carries it out. who is the name of the
// sender as far as it is known.
func (d *dispatcher) carryOut(
	ctx context.Context, c Caller, low *data.Map, do carrier,
) (who string, answer *Answer, err error) {
	if who, err = d.check(&c, low); err != nil {
		return who, nil, err
	}
	answer, err = d.paced(ctx, c, low, who, do)
	return who, answer, d.credentials.explain(low.Text("token"), err)
}

// check refuses chunks that no master need see. It returns the name of the sender as far as it is
// known.
func (d *dispatcher) check(c *Caller, low *data.Map) (who string, err error) {
	who = c.User
	if v := low.Value("token"); data.Truth(v) {
		token, _ := v.(string)
		if !isHex(token) {
			return who, fault(http.StatusUnauthorized, textBadToken)
		}
		if c.Token == "" {
			t, err := d.credentials.find(token)
			if err != nil {
				return who, d.credentials.refuse(token, "Authentication error occurred.")
			}
			who = t.User
		}
	} else if low.Has("eauth") {
		who = low.Text("username")
	}
	name, _ := low.Value("client").(string)
	if !slices.Contains(ClientNames(), name) {
		return who, fault(http.StatusBadRequest, "Invalid client specified: '%s'",
			clip(data.Str(low.Value("client"))))
	}
	if err := d.gate.Settings.enables(name); err != nil {
		return who, err
	}
	switch {
	case !low.Has("token") && !low.Has("eauth"):
		return who, fault(http.StatusUnauthorized, textNoLogin)
	case data.Truth(low.Value("raw_shell")) && !d.gate.Settings.RawShell:
		return who, fault(http.StatusUnauthorized, "Raw shell option not allowed.")
	case !d.gate.Door.ACL.Allows(who, c.From):
		return who, refuseFor(&Rejection{User: who, Why: whyAddress}, textNoSession)
	}
	return who, nil
}

// paced carries out a chunk, unless too many are under way. Wrong passwords in chunks are slowed down as
// those of logins are.
func (d *dispatcher) paced(
	ctx context.Context, c Caller, low *data.Map, who string, do carrier,
) (*Answer, error) {
	if data.Truth(low.Value("token")) {
		return d.limited(ctx, "user "+who, low, do)
	}
	done, err := d.gate.Pace.enter(ctx, low, c.From)
	if err != nil {
		return nil, err
	}
	address := "address " + Network(c.From).Addr().String() // the name is not proved yet
	answer, err := d.limited(ctx, address, low, do)
	done(outcomeOf(err))
	return answer, err
}

// limited carries out a chunk, which counts for whom it names.
func (d *dispatcher) limited(ctx context.Context, who string, low *data.Map, do carrier) (*Answer, error) {
	leave, err := d.orders.enter(who)
	if err != nil {
		return nil, err
	}
	defer leave()
	return do(ctx, low)
}
