package fileserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// ErrNoBackends is wrapped by Build if there is no backend to serve files from.
var ErrNoBackends = errors.New("no file server backend")

// A Maker makes a backend from the options of a master, or of a minion with file_client: local. It
// returns nil and no error if the options leave the backend nothing to serve.
type Maker func(opts *data.Map, log logrus.FieldLogger) (Backend, error)

// Makers are the backends that a program supports, by the name of the backend: roots, minionfs,
// gitfs.
type Makers map[string]Maker

// Build makes the backends named by the option fileserver_backend. Names missing from makers are
// logged and left out. It returns the error of a maker, or an error that wraps ErrNoBackends, with
// Salt's text, if no backend remains (salt/master.py, Master._pre_flight).
func Build(opts *data.Map, makers Makers, log logrus.FieldLogger) ([]Backend, error) {
	names := data.TextsOf(opts.Value("fileserver_backend"))
	if len(names) == 0 {
		return nil, fmt.Errorf("No fileserver backends are configured%w", hiddenText{ErrNoBackends}) //nolint:staticcheck // Salt's text
	}
	var built []Backend
	for _, name := range names {
		name = presentName(name)
		if slices.ContainsFunc(built, func(b Backend) bool { return b.Name() == name }) {
			continue
		}
		make, ok := makers[name]
		if !ok {
			log.Infof("fileserver_backend: unknown backend %s ignored; its files are not served",
				name)
			continue
		}
		b, err := make(opts, log)
		switch {
		case err != nil:
			return nil, fmt.Errorf("file server backend %s: %w", name, err)
		case b == nil:
			log.Warnf("fileserver_backend: backend %s has nothing to serve under these options",
				name)
		default:
			built = append(built, b)
		}
	}
	if len(built) == 0 {
		return nil, fmt.Errorf("Failed to load fileserver backends, the configured backends are: %s%w", strings.Join(names, ", "), hiddenText{ErrNoBackends}) //nolint:staticcheck // Salt's text
	}
	return built, nil
}

// presentName returns the current name of a backend that is given by an older name, such as git.
func presentName(name string) string {
	if slices.Contains([]string{"git", "hg", "svn", "minion"}, name) {
		return name + "fs"
	}
	return name
}

// hiddenText hides the text of an error, so that it can be wrapped under a fixed text.
type hiddenText struct{ error }

func (hiddenText) Error() string   { return "" }
func (s hiddenText) Unwrap() error { return s.error }
