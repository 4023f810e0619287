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
// user of publisher_acl who is not in it waits for answers in vain).
func (m *Master) admitListeners(cfg *config.Master) {
	if cfg.PublisherACL.Len() == 0 && cfg.ExternalAuth.Len() == 0 {
		return
	}
	file := eventbus.MasterSockets(cfg.SockDir).Pub
	if err := os.Chmod(file, 0o660); errors.Is(err, os.ErrNotExist) {
		return // the bus is opened later
	} else if err != nil {
		m.log.WithError(err).Warn("users other than the master's cannot wait for answers")
		return
	}
	users := slices.DeleteFunc(m.parts.gate.Users(), func(name string) bool { return name == "root" || name == cfg.User })
	if len(users) == 0 {
		return
	}
	if err := admit(file, users); err != nil {
		m.log.WithError(err).Warnf("users of publisher_acl need to be in the group of %s to wait for answers", file)
	}
}
