package master

import (
	"fmt"
	"math"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/transport"
)

// Files that a master has open: those of a minion (one connection each for publications and for requests), and its own.
const (
	filesOfMinion = 2
	ownFiles      = 100
)

// crowdOf returns the bound on the connections of both ports: what the system lets the process open, less an eighth, of at least 128
// and at most 4096 files, that the master needs itself. Where the system has no limit there is none.
func crowdOf(limit func() (soft, hard uint64), log logrus.FieldLogger) *transport.Crowd {
	soft, _ := limit()
	if soft == 0 || soft > math.MaxInt32 {
		return nil
	}
	reserve := min(max(soft/8, 128), 4096, soft/2)
	return transport.NewCrowd(int(soft-reserve), log)
}

// openFiles watches that the system lets a master open enough files for its minions (salt/utils/verify.py,
// check_max_open_files).
type openFiles struct {
	keys  pki.Store
	limit func() (soft, hard uint64) // of this process; 0 is unknown
	log   *logrus.Entry
	last  logrus.Level // of the last warning; 0 for none
}

// logLimits logs at the start what the limits are, and which value of max_open_files cannot be had.
func (f *openFiles) logLimits(wanted int) {
	soft, hard := f.limit()
	if soft == 0 {
		return
	}
	f.log.Infof("Current values for max open files soft/hard setting: %d/%d", soft, hard)
	if wanted > 0 && uint64(wanted) > hard {
		f.log.Infof("The value for the 'max_open_files' setting, %d, is higher than the highest value the user running salt is allowed to set (%d). "+
			"Defaulting to %d.", wanted, hard, hard)
	}
}

// check warns when the accepted minions could need more files than may be open, again only when that gets worse.
func (f *openFiles) check() error {
	soft, _ := f.limit()
	if soft == 0 {
		return nil
	}
	ids, err := f.keys.List(pki.Accepted)
	if err != nil {
		return fmt.Errorf("list accepted keys: %w", err)
	}
	level, text := judgeFiles(uint64(len(ids)), soft)
	if text != "" && (f.last == 0 || level < f.last) {
		f.log.Log(level, text)
	}
	f.last = level
	return nil
}

// judgeFiles returns what is to be said of a number of minions under a limit; nothing when the limit is wide enough.
func judgeFiles(minions, soft uint64) (level logrus.Level, text string) {
	need := minions*filesOfMinion + ownFiles
	if need <= soft {
		return 0, ""
	}
	level = logrus.WarnLevel
	effect := "when all of them are connected, some requests will be refused"
	if minions+ownFiles >= soft {
		level, effect = logrus.FatalLevel, "not all of them can be connected at once"
	}
	return level, fmt.Sprintf("The %d accepted minions may need %d open files, and the limit is %d: %s. Raise the limit of the service (LimitNOFILE, ulimit -n).",
		minions, need, soft, effect)
}
