package master

import (
	"errors"
	"os"
	"slices"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/eventbus"
)

// admitListeners lets those read the bus who may give orders, and so wait for the answers there: the users of publisher_acl by name, and
// with publisher_acl or external_auth the group of the socket (salt/utils/event.py opens it to the group alone, so that there a
// user of publisher_acl who is not in it waits for answers in vain). Who was let in and may give no orders any more is shut out.
func (m *Master) admitListeners(cfg *config.Master) {
	file, mode := eventbus.MasterSockets(cfg.SockDir).Pub, os.FileMode(0o600)
	if cfg.PublisherACL.Len() > 0 || cfg.ExternalAuth.Len() > 0 {
		mode = 0o660
	}
	if err := os.Chmod(file, mode); errors.Is(err, os.ErrNotExist) {
		return // the bus is opened later
	} else if err != nil {
		m.log.WithError(err).Warn("users other than the master's cannot wait for answers")
		return
	}
	if mode == 0o600 {
		return // which shuts out those of an access control list too
	}
	users := slices.DeleteFunc(m.parts.gate.Users(), func(name string) bool { return name == "root" || name == cfg.User })
	if err := admit(file, users); err != nil && len(users) > 0 {
		m.log.WithError(err).Warnf("users of publisher_acl need to be in the group of %s to wait for answers", file)
	}
}
