package archive

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// as calls work with the file access rights of an account; nil is the current user. The thread that
// got these rights is discarded after the call.
func as(who *account, work func() error) error {
	if who == nil || who.uid == os.Geteuid() && who.gid == os.Getegid() {
		return work()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so that the thread ends with its goroutine
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
