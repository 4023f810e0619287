package fileserver

import (
	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// A Maker makes a backend from the options of a master, or of a minion with file_client: local. It returns nil and no
// error when the options say that there is to be none.
type Maker func(opts *data.Map, log logrus.FieldLogger) (Backend, error)

// Makers are the backends that a program brings along, by the name of the backend: roots, minionfs, gitfs.
type Makers map[string]Maker

// Build makes the backends that the option fileserver_backend names.
func Build(opts *data.Map, makers Makers, log logrus.FieldLogger) ([]Backend, error) { return nil, nil }
