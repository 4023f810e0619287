package master

import (
	"fmt"
	"math"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/transport"
)

// Open files: those for a minion (one connection for publications, one for requests), and the
// master's own.
const (
	filesOfMinion = 2
	ownFiles      = 100
)

// crowdOf returns the limit on the connections of both ports: the process's limit on open files,
// less a reserve for the master itself (an eighth, between 128 and 4096 files). Without a system
// limit it returns nil.
func crowdOf(limit func() (soft, hard uint64), log logrus.FieldLogger) *transport.Crowd {
	soft, _ := limit()
	if soft == 0 || soft > math.MaxInt32 {
		return nil
	}
	reserve := min(max(soft/8, 128), 4096, soft/2)
	return transport.NewCrowd(int(soft-reserve), log)
}

// openFiles checks that the limit on open files suffices for the minions (salt/utils/verify.py,
// check_max_open_files).
type openFiles struct {
	keys  pki.Store
	limit func() (soft, hard uint64) // of this process; 0 means unknown
	log   *logrus.Entry
	last  logrus.Level // of the last warning; 0 means none
}

// logLimits logs the limits at startup, and whether max_open_files exceeds them.
func (f *openFiles) logLimits(wanted int) {
	soft, hard := f.limit()
	if soft == 0 {
		return
	}
	f.log.Infof("Current values for max open files soft/hard setting: %d/%d", soft, hard)
	if wanted > 0 && uint64(wanted) > hard {
		f.log.Infof(
			"The value for the 'max_open_files' setting, %d, is higher than the highest value the user running salt is allowed to set (%d). "+
				"Defaulting to %d.",
			wanted, hard, hard)
	}
}

// check warns if the accepted minions could need more files than may be open. It repeats the
// warning only when that gets worse.
func (f *openFiles) check() error {
	soft, _ := f.limit()
	if soft == 0 {
		return nil
	}
	ids, err := f.keys.List(pki.Accepted)
	if err != nil {
		return fmt.Errorf("list accepted keys: %w", err)
	}
	level, text := fileWarning(uint64(len(ids)), soft)
	if text != "" && (f.last == 0 || level < f.last) {
		f.log.Log(level, text)
	}
	f.last = level
	return nil
}

// fileWarning returns the warning for a number of minions under a limit, or "" if the limit
// suffices.
func fileWarning(minions, soft uint64) (level logrus.Level, text string) {
	need := minions*filesOfMinion + ownFiles
	if need <= soft {
		return 0, ""
	}
	level = logrus.WarnLevel
	effect := "when all of them are connected, some requests will be refused"
	if minions+ownFiles >= soft {
		level, effect = logrus.FatalLevel, "not all of them can be connected at once"
	}
	return level, fmt.Sprintf(
		"The %d accepted minions may need %d open files, and the limit is %d: %s. Raise the limit of the service (LimitNOFILE, ulimit -n).",
		minions,
		need,
		soft,
		effect,
	)
}
