package saltcall

import (
	"path/filepath"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/program"
	"github.com/brineproject/brine/python"
)

// useHere puts the directories of plug-ins in the directory where salt-call was started, ./_modules
// and the like, before all others, so that a file runs without a sync. Salt does not do this.
//
// Nobody's files are run but root's and the caller's: a directory that somebody else can change, or
// one below such a directory, is not used, and a warning says why.
func useHere(opts *data.Map, here string, log logrus.FieldLogger) {
	if here == "" {
		here = absolute(".")
	}
	var used []string
	first := data.NewMap()
	for _, kind := range python.Kinds() {
		dir := filepath.Join(here, "_"+kind.Name)
		if !paths.IsDir(dir) {
			continue
		}
		if err := program.Trusted(dir); err != nil {
			log.Warnf("The plug-ins in %s are not used: %v", dir, err)
			continue
		}
		used = append(used, dir)
		first.Set(kind.Name, []any{dir})
	}
	if len(used) > 0 {
		opts.Set(python.FirstDirs, first)
		log.Infof("The plug-ins of the working directory are used: %s", strings.Join(used, ", "))
	}
}
