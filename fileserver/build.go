package fileserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// ErrNoBackends is wrapped by Build when there is nothing to serve files from.
var ErrNoBackends = errors.New("no backend of the file server")

// A Maker makes a backend from the options of a master, or of a minion with file_client: local. It returns nil and no
// error when the options say that there is to be none.
type Maker func(opts *data.Map, log logrus.FieldLogger) (Backend, error)

// Makers are the backends that a program brings along, by the name of the backend: roots, minionfs, gitfs.
type Makers map[string]Maker

// Build makes the backends that the option fileserver_backend names. Names that makers does not have are told of in the
// log and left out. The error is that of a maker, or wraps ErrNoBackends, with Salt's text, when nothing remains
// (salt/master.py, Master._pre_flight).
func Build(opts *data.Map, makers Makers, log logrus.FieldLogger) ([]Backend, error) {
	names := data.TextsOf(opts.Value("fileserver_backend"))
	if len(names) == 0 {
		return nil, fmt.Errorf("No fileserver backends are configured%w", silent{ErrNoBackends}) //nolint:staticcheck // Salt's text
	}
	var built []Backend
	for _, name := range names {
		name = presentName(name)
		if slices.ContainsFunc(built, func(b Backend) bool { return b.Name() == name }) {
			continue
		}
		make, ok := makers[name]
		if !ok {
			log.Infof("fileserver_backend: there is no backend %s here; its files are not served", name)
			continue
		}
		b, err := make(opts, log)
		switch {
		case err != nil:
			return nil, fmt.Errorf("file server backend %s: %w", name, err)
		case b == nil:
			log.Warnf("fileserver_backend: the options leave the backend %s without anything to serve", name)
		default:
			built = append(built, b)
		}
	}
	if len(built) == 0 {
		return nil, fmt.Errorf("Failed to load fileserver backends, the configured backends are: %s%w", strings.Join(names, ", "), silent{ErrNoBackends}) //nolint:staticcheck // Salt's text
	}
	return built, nil
}

// presentName is that of a backend by an older name, such as git.
func presentName(name string) string {
	if slices.Contains([]string{"git", "hg", "svn", "minion"}, name) {
		return name + "fs"
	}
	return name
}

// silent is an error that says nothing, for an error whose text is given.
type silent struct{ error }

func (silent) Error() string   { return "" }
func (s silent) Unwrap() error { return s.error }
