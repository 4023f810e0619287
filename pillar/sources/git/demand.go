package git

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pillar"
)

// CheckOnDemand implements pillar.OnDemandChecker: minions may not request repositories on the
// master's disk, nor use files or credentials of the master.
func (*Source) CheckOnDemand(argument any, opts *data.Map) error {
	args, _ := pillar.Spread(argument)
	for _, a := range args {
		if err := checkRemote(a, opts); err != nil {
			return err
		}
		remote, err := readRemote(a, opts)
		if err != nil {
			return err
		}
		if remote.mirror.Local() {
			return errors.New("the repository is on the master's disk")
		}
	}
	return nil
}

// checkRemote checks the options of a remote that a minion requests.
func checkRemote(remote any, opts *data.Map) error {
	options := data.NewMap()
	if m, ok := remote.(*data.Map); ok && m.Len() > 0 {
		_, v := m.At(0)
		var err error
		if options, err = repack(v); err != nil {
			return err
		}
	}
	for _, name := range []string{"privkey", "pubkey"} {
		if options.Has(name) {
			return fmt.Errorf("the option %s names a file of the master", name)
		}
		if data.Truth(opts.Value("git_pillar_" + name)) {
			return fmt.Errorf("git_pillar_%s is for the repositories of ext_pillar alone", name)
		}
	}
	if !options.Has("password") && data.Truth(opts.Value("git_pillar_password")) {
		return errors.New("git_pillar_password is for the repositories of ext_pillar alone")
	}
	return nil
}
