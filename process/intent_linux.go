package process

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ticks is the number of clock ticks per second in the start time of a process. It is the same on
// all platforms that Go supports.
const ticks = 100

// newIntent is called right before cmd is started with its ends of pipes.
func newIntent(cmd *exec.Cmd, pipes []*os.File) (i Intent, err error) {
	defer func() {
		if err != nil {
			i, err = Intent{}, fmt.Errorf("record the start of %s: %w", cmd.Path, err)
		}
	}()
	if i.boot, err = bootID(); err != nil {
		return i, err
	}
	if i.pipes, err = inodes(pipes); err != nil {
		return i, err
	}
	env := zeroEnded(cmd.Environ())
	i.argv = digest(zeroEnded(cmd.Args), env)
	i.script = digest(zeroEnded(append([]string{cmd.Path}, cmd.Args[min(1, len(cmd.Args)):]...)),
		env)
	i.uid = uint32(os.Geteuid())
	if attr := cmd.SysProcAttr; attr != nil && attr.Credential != nil {
		i.uid = attr.Credential.Uid
	}
	i.nonce = rand.Uint64()
	var now unix.Timespec
	err = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	i.moment = uint64(now.Nano()) / (1e9 / ticks)
	return i, err
}

// inodes returns the inode numbers of pipes, joined.
func inodes(pipes []*os.File) (string, error) {
	var list []string
	for _, p := range pipes {
		info, err := p.Stat()
		if err != nil {
			return "", err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			list = append(list, strconv.FormatUint(s.Ino, 10))
		}
	}
	return strings.Join(list, "+"), nil
}

// zeroEnded returns words in the system's form of arguments and environment.
func zeroEnded(words []string) []byte {
	var b []byte
	for _, w := range words {
		b = append(append(b, w...), 0)
	}
	return b
}
