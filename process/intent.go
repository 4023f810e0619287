package process

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// An Intent identifies a program that is about to be started. With it, FindLeft can find the
// program if this process is killed before it learns the program's process id.
type Intent struct {
	moment uint64 // the earliest start, in clock ticks of the system
	uid    uint32 // of the user that it runs as
	pipes  string // inode numbers of its pipes, joined by plus signs
	argv   string // digest of arguments and environment
	script string // the same, as the system changes them if the program is a script
	nonce  uint64
	boot   string // the boot that moment belongs to
}

// A Note is the record that the watcher of a Tree has of one program. Its methods must not use the
// tree.
type Note interface {
	// Started reports the process id of the program. It is not called if the program could not be
	// started.
	Started(pid int)
	// Ended reports that the program has ended, or could not be started. It is not called for a
	// program that was left running.
	Ended()
}

// errNoIntent is returned by ParseIntent.
var errNoIntent = errors.New("not the intent to start a program")

const intentWord = "intent"

// String returns i in the form that ParseIntent reads: digits, letters, dashes and plus signs,
// which are safe in a file name. It contains only digests of the command.
func (i Intent) String() string {
	return fmt.Sprintf("%s-%d-%d-%s-%s-%s-%d-%s", intentWord, i.moment, i.uid, i.pipes, i.argv,
		i.script, i.nonce, i.boot)
}

// ParseIntent parses the result of Intent.String.
func ParseIntent(s string) (Intent, error) {
	parts := strings.SplitN(s, "-", 8)
	if len(parts) != 8 || parts[0] != intentWord {
		return Intent{}, fmt.Errorf("%q: %w", s, errNoIntent)
	}
	i := Intent{pipes: parts[3], argv: parts[4], script: parts[5], boot: parts[7]}
	moment, momentErr := strconv.ParseUint(parts[1], 10, 64)
	uid, uidErr := strconv.ParseUint(parts[2], 10, 32)
	nonce, nonceErr := strconv.ParseUint(parts[6], 10, 64)
	i.moment, i.uid, i.nonce = moment, uint32(uid), nonce
	good := isDigest(i.argv) && isDigest(i.script) && isBoot(i.boot) &&
		strings.Trim(i.pipes, "0123456789+") == ""
	if err := errors.Join(momentErr, uidErr, nonceErr); err != nil || !good || i.String() != s {
		return Intent{}, fmt.Errorf("%q: %w", s, errNoIntent)
	}
	return i, nil
}

// digestSize is the length of a digest in bytes.
const digestSize = 16

// digest returns the digest of a program's arguments and environment, each ended by a zero byte.
func digest(args, env []byte) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\n", len(args))
	sum.Write(args)
	sum.Write(env)
	return hex.EncodeToString(sum.Sum(nil)[:digestSize])
}

func isDigest(s string) bool {
	return len(s) == 2*digestSize && strings.Trim(s, "0123456789abcdef") == ""
}
