package master

import (
	"errors"
	"os"
	"slices"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/eventbus"
)

// admitListeners lets users who may give orders read the bus, so that they can wait for returns:
// the users of publisher_acl by name, and with publisher_acl or external_auth the group of the
// socket. Salt opens the socket to the group alone (salt/utils/event.py), so a user of
// publisher_acl outside the group waits in vain there. Users who have lost their rights are
// disconnected.
func (m *Master) admitListeners(cfg *config.Master) {
	m.parts.watchers.renew(m.parts.gate.Gate)
	file := eventbus.MasterSockets(cfg.SockDir).Pub
	before, err := admittedTo(file)
	if errors.Is(err, os.ErrNotExist) {
		return // the bus is not open yet
	}
	some := cfg.PublisherACL.Len() > 0 || cfg.ExternalAuth.Len() > 0
	var users []string
	if some {
		users = slices.DeleteFunc(m.parts.gate.Users(),
			func(name string) bool { return name == "root" || name == cfg.User })
	}
	if err := openTo(file, users, some); err != nil {
		m.log.WithError(err).Warnf("users of publisher_acl need to be in the group of %s to wait for answers", file)
	}
	if after, err := admittedTo(file); err != nil || after != before {
		m.parts.bus.CutOthers()
	}
}

// openTo lets users connect to a socket, and its group if group is set. Everyone else is shut out.
func openTo(file string, users []string, group bool) error {
	if len(users) > 0 {
		if err := os.Chmod(file, 0o660); err != nil {
			return err
		}
		err := admit(file, users)
		if err == nil {
			return nil
		}
		return errors.Join(err, openTo(file, nil, group))
	}
	if err := errors.Join(os.Chmod(file, 0o600), admitNobody(file)); err != nil || !group {
		return err
	}
	return os.Chmod(file, 0o660)
}
