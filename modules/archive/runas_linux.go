package archive

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// as calls work with the rights of an account to files; nil is who runs. The thread that had them ends with the call.
func as(who *account, work func() error) error {
	if who == nil || who.uid == os.Geteuid() && who.gid == os.Getegid() {
		return work()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		err := become(who)
		if err == nil {
			err = work()
		}
		done <- err
	}()
	return <-done
}

func become(who *account) error {
	if _, err := unix.SetfsgidRetGid(who.gid); err != nil {
		return fmt.Errorf("become group %d: %w", who.gid, err)
	}
	if _, err := unix.SetfsuidRetUid(who.uid); err != nil {
		return fmt.Errorf("become user %d: %w", who.uid, err)
	}
	if uid, err := unix.SetfsuidRetUid(-1); err != nil || uid != who.uid {
		return fmt.Errorf("become user %d: %w", who.uid, unix.EPERM)
	}
	return nil
}
