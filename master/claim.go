package master

import (
	"fmt"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// credentialsOf takes the credentials out of a publish: those in its options and those beside them. It decodes nothing else.
func credentialsOf(c *channel.Command) (auth.Credentials, error) {
	var kwargs *data.Map
	raw := c.Load.Raw("kwargs")
	if _, isMap := hasEntries(raw); isMap {
		fields, err := payload.ParseFields(raw, payload.SplitLimits())
		if err != nil {
			return auth.Credentials{}, fmt.Errorf("%w: options: %w", auth.ErrNotAuthenticated, err)
		}
		kwargs = auth.Pick(fields)
	}
	return claimed(auth.FromKwargs(auth.Pick(c.Load), kwargs), c), nil
}

// claimed adds to credentials where they came from, and how much memory waits with them.
func claimed(credentials auth.Credentials, c *channel.Command) auth.Credentials {
	credentials.From, credentials.Size = c.Caller.Remote, c.Size
	return credentials
}

// early returns a value of a load whose sender is not known yet; nil for one that is larger than such a sender may send.
func early(load payload.Fields, key string) any {
	raw := load.Raw(key)
	if raw == nil {
		return nil
	}
	v, err := payload.Unmarshal(raw, payload.PreAuthLimits())
	if err != nil {
		return nil
	}
	return v
}
