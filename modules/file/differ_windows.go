package file

import (
	"context"

	"github.com/brineproject/brine/data"
)

// ownersDiffer adds the difference of a file from its wanted owner. Groups and modes do not count
// on Windows, and access control lists are compared when they are set.
func (checks) ownersDiffer(ctx context.Context, a metaArgs, now, changes *data.Map) error {
	if a.User == nil {
		return nil
	}
	sid, err := userToSID(ctx, userArgs{a.User})
	if err == nil && sid != now.Value("uid") {
		changes.Set("user", a.User)
	}
	return err
}
