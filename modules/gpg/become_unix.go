//go:build unix

package gpg

import (
	"math"
	"os"
	"os/exec"
	"syscall"

	"github.com/brineproject/brine/loader"
)

// become returns a function that makes a command run as the user, or nil if the user is the current
// one.
func (a *account) become() (func(*exec.Cmd), error) {
	if a.uid == int64(os.Geteuid()) {
		return nil, nil
	}
	if a.uid < 0 || a.gid < 0 || a.uid > math.MaxUint32 || a.gid > math.MaxUint32 {
		return nil, loader.Execution("user %s: uid %d or gid %d is out of range", a.name,
			a.uid, a.gid)
	}
	who := &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	return func(cmd *exec.Cmd) {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Credential = who
		cmd.Dir = "/"
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=" + os.Getenv("LANG"),
			"HOME=" + a.home, "USER=" + a.name, "LOGNAME=" + a.name}
	}, nil
}
