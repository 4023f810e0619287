package saltutil

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const (
	sigkill     = syscall.SIGTERM // like Salt, as Python on Windows has no SIGKILL
	stillActive = 259             // exit code of a running process
)

// alive reports whether a process runs.
func alive(pid int64) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	var code uint32
	return windows.GetExitCodeProcess(h, &code) == nil && code == stillActive
}

// parents returns the parent of every process.
func parents() map[int64]int64 {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil // nothing is known
	}
	defer windows.CloseHandle(snapshot)
	all := map[int64]int64{}
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot,
		&entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		all[int64(entry.ProcessID)] = int64(entry.ParentProcessID)
	}
	return all
}

// signalProcess ends one process, whatever the signal.
func signalProcess(pid int64, _ syscall.Signal) error {
	p, err := os.FindProcess(int(pid))
	if err != nil {
		return err
	}
	return p.Kill()
}

// ends reports whether a signal ends a job: on Windows every signal does.
func ends(syscall.Signal) bool { return true }
