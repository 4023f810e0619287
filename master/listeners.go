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
	m.parts.watchers.renew(m.parts.gate.Gate)
	file := eventbus.MasterSockets(cfg.SockDir).Pub
	before, err := admittedTo(file)
	if errors.Is(err, os.ErrNotExist) {
		return // the bus is opened later
	}
	some := cfg.PublisherACL.Len() > 0 || cfg.ExternalAuth.Len() > 0
	var users []string
	if some {
		users = slices.DeleteFunc(m.parts.gate.Users(), func(name string) bool { return name == "root" || name == cfg.User })
	}
	if err := openTo(file, users, some); err != nil {
		m.log.WithError(err).Warnf("users of publisher_acl need to be in the group of %s to wait for answers", file)
	}
	if after, err := admittedTo(file); err != nil || after != before {
		m.bus.CutOthers()
	}
}

// openTo lets users, and the group of the socket or nobody else, connect to it.
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
