package master

import (
	"fmt"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// credentialsOf extracts the credentials of a publish from its fields and its kwargs. It decodes
// nothing else.
func credentialsOf(c *channel.Command) (auth.Credentials, error) {
	var kwargs *data.Map
	raw := c.Load.Raw("kwargs")
	if _, isMap := payload.HasEntries(raw); isMap {
		fields, err := payload.ParseFields(raw, payload.SplitLimits())
		if err != nil {
			return auth.Credentials{}, fmt.Errorf("%w: options: %w", auth.ErrNotAuthenticated, err)
		}
		kwargs = auth.Pick(fields)
	}
	return claimed(auth.FromKwargs(auth.Pick(c.Load), kwargs), c), nil
}

// claimed adds the source address and the size of the request to credentials.
func claimed(credentials auth.Credentials, c *channel.Command) auth.Credentials {
	credentials.From, credentials.Size = c.Caller.Remote, c.Size
	return credentials
}

// early returns a value of a load whose sender is not known yet. It returns nil if the value
// exceeds the limits for such senders.
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
